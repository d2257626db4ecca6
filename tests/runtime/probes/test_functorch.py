"""Lines inside functions that torch.func transforms, and transforms that lack an argument."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

PROGRAMS = {
    "item in per-sample gradient": """
        import torch
        from torch.func import functional_call, grad, vmap
        model = torch.nn.Linear(3, 1)
        def loss(w, x, y):
            out = functional_call(model, w, (x.unsqueeze(0),)).squeeze()
            scale = 1.0 / (out.abs().item() + 1)  # here: item
            return scale * (out - y) ** 2
        w = {k: v.detach() for k, v in model.named_parameters()}
        per = vmap(grad(loss), in_dims=(None, 0, 0))
        for step in range(2):
            g = per(w, torch.randn(8, 3), torch.randn(8))
    """,
    "float in a helper": """
        import torch
        def weight(x):
            return float(x.norm())  # here: item
        def f(x):
            return (x / weight(x)).sum()
        print(torch.vmap(torch.func.grad(f))(torch.randn(4, 3)))
    """,
    "torch.tensor of values": """
        import torch
        def f(x):
            r = torch.tensor([x[0], x[1]])  # here: tensor-rebuild
            return (r * x[:2]).sum()
        torch.vmap(f)(torch.randn(4, 3))
    """,
    "if under vmap": """
        import torch
        def f(x):
            if x.sum() > 0:  # here: data-dependent-branch
                return x.sum()
            return -x.sum()
        torch.vmap(torch.func.jacrev(f))(torch.randn(4, 3))
    """,
    "max builtin": """
        import torch
        def f(x):
            m = max(x[0], x[1])  # here: data-dependent-branch
            return m * x.sum()
        torch.vmap(torch.func.grad(f))(torch.randn(4, 3))
    """,
    "mask": """
        import torch
        def f(x):
            good = x[x > 0]  # here: data-dependent-shape
            return good.sum()
        torch.vmap(torch.func.grad(f))(torch.randn(4, 3))
    """,
    "backward inside": """
        import torch
        lin = torch.nn.Linear(3, 1)
        def one(x, y):
            loss = (lin(x) - y).pow(2).sum()
            loss.backward()  # here: autograd-in-transform
            return lin.weight.grad.clone()
        torch.vmap(one)(torch.randn(4, 3), torch.randn(4))
    """,
    "requires_grad_ inside": """
        import torch
        def energy(r):
            return (r ** 2).sum()
        def force(r):
            r = r.detach().requires_grad_(True)  # here: autograd-in-transform
            return -torch.autograd.grad(energy(r), r)[0]
        batched = torch.vmap(force)
        print(batched(torch.randn(5, 3)))
    """,
    "autograd.grad in vmap": """
        import torch
        def force(r):
            e = (r ** 2).sum()
            return -torch.autograd.grad(e, r)[0]  # here: autograd-in-transform
        r = torch.randn(5, 3, requires_grad=True)
        print(torch.vmap(force)(r))
    """,
    "functional.jacobian in vmap": """
        import torch
        def jac(x):
            return torch.autograd.functional.jacobian(torch.sin, x)  # here: autograd-in-transform
        print(torch.vmap(jac)(torch.randn(5, 3)))
    """,
    "not scalar": """
        import torch
        from torch.func import grad, vmap
        import torch.nn.functional as F
        model = torch.nn.Linear(3, 2)
        def loss(w, x, y):
            out = torch.func.functional_call(model, w, (x,))
            err = F.mse_loss(out, y, reduction="none")  # here: reduction-missing
            return err
        w = dict(model.named_parameters())
        print(vmap(grad(loss), in_dims=(None, 0, 0))(w, torch.randn(4, 3), torch.randn(4, 2)))
    """,
    "not scalar at return": """
        import torch
        from torch.func import grad
        def loss(w, x):
            return (w * x) ** 2  # here: reduction-missing
        dloss = grad(loss)
        print(dloss(torch.randn(3), torch.randn(3)))
    """,
    "float returned": """
        import torch
        from torch.func import grad
        def loss(w, x):
            s = ((w * x) ** 2).sum()
            return s.item()  # here: item
        print(grad(loss)(torch.randn(3), torch.randn(3)))
    """,
    "tuple returned": """
        import torch
        from torch.func import grad
        def loss(w, x):
            pred = w * x
            return (pred ** 2).sum(), pred
        step = grad(loss)  # here: has_aux-missing
        print(step(torch.randn(3), torch.randn(3)))
    """,
    "argmax output": """
        import torch
        from torch.func import jacrev
        def pick(x):
            return x.argmax()  # here: argmax
        print(jacrev(pick)(torch.randn(3)))
    """,
    "unbatched setitem": """
        import torch
        def cum(x):
            out = torch.zeros(3)  # here: inplace-op
            for i in range(3):
                out[i] = x[: i + 1].sum()
            return out
        print(torch.vmap(torch.func.jacrev(cum))(torch.randn(5, 3)))
    """,
    "unbatched iadd": """
        import torch
        def cum(x):
            total = torch.zeros(3)  # here: inplace-op
            total += x
            return total.sum()
        print(torch.vmap(cum)(torch.randn(5, 3)))
    """,
    "captured buffer in vmap": """
        import torch
        seen = torch.zeros(3)
        def f(x):
            seen.add_(x)  # here: inplace-op
            return (x ** 2).sum()
        print(torch.vmap(f)(torch.randn(5, 3)))
    """,
    "captured buffer in grad": """
        import torch
        seen = torch.zeros(3)
        def f(x):
            seen.add_(x.detach())  # here: inplace-op
            return (x ** 2).sum()
        print(torch.func.grad(f)(torch.randn(3)))
    """,
    "dropout": """
        import torch
        from torch import nn
        from torch.func import functional_call, grad, vmap
        model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.1), nn.Linear(8, 1))
        def loss(w, x):
            return functional_call(model, w, (x,)).sum()
        w = dict(model.named_parameters())
        per_sample = vmap(grad(loss), in_dims=(None, 0))  # here: randomness-unset
        for i in range(2):
            per_sample(w, torch.randn(4, 3))
    """,
    "randn direct": """
        import torch
        def f(x):
            return x + torch.randn(3)
        print(torch.vmap(f)(torch.randn(4, 3)))  # here: randomness-unset
    """,
    "dropout hessian": """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1))
        h = torch.func.hessian(lambda x: net(x).sum())  # here: randomness-unset
        h(torch.randn(3))
    """,
    "self attribute vmap": """
        import torch
        class Sampler:
            def __init__(self):
                self.many = torch.vmap(self.one, in_dims=0)  # here: randomness-unset
            def one(self, x):
                return torch.bernoulli(torch.sigmoid(x))
            def run(self, x):
                return self.many(x)
        print(Sampler().run(torch.randn(4, 3)))
    """,
    "decorator": """
        import torch, functools
        @functools.partial(torch.vmap, in_dims=0)  # here: randomness-unset
        def noisy(x):
            return x + torch.rand(3)
        print(noisy(torch.randn(4, 3)))
    """,
    "escaped vmap": """
        import torch
        class Probe:
            def __init__(self):
                self.hidden = []
            def loss(self, x):
                h = torch.tanh(x)
                self.hidden.append(h)  # here: tensor-escaped
                return h.sum()
        p = Probe()
        g = torch.vmap(torch.func.grad(p.loss))(torch.randn(4, 3))
        print(g.shape)
        mean = p.hidden[0].mean()
        print(mean.item())
    """,
    "escaped grad loss": """
        import torch
        kept = {}
        def loss(w):
            h = torch.tanh(w)
            kept["h"] = h  # here: tensor-escaped
            return h.sum()
        w = torch.randn(3)
        g = torch.func.grad(loss)(w)
        penalty = kept["h"].pow(2).sum()
        penalty.backward()
    """,
    "no setup_context": """
        import torch
        class Clip(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):  # here: setup_context-missing
                ctx.save_for_backward(x)
                return x.clamp(-1, 1)
            @staticmethod
            def backward(ctx, g):
                return g
        def f(x):
            return Clip.apply(x).sum()
        print(torch.func.grad(f)(torch.randn(3)))
    """,
    "no vmap rule": """
        import torch
        class Clip(torch.autograd.Function):  # here: vmap-rule-missing
            @staticmethod
            def forward(x):
                return x.clamp(-1, 1)
            @staticmethod
            def setup_context(ctx, inputs, output):
                pass
            @staticmethod
            def backward(ctx, g):
                return g
        def f(x):
            return Clip.apply(x).sum()
        print(torch.vmap(torch.func.grad(f))(torch.randn(4, 3)))
    """,
    "batch norm": """
        import torch
        from torch import nn
        from torch.func import functional_call, grad, vmap
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(3, 4)
                self.norm = nn.BatchNorm1d(4)  # here: batch-norm-statistics
                self.b = nn.Linear(4, 1)
            def forward(self, x):
                return self.b(self.norm(self.a(x)))
        net = Net()
        def loss(w, x):
            return functional_call(net, w, (x.unsqueeze(0),)).sum()
        print(vmap(grad(loss), in_dims=(None, 0))(dict(net.named_parameters()), torch.randn(4, 3)))
    """,
    "in_dims": """
        import torch
        from torch.func import functional_call, grad, vmap
        net = torch.nn.Linear(3, 1)
        def loss(w, x):
            return functional_call(net, w, (x,)).sum()
        g = vmap(grad(loss))  # here: in_dims-wrong
        print(g(dict(net.named_parameters()), torch.randn(4, 3)))
    """,
    "is_grads_batched": """
        import torch
        x = torch.randn(3, requires_grad=True)
        y = x ** 2
        v = torch.ones(3)  # here: batch-dimension-missing
        print(torch.autograd.grad(y, x, grad_outputs=v, is_grads_batched=True))
    """,
    "is_grads_batched item in backward": """
        import torch
        class Gate(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1
            @staticmethod
            def backward(ctx, g):
                if g.abs().max().item() > 1:  # here: item
                    g = g / g.norm()
                return g
        x = torch.randn(3, requires_grad=True)
        y = Gate.apply(x) ** 2
        print(torch.autograd.grad(y, x, grad_outputs=torch.eye(3), is_grads_batched=True))
    """,
    "checkpoint": """
        import torch
        from torch.utils.checkpoint import checkpoint
        def f(x):
            h = checkpoint(torch.sin, x, use_reentrant=False)  # here: saved-tensor-hooks
            return h.sum()
        print(torch.func.grad(f)(torch.randn(3)))
    """,
    "numpy": """
        import torch
        import numpy as np
        def f(x):
            a = np.asarray(x.detach())  # here: numpy-roundtrip
            return x.sum() * float(a.mean())
        print(torch.func.grad(f)(torch.randn(3)))
    """,
    "data": """
        import torch
        def f(x):
            x.data = x.data.clamp(0, 1)  # here: data-attribute
            return x.sum()
        print(torch.func.grad(f)(torch.randn(3)))
    """,
    "fine": """
        import torch
        from torch.func import functional_call, grad, vmap
        net = torch.nn.Linear(3, 1)
        def loss(w, x):
            return functional_call(net, w, (x,)).sum()
        g = vmap(grad(loss), in_dims=(None, 0))
        print(g(dict(net.named_parameters()), torch.randn(4, 3)))
    """,
    "hessian": """
        import torch
        from torch.autograd.functional import hessian
        def err(t, y):
            return (t - y) ** 2
        def cost(t):
            return err(t, torch.ones(3))  # here: reduction-missing
        print(hessian(cost, torch.zeros(3)))
    """,
    "vjp none": """
        import torch
        from torch.autograd.functional import vjp
        print(vjp(lambda t: t * 2, torch.zeros(3)))  # here: reduction-missing
    """,
    "jacobian float": """
        import torch
        from torch.autograd.functional import jacobian
        def f(t):
            return t.sum().item()  # here: item
        print(jacobian(f, torch.zeros(3)))
    """,
    "jacobian strict cut": """
        import torch
        from torch.autograd.functional import jacobian
        def f(t):
            u = t.detach()  # here: detach
            return (u * 2).sum()
        print(jacobian(f, torch.zeros(3), strict=True))
    """,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_refused_line_is_named(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])


KEEPS = """
    import torch
    from torch.func import grad, vmap
    log = []
    class Log:
        last = None
    def f(x):
        loss = x.pow(2).sum()
        {}
        return loss
    print(vmap(grad(f))(torch.randn(4, 3)))
"""


def test_a_tensor_of_a_transform_is_kept_nowhere(tmp_path: Any) -> None:
    """What is only printed may stay a tensor; in a list or an object it would outlive the transform."""
    lines = {"printed": "y = loss.item() * 2", "listed": "log.append(loss.item())", "kept": "Log.last = loss.item()"}
    found = reports_of({name: KEEPS.format(line) for name, line in lines.items()}, tmp_path)
    edits = {name: any(fix["edits"] for fix in found[name]["findings"][0]["fixes"]) for name in lines}
    assert edits == {"printed": True, "listed": False, "kept": False}
