# before: loss = contrastive(
# times: 2
check(model, (images, captions), loss_fn=lambda out: contrastive(*out), optimizer=optimizer)
