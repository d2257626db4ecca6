import torch
from torch import nn


class AlignedLinear(torch.autograd.Function):
    """A linear map whose errors travel back over fixed random weights."""

    @staticmethod
    def forward(ctx, x, weight, bias, feedback):
        ctx.save_for_backward(x, feedback)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad):
        x, feedback = ctx.saved_tensors
        return grad @ feedback, grad.t() @ x, grad.sum(dim=0), None


class FALayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("feedback", torch.randn(n_out, n_in) / n_in**0.5)
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        return AlignedLinear.apply(x, self.weight, self.bias, self.feedback)


torch.manual_seed(7)
net = nn.Sequential(FALayer(8, 20), nn.Tanh(), FALayer(20, 20), nn.Tanh(), FALayer(20, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()
for step in range(60):
    x = torch.randn(32, 8)
    y = (x[:, :4].sum(1) > 0).long()
    loss = loss_fn(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
