# before: optimizer.zero_grad()
check(
    nn.ModuleList([adapter, denoiser]),
    (noisy, t, torch.rand(4, 1, 8, 8)),
    noise,
    forward_fn=lambda pair, x, y: pair[1](x[0], x[1], pair[0](x[2])),
    eval_forward_fn=lambda pair, x: pair[1](x[0], x[1], pair[0](x[2])),
    loss_fn=F.mse_loss,
    optimizer=optimizer,
)
