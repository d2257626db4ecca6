# before: loss = training_step(field
check(
    field,
    sampler.volume(256),
    forward_fn=lambda model, x, y: training_step(model, sampler, {"eikonal": 0.1, "off": 0.05}),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=lambda out: out,
    optimizer=optimizer,
)
