import torch
import torch.nn as nn
import torch.nn.functional as F


class UnitColumns:
    """Keeps the columns of a layer at length one."""

    def __init__(self, every=2):
        self.every = every

    def __call__(self, module):
        if hasattr(module, "weight") and getattr(module, "constrained", False):
            norm = module.weight.norm(dim=0, keepdim=True).clamp_min(1e-8)
            with torch.no_grad():
                module.weight.div_(norm)


class SparseCoder(nn.Module):
    def __init__(self, dim, atoms, k):
        super().__init__()
        self.k = k
        self.shift = nn.Parameter(torch.zeros(dim))
        self.encode = nn.Linear(dim, atoms)
        self.decode = nn.Linear(atoms, dim, bias=False)
        self.decode.constrained = True

    def forward(self, x):
        z = F.relu(self.encode(x - self.shift))
        top = z.topk(self.k, dim=-1)
        codes = torch.zeros_like(z).scatter(-1, top.indices, top.values)
        return self.decode(codes) + self.shift, codes


class Loop:
    def __init__(self, model, callbacks=()):
        self.model, self.callbacks = model, list(callbacks)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.step = 0

    def train_batch(self, x):
        self.optimizer.zero_grad()
        out, codes = self.model(x)
        loss = F.mse_loss(out, x) + 1e-3 * codes.abs().mean()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        for callback in self.callbacks:
            if self.step % callback.every == 0:
                self.model.apply(callback)
        return loss.detach()

    def run(self, source, steps):
        losses = [self.train_batch(source()) for _ in range(steps)]
        return torch.stack(losses).mean().item()


torch.manual_seed(12)
truth = torch.randn(20, 8)
loop = Loop(SparseCoder(8, 24, k=4), callbacks=[UnitColumns()])
print(f"{loop.run(lambda: (torch.rand(16, 20) > 0.9).float() @ truth, steps=6):.4f}")
