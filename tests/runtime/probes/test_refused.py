"""What torch refuses in a gradient, an optimizer or a wrapper: the line that made it so."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import numpy as np
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel as DDP
        model = nn.Linear(4, 1)
        x = torch.randn(8, 4)
"""
DDP = (
    HEAD
    + """
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
"""
)
PROGRAMS = {
    "integer labels": HEAD
    + """
        y = torch.randint(0, 2, (8, 1))  # here: target-dtype
        loss = F.binary_cross_entropy(model(x).sigmoid(), y)
        loss.backward()
    """,
    "an array of float64, in a method": HEAD
    + """
        class Trainer:
            def __init__(self):
                self.criterion = nn.HuberLoss()
                self.targets = torch.from_numpy(np.zeros((8, 1)))  # here: target-dtype
            def step(self):
                loss = self.criterion(model(x), self.targets)
                return loss
        for _ in range(2):
            Trainer().step().backward()
    """,
    "labels of a data loader": HEAD
    + """
        data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8, 1)))
        for inputs, labels in torch.utils.data.DataLoader(data, batch_size=4):
            out = model(inputs).sigmoid()
            F.binary_cross_entropy(out, labels).backward()  # here: target-dtype
    """,
    "labels of the right dtype": HEAD
    + """
        y = torch.randint(0, 2, (8, 1))
        F.binary_cross_entropy(model(x).sigmoid(), y.float()).backward()
    """,
    "data set between forward and backward": HEAD
    + """
        w = torch.ones(3, requires_grad=True)
        h = w * 2
        h.data = torch.ones(5)  # here: data-attribute
        loss = h.sum()
        loss.backward()
    """,
    "a weight pruned in a method": HEAD
    + """
        class Pruner:
            def prune(self, layer):
                layer.weight.data = layer.weight.data[:, :2]  # here: data-attribute
        loss = model(x).sum()
        Pruner().prune(model)
        (loss + model(x[:, :2]).sum()).backward()
    """,
    "a weight pruned in time": HEAD
    + """
        model.weight.data = model.weight.data[:, :2]
        model(x[:, :2]).sum().backward()
    """,
    "nothing trains in parallel": DDP
    + """
        for p in model.parameters():
            p.requires_grad = False  # here: frozen-all
        DDP(model)
    """,
    "nothing trains in parallel, frozen by a function": DDP
    + """
        def freeze(module):
            module.requires_grad_(False)  # here: frozen-all
        def build():
            net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
            freeze(net)
            return DDP(net)
        build()
    """,
    "a loss in parallel": DDP
    + """
        DDP(nn.MSELoss())  # here: param-not-registered
    """,
    "a part trains in parallel": DDP
    + """
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        net[0].requires_grad_(False)
        DDP(net)(x).sum().backward()
    """,
    "the model for its parameters": HEAD
    + """
        def build(net):
            return torch.optim.SGD(net, lr=0.1)  # here: optimizer-arguments
        build(model)
    """,
    "something else that is not iterable": HEAD
    + """
        for layer in model:
            pass
    """,
    "a closure without a loss": HEAD
    + """
        optimizer = torch.optim.LBFGS(model.parameters())
        def closure():  # here: optimizer-arguments
            optimizer.zero_grad()
            model(x).square().sum().backward()
        for _ in range(2):
            optimizer.step(closure)
    """,
    "another float of None": HEAD
    + """
        float(None)
    """,
    "a closure with a loss": HEAD
    + """
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
        def closure():
            optimizer.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            return loss
        optimizer.step(closure)
    """,
    "clipped": HEAD
    + """
        loss = (model(x) * 0).sqrt().sum()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)  # here: non-finite-gradient
    """,
    "no input is left": HEAD
    + """
        wanted = [p for n, p in model.named_parameters() if n.startswith("lora")]  # here: parameter-filter-empty
        torch.autograd.grad(model(x).sum(), wanted)
    """,
    "inputs that were read before": HEAD
    + """
        parameters = model.parameters()  # here: iterator-used-up
        print(sum(p.numel() for p in parameters))
        model(x).sum().backward(inputs=list(parameters))
    """,
    "a state that is detached in place": HEAD
    + """
        h = model(x)
        loss = h.sin().sum()
        h.detach_()  # here: detach-inplace
        loss.backward()
    """,
    "a custom operator": HEAD
    + """
        @torch.library.custom_op("tests::twice", mutates_args=())
        def twice(t: torch.Tensor) -> torch.Tensor:
            return t * 2
        class Net(nn.Module):
            def forward(self, x):
                return twice(model(x))  # here: custom-operator-backward
        loss = Net()(x).sum()
        loss.backward()
    """,
    "a checkpoint asked for one gradient": HEAD
    + """
        from torch.utils.checkpoint import checkpoint
        x.requires_grad_()
        def forward(x):
            return checkpoint(model, x, use_reentrant=True)  # here: checkpoint-reentrant
        penalty = torch.autograd.grad(forward(x).sum(), x)
    """,
    "sparse gradients": HEAD
    + """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(4, 2, sparse=True)  # here: sparse-gradient
            def forward(self, i):
                return self.table(i)
        net = Net()
        optimizer = torch.optim.AdamW(net.parameters())
        net(torch.tensor([1])).sum().backward()
        optimizer.step()
    """,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("refused"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_that_made_it_so(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])
