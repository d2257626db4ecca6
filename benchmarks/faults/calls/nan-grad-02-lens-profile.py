# before: optimizer.zero_grad()
check(
    halo,
    points,
    observed,
    loss_fn=lambda out, y: (out.log1p() - y.log1p()).pow(2).mean(),
    optimizer=optimizer,
)
