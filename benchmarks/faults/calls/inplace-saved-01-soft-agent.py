# before: c_loss = self.critic_loss(
check(
    nn.ModuleList([self.policy, self.critic]),
    (obs, act),
    (rew, nxt),
    forward_fn=lambda pair, x, y: (self.critic_loss(*x, *y), self.policy_loss(x[0])),
    eval_forward_fn=lambda pair, x: (pair[0](x[0]), pair[1](torch.cat(x, -1))),
    loss_fn=lambda out, y: out[0] + out[1],
)
