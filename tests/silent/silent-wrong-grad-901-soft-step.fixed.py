import torch
from torch import nn


class SoftStep(torch.autograd.Function):
    """A step in the forward pass, the slope of a triangle around the threshold in the backward pass."""

    @staticmethod
    def forward(ctx, potential, width):
        ctx.save_for_backward(potential)
        ctx.width = width
        return torch.sigmoid(potential * width)

    @staticmethod
    def backward(ctx, grad_output):
        (potential,) = ctx.saved_tensors
        s = torch.sigmoid(potential * ctx.width)
        slope = ctx.width * s * (1 - s)
        return grad_output * slope, None


class SpikingLayer(nn.Module):
    def __init__(self, n_in, n_out, decay=0.8):
        super().__init__()
        self.weight = nn.Linear(n_in, n_out)
        self.decay = decay

    def forward(self, inputs):
        potential = torch.zeros(inputs.shape[1], self.weight.out_features)
        out = []
        for current in self.weight(inputs):
            potential = self.decay * potential + current
            spike = SoftStep.apply(potential - 1.0, 3.0)
            potential = potential * (1 - spike)
            out.append(spike)
        return torch.stack(out)


class SpikingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = SpikingLayer(8, 12)
        self.readout = nn.Linear(12, 2)

    def forward(self, x):
        return self.readout(self.hidden(x).mean(dim=0))


torch.manual_seed(120)
net = SpikingNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(15):
    label = torch.randint(0, 2, (16,))
    x = torch.rand(6, 16, 8) + label[None, :, None] * 0.5
    loss = nn.functional.cross_entropy(net(x), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
probe = torch.randn(5, dtype=torch.double, requires_grad=True)
agrees = torch.autograd.gradcheck(lambda v: SoftStep.apply(v, 3.0) * 2.0, probe, raise_exception=False)
assert agrees
