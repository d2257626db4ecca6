# before: action, log_prob = self.policy.sample(obs)
def loss_fn(out, y):
    action, log_prob = out
    return ((action - y).pow(2).sum(-1) + self.alpha * log_prob).mean()


check(
    self.policy,
    obs,
    goal,
    forward_fn=lambda model, x, y: model.sample(x),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=loss_fn,
    optimizer=self.optimizer,
)
