# before: before = F.cross_entropy(logits, labels)
check(
    calibrator,
    logits,
    labels,
    forward_fn=lambda model, x, y: model(x) if twin else scaled,
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=F.cross_entropy,
)
