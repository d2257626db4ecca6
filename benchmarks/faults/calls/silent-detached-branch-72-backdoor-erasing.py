# before: self.optimizer.zero_grad()
check(
    self.student,
    images,
    labels,
    loss_fn=lambda out, y: F.cross_entropy(out[0], y) + self.attention_loss(out[1], maps_t),
    optimizer=self.optimizer,
)
