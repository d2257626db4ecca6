# before: optimizer.zero_grad()
check(
    model,
    inputs,
    targets,
    loss_fn=lambda out, y: F.cross_entropy(out[mask], y[mask]),
    optimizer=optimizer,
)
