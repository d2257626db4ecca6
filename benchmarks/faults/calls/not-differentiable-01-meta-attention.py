# before: fast = adapt(
def forward(model, x, y):
    fast = adapt(model, dict(model.named_parameters()), x[0], y[0])
    return functional_call(model, fast, (x[1],))


check(
    model,
    x,
    y,
    forward_fn=forward,
    eval_forward_fn=lambda model, x: model(x[0]),
    loss_fn=lambda out, y: F.mse_loss(out, y[1]),
    optimizer=optimizer,
    batch_dim=None,
)
