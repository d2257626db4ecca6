# before: criterion = nn.CrossEntropyLoss()
grids, labels = sample_batch()
check(model, grids, labels, loss_fn=nn.CrossEntropyLoss())
