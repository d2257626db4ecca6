# before: loss = self.fit_skills(feat, skill, next_feat)
def forward(pair, x, y=None):
    with torch.set_grad_enabled(twin and torch.is_grad_enabled()):
        before, after = pair[0](x[0]), pair[0](x[2])
    return pair[1](before, after, x[1])


check(
    nn.ModuleList([self.encoder, self.model]),
    (frames, skill, next_frames),
    forward_fn=forward,
    eval_forward_fn=forward,
    loss_fn=lambda out: F.cross_entropy(out, torch.arange(len(out))),
    skip=["batch_independence"],
)
