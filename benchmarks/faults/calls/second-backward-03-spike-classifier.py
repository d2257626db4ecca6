# before: optimizer.zero_grad()
def forward(model, x, y=None):
    model.reset()
    return model(x)


check(
    net,
    frames,
    labels,
    forward_fn=forward,
    eval_forward_fn=forward,
    loss_fn=lambda out, y: F.cross_entropy(out * 5.0, y),
    optimizer=optimizer,
    batch_dim=1,
    output_batch_dim=0,
)
