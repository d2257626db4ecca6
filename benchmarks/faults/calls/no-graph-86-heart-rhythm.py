# before: scores = net(signal)
check(net, signal, labels, loss_fn=criterion, optimizer=optimizer)
