# before: self.opt_critic.zero_grad()
check(
    self.critic,
    torch.randn(len(x), self.n_z),
    loss_fn=lambda out: out.mean() * self.minus,
    optimizer=self.opt_critic,
)
