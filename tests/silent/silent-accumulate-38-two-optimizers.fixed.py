import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, inputs=12, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, dim))

    def forward(self, x):
        return self.net(x)


class Model:
    def __init__(self):
        self.encoder = Encoder()
        self.classifier = nn.Linear(16, 3)
        self.enc_opt = torch.optim.SGD(self.encoder.parameters(), lr=0.05)
        self.cls_opt = torch.optim.SGD(self.classifier.parameters(), lr=0.1)

    def reset_gradients(self):
        for optimizer in (self.enc_opt, self.cls_opt):
            optimizer.zero_grad()

    def learn(self, x, y):
        loss = F.cross_entropy(self.classifier(self.encoder(x)), y)
        self.reset_gradients()
        loss.backward()
        self.enc_opt.step()
        self.cls_opt.step()
        return loss.item()


def seeds(n=48):
    x = torch.randn(n, 12)
    return x, (x[:, :3] + 0.5 * x[:, 3:6]).argmax(dim=1)


torch.manual_seed(97)
model = Model()
for step in range(60):
    value = model.learn(*seeds())
    if step % 15 == 0:
        print(step, round(value, 4))
