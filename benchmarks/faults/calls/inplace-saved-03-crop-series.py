# before: optimizer.zero_grad()
check(model, series, crop, loss_fn=F.cross_entropy, optimizer=optimizer)
