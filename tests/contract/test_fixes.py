"""Fixes that do more than take a value back to the usual one: what they advise works."""

from __future__ import annotations

import pytest

from gradwhy.catalog import load

LEAF = "x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)\n"
BASE = "base = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)\n"
FROZEN = "w.requires_grad_(False)\n"
INFERENCE = "with torch.inference_mode():\n    x = torch.tensor([0.5, -1.0, 2.0])\n"
SQUARE = "def f(x):\n    return ((x * w) ** 2).sum()\n"

ADVICE = {
    "input/nonleaf/unfilled": BASE + "x = base * 2\nx.retain_grad()\n(x * w).sum().backward()\nassert x.grad is not None",
    "input/view-before/unfilled": BASE + "x = base.view(-1)\nx.retain_grad()\n(x * w).sum().backward()\n"
    "assert x.grad is not None and base.grad is not None",
    "input/detached-copy/requires-grad": BASE + "x = base.detach().requires_grad_()\n"
    "torch.autograd.grad((x * w).sum(), x)",
    "input/inference/requires-grad": INFERENCE + "x = x.clone().requires_grad_()\ntorch.autograd.grad((x * w).sum(), x)",
    "input/inference-saved/before": INFERENCE + "x = x.clone()\n(x * w).sum().backward()",
    "input/integer/requires-grad": "x = torch.tensor([1, -1, 2]).float().requires_grad_()\n"
    "torch.autograd.grad((x * w).sum(), x)",
    "input/list-good-unused/reached": LEAF + "unused = torch.ones(3, requires_grad=True)\n"
    "assert torch.autograd.grad((x * w).sum(), [x, unused], allow_unused=True)[1] is None",
    "input/list-good-plain/requires-grad": LEAF + "inputs = [x, torch.ones(3)]\n"
    "torch.autograd.grad((x * w).sum(), [t for t in inputs if t.requires_grad])",
    "input/view-after/reached": LEAF + "(g,) = torch.autograd.grad((x * w).sum(), x)\ng.view(-1)",
    "graph/frozen/has-graph": FROZEN + LEAF + "(x * w).sum().backward()\nassert x.grad is not None",
    "graph/freed/saved": LEAF + "y = (x * w * x).sum()\ny.backward(retain_graph=True)\ny.backward()",
    "graph/inplace/saved": LEAF + "(x * w).sum().backward()\nwith torch.no_grad():\n    w.mul_(2)",
    "output/vector/scalar": LEAF + "y = x * w\ny.backward(torch.ones_like(y), retain_graph=True)\ny.mean().backward()",
    "output/vector+batch/gradient": LEAF + "(g,) = torch.autograd.grad(x * w, x, torch.ones(2, 3), is_grads_batched=True)\n"
    "assert g.shape == (2, 3)",
    "output/complex/scalar": LEAF + "y = (x * w).sum() * (1 + 1j)\ny.abs().backward(retain_graph=True)\ny.real.backward()",
    "body/tuple/function-output": LEAF + "def f(x):\n    return (x * w).sum(), x\n"
    "gradient, aux = torch.func.grad(f, has_aux=True)(x)",
    "body/inplace-x/function-inside": LEAF + "def f(x):\n    x = x.clone()\n    x.mul_(2)\n    return (x * w).sum()\n"
    "torch.func.grad(f)(x)",
    "body/inplace-captured/function-inside": LEAF + "def f(x, kept):\n    kept.mul_(x)\n    return kept.sum()\n"
    "torch.func.grad(f)(x, torch.ones(3))",
    "body/grad-of-captured/function-inside": LEAF + "def f(x, w):\n"
    "    return torch.func.grad(lambda w: ((x * w) ** 2).sum())(w).sum()\ntorch.func.grad(f)(x, w)",
    "body/vector/function-output": LEAF + "out, back = torch.func.vjp(lambda x: x * w, x)\nback(torch.ones(3))\n"
    "torch.func.jacrev(lambda x: x * w)(x)",
    "arg/number/function-input": SQUARE.replace("x * w", "x * w.sum()") + "torch.func.grad(f)(torch.tensor(2.0))",
    "arg/inference/function-input": INFERENCE + SQUARE + "torch.func.grad(f)(x.clone())",
    "arg/complex/function-output": SQUARE.replace("** 2).sum()", "** 2).sum().abs()")
    + "torch.func.grad(f)(torch.ones(3, dtype=torch.complex64))",
    "arg/dict-integer/function-input": LEAF + "def f(a, b):\n    return (a * b).sum()\n"
    "torch.func.grad(f)(x, torch.tensor([1, 2, 3]))",
    "has-aux/True/function-output": SQUARE + LEAF + "torch.func.grad(f)(x)",
    "again/same/saved": LEAF + "y = (x * w * x).sum()\ntorch.autograd.grad(y, x, retain_graph=True)\n"
    "torch.autograd.grad(y, x)",
    "is-grads-batched/True/gradient": LEAF + "torch.autograd.grad(x * w, x, torch.ones(2, 3), is_grads_batched=True)",
}  # fmt: skip


@pytest.mark.parametrize("name", ADVICE)
def test_what_a_fix_advises_works(name: str) -> None:
    assert f"fix/{name}" in load.contract("en")
    exec("import torch\nw = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n" + ADVICE[name], {})
