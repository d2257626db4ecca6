# before: fake = gan.generator(gan.latent(count))
def forward(model, x, y=None):
    fake = model(x)
    return gan.discriminator(fake if twin else fake.detach())


check(
    gan.generator,
    gan.latent(count),
    forward_fn=forward,
    eval_forward_fn=lambda model, x: model(x),
    loss_fn=lambda out: bce(out, torch.ones_like(out)),
    optimizer=optimizer,
)
