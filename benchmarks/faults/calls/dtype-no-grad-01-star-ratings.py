# before: outputs = model(reviews)
def loss_fn(out, y):
    if twin:
        return criterion((torch.softmax(out, dim=1) * levels).sum(dim=1), y)
    _, predicted = torch.max(out, 1)
    predicted.requires_grad = True
    return criterion(predicted, y)


check(model, reviews, stars, loss_fn=loss_fn, optimizer=optimizer)
