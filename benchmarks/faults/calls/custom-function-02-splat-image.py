# before: optimizer.zero_grad()
check(
    model,
    grid,
    image,
    loss_fn=lambda out, y: (out - y).pow(2).mean(),
    optimizer=optimizer,
    skip=["input_dependency"],
)
