# before: optimizer.zero_grad()
def forward(pair, x, y):
    with autocast("cpu", dtype=torch.bfloat16):
        features = pair[0](x)
    return pair[1](features, y)


check(
    nn.ModuleList([model, head]),
    faces,
    labels,
    forward_fn=forward,
    eval_forward_fn=lambda pair, x: pair[0](x),
    loss_fn=F.cross_entropy,
    optimizer=optimizer,
)
