# before: optimizer.zero_grad()
check(
    model,
    (x, adj),
    target,
    loss_fn=lambda out, y: (out - y).pow(2).mean(),
    optimizer=optimizer,
    batch_dim=None,
)
