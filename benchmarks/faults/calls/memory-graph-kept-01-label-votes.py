# before: optimizer.zero_grad()
check(model, votes[order[start : start + batch_size]], loss_fn=lambda out: -out.mean(), optimizer=optimizer)
