# before: heatmap = GradCAM(
check(model, images, labels, loss_fn=F.cross_entropy)
