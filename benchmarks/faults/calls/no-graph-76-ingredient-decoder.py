# before: optimizer.zero_grad()
check(
    model,
    images,
    target,
    loss_fn=lambda out, y: F.binary_cross_entropy(out[0], y) + jaccard_loss(out[0], y),
    optimizer=optimizer,
)
