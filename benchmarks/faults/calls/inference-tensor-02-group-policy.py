# before: loss = grpo_loss(
check(
    policy,
    tokens,
    advantages.flatten(),
    forward_fn=lambda model, x, y: grpo_loss(model, reference, x, y, start=3),
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=lambda out, y: out,
    optimizer=optimizer,
    overfit_steps=0,
)
