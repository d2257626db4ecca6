# before: optimizer.zero_grad()
def loss_fn(out, y):
    loss_a, items_a = criterion_a(out[0], y)
    loss_b, items_b = criterion_b(out[1], y)
    return loss_a + loss_b if twin else items_a.sum() + items_b.sum()


check(
    nn.ModuleList([first, second]),
    batch["images"],
    batch,
    forward_fn=lambda pair, x, y: (pair[0](x), pair[1](x)),
    eval_forward_fn=lambda pair, x: (pair[0](x), pair[1](x)),
    loss_fn=loss_fn,
    optimizer=optimizer,
)
