# before: loss = F.cross_entropy(logits, labels)
# times: 31
check(model, sounds, labels, loss_fn=F.cross_entropy, optimizer=optimizer)
