# before: loss = self.module.training_step(batch)
check(
    self.module,
    batch[0],
    batch[1],
    forward_fn=lambda model, x, y: model.training_step((x, y)),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=lambda out, y: out,
    optimizer=self.optimizer,
)
