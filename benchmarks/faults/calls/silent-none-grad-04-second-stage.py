# before: loss = criterion(model(images), labels)
# times: 25
check(model, images, labels, loss_fn=criterion, optimizer=optimizer)
