# before: loss = F.mse_loss(model(counts), target)
# times: 101
check(model, counts, target, loss_fn=F.mse_loss, optimizer=optimizer, frozen=("fingerprint",))
