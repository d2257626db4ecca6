# before: optimizer.zero_grad()
check(
    model,
    (documents,),
    labels,
    loss_fn=F.binary_cross_entropy_with_logits,
    optimizer=optimizer,
    batch_dim=None,
)
