# before: loss = F.mse_loss(model(image), target)
check(model, image, target, loss_fn=F.mse_loss, optimizer=optimizer)
