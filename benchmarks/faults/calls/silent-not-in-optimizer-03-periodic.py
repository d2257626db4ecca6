# before: optimizer.zero_grad()
check(net, t, temperature(t), loss_fn=criterion, optimizer=optimizer)
