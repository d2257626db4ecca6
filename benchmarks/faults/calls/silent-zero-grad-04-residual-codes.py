# before: optimizer.zero_grad()
check(
    codec,
    x,
    x,
    loss_fn=lambda out, y: F.mse_loss(out[0], y) + 0.25 * sum(out[1]) + sum(out[2]),
    optimizer=optimizer,
)
