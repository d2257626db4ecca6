# before: log["pde"] = interior_residual(model)
check(
    model,
    (2 * math.pi * torch.rand(64), torch.rand(64)),
    forward_fn=lambda model, x, y: (interior_residual(model), initial_mismatch(model), wall_mismatch(model, clock)),
    eval_forward_fn=lambda model, x: model(*x),
    loss_fn=lambda out: sum(out),
)
