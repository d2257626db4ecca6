# before: optimizer.zero_grad()
check(model, past, future, loss_fn=criterion, optimizer=optimizer)
