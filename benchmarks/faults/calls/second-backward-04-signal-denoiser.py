# before: optimizer.zero_grad()
check(model, signals, loss_fn=lambda out: out, optimizer=optimizer)
