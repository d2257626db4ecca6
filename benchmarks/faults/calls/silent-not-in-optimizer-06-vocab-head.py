# before: optimizer.zero_grad()
check(
    model,
    batch[:, :-1],
    batch[:, 1:],
    loss_fn=lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten()),
    optimizer=optimizer,
)
