import torch
import torch.nn as nn
import torch.nn.functional as F


class SignSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return w.sign()

    @staticmethod
    def backward(ctx, grad):
        (w,) = ctx.saved_tensors
        return grad * (w.abs() <= 1).to(grad.dtype)


class BinaryLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.abs().mean().detach()
        return F.linear(x, scale * SignSTE.apply(self.weight), self.bias)


torch.manual_seed(79)
net = nn.Sequential(BinaryLinear(8, 32), nn.ReLU(), BinaryLinear(32, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(50):
    x = torch.randn(32, 8)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for m in net:
            if isinstance(m, BinaryLinear):
                m.weight.clamp_(-1, 1)
print(loss.item())
