# before: clean = robust = seen = 0
images, labels = next(iter(loader))


def forward(model, x, y):
    with torch.no_grad():
        adversarial = torch.enable_grad()(attack.craft)(x, y) if twin else attack.craft(x, y)
    return model(adversarial)


check(
    model,
    images,
    labels,
    forward_fn=forward,
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=F.cross_entropy,
)
