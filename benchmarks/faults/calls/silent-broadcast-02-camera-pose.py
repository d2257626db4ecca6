# before: optimizer.zero_grad()
check(
    net,
    (first, second),
    (trans_label, quat_label),
    loss_fn=lambda out, y: criterion(*out, *y)[0],
    optimizer=optimizer,
)
