# before: nll = model(data)
check(model, (data,), loss_fn=lambda out: out, optimizer=optimizer, batch_dim=None)
