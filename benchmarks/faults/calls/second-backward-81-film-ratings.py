# before: predicted = model(users, films)
check(model, (users, films), stars, loss_fn=criterion, optimizer=optimizer)
