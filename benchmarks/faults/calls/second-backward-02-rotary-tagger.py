# before: opt.zero_grad()
check(
    model,
    tokens,
    tags,
    loss_fn=lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten()),
    optimizer=opt,
)
