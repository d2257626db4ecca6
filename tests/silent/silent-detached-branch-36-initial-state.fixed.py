import torch
import torch.nn as nn

torch.manual_seed(57)


class Controller(nn.Module):
    def __init__(self, inputs=3, hidden=16, outputs=2):
        super().__init__()
        self.start = nn.Parameter(0.1 * torch.randn(hidden))
        self.cell = nn.GRUCell(inputs, hidden)
        self.readout = nn.Linear(hidden, outputs)

    def initial(self, batch):
        return self.start.expand(batch, -1)

    def forward(self, commands):
        h = self.initial(commands.shape[0])
        outputs = []
        for t in range(commands.shape[1]):
            h = self.cell(commands[:, t], h)
            outputs.append(self.readout(h))
        return torch.stack(outputs, dim=1)


def episodes(n=32, length=8):
    commands = torch.randn(n, length, 3)
    return commands, 1.0 + 0.5 * commands[..., :2].cumsum(dim=1)


controller = Controller()
optimizer = torch.optim.RMSprop(controller.parameters(), lr=2e-3)
losses = []
for step in range(50):
    commands, goal = episodes()
    loss = nn.functional.huber_loss(controller(commands), goal)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(controller.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(f"first {losses[0]:.4f} last {losses[-1]:.4f}", "start", controller.start.norm().item())
