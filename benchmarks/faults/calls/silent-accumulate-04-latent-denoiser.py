# before: loss = flow_loss(model, chunk)
check(
    model,
    chunk,
    forward_fn=lambda model, x, y: flow_loss(model, x) / len(chunks),
    eval_forward_fn=lambda model, x: model(x, torch.full((len(x), 1), 0.5)),
    loss_fn=lambda out: out,
    optimizer=optimizer,
)
