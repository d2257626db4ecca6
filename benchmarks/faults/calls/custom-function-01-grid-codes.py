# before: optimizer.zero_grad()
check(
    model,
    data[rows],
    data[rows],
    loss_fn=lambda out, y: (out - y).pow(2).mean(),
    optimizer=optimizer,
)
