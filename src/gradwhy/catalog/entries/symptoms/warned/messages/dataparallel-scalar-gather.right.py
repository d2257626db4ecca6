import torch


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x).pow(2).mean().reshape(1)


model = torch.nn.DataParallel(WithLoss().cuda())
model(torch.randn(8, 4).cuda()).mean().backward()
