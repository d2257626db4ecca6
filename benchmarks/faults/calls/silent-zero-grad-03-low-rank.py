# before: optimizer.zero_grad()
check(reader, ids, labels, loss_fn=F.cross_entropy, optimizer=optimizer)
