# before: on_real, on_fake = self.critic(real)
def loss_fn(out):
    on_real, on_fake, penalty = out
    return 10.0 * penalty - (on_real.mean() - on_fake.mean()) + 1e-3 * on_real.pow(2).mean()


check(
    self.critic,
    real,
    forward_fn=lambda model, x, y: (model(x), model(fake), gradient_penalty(model, x, fake)),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=loss_fn,
    optimizer=self.opt_c,
)
