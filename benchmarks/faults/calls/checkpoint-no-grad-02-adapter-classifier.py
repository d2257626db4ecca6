# before: optimizer.zero_grad()
check(model, ids, labels, loss_fn=F.cross_entropy, optimizer=optimizer)
