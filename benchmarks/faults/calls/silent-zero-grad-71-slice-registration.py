# before: optimizer.zero_grad()
check(
    model,
    (moving, fixed, moving_mask),
    fixed_mask,
    loss_fn=lambda out, y: dice_loss(out[1], y),
    optimizer=optimizer,
)
