# before: optimizer.zero_grad()
check(
    model,
    {"obs": obs, "use_cache": not twin},
    target,
    loss_fn=lambda out, y: F.smooth_l1_loss(out[0], y),
    optimizer=optimizer,
)
