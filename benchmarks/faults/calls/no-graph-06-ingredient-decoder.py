# before: self.optimizer.zero_grad()
check(
    self.model,
    images,
    labels,
    loss_fn=lambda out, y: F.cross_entropy(out[1].flatten(0, 1), y.flatten()),
    optimizer=self.optimizer,
)
