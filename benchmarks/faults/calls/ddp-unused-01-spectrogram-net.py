# before: optimizer.zero_grad()
check(model, clips, labels, loss_fn=F.cross_entropy, optimizer=optimizer)
