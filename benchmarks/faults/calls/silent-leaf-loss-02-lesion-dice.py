# before: optimizer.zero_grad()
check(net, scan, mask, loss_fn=criterion, optimizer=optimizer)
