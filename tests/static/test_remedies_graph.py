"""Remedies for graphs that live too long and for writes in place: the program before, the place at fault, the program after."""

# Programs read better on one line than broken.
# ruff: noqa: E501

from __future__ import annotations

import ast
from typing import NamedTuple

import pytest

from gradwhy.findings import Code
from gradwhy.source import edits
from gradwhy.source.text import SourceText
from gradwhy.static import remedy
from gradwhy.static.remedy import Fault, Spot


class Case(NamedTuple):
    """``at`` and the ``spots`` are program text, where it first stands; ``after`` is None where no edit may be offered."""

    at: str
    before: str
    after: str | None
    headline: str = "headline"
    spots: dict[str, str] = {}  # noqa: RUF012
    name: str = ""


def found(source: SourceText, text: str) -> ast.AST:
    assert source.tree is not None
    nodes = [n for n in ast.walk(source.tree) if isinstance(n, (ast.expr, ast.stmt)) and source.segment(n) == text]
    return min((n for n in nodes if not isinstance(n, ast.Expr)), key=lambda n: (n.lineno, n.col_offset))


def fixed(cause: str, case: Case) -> str | None:
    source = SourceText("train.py", case.before)
    fault = Fault(
        cause=cause,
        file="train.py",
        source=source,
        node=found(source, case.at),
        headline=case.headline,
        spots={role: (Spot("train.py", source, found(source, text)),) for role, text in case.spots.items()},
        args={"name": Code(case.name)},
    )
    fix = next(iter(remedy.fixes(fault)), None)
    return edits.apply(case.before, fix.edits) if fix is not None else None


def loop(*body: str, head: str = "for x in data:") -> str:
    return head + "\n" + "".join(f"    {line}\n" for line in body)


def function(*body: str, head: str = "def f(self, x):") -> str:
    return loop(*body, head=head)


SAVED = [
    Case("y += x", function("y = torch.tanh(x)", "y += x", "return y"), function("y = torch.tanh(x)", "y = y + x", "return y")),
    Case("y *= a + b", function("y = x.exp()", "y *= a + b  # scaled", "return y"), function("y = x.exp()", "y = y * (a + b)  # scaled", "return y")),
    Case("y -= a * b", function("y = x.exp()", "y -= a * b", "return y"), function("y = x.exp()", "y = y - a * b", "return y")),
    Case("y += (a +\n          b)", function("y = x.exp()", "y += (a +\n          b)", "return y"), function("y = x.exp()", "y = y + (a +\n          b)", "return y")),
    Case("self.scale += x.std(0)", function("self.scale += x.std(0)", "return x / self.scale"), function("self.scale = self.scale + x.std(0)", "return x / self.scale")),
    Case("y.relu_()", function("y = g(x)", "y.relu_()", "return y"), function("y = g(x)", "y = y.relu()", "return y")),
    Case("y.mul_(2).clamp_(0, 1)", function("y = g(x)", "y.mul_(2).clamp_(0, 1)", "return y"), function("y = g(x)", "y = y.mul(2).clamp(0, 1)", "return y")),
    Case("torch.relu_(y)", function("y = g(x)", "return torch.relu_(y)"), function("y = g(x)", "return torch.relu(y)")),
    Case("nn.ReLU(inplace=True)", "self.act = nn.ReLU(inplace=True)\n", "self.act = nn.ReLU()\n"),
    Case("nn.Dropout(0.1, True)", "act = [nn.Dropout(0.1, True), nn.Tanh()]\n", "act = [nn.Dropout(0.1), nn.Tanh()]\n"),
    Case("F.relu(y, inplace=True)", function("y = g(x)", "F.relu(y, inplace=True)", "return y"), function("y = g(x)", "y = F.relu(y)", "return y")),
    Case("y[~mask]", function("y = x.softmax(-1)", "y[~mask] = 0.0", "return y"), function("y = x.softmax(-1)", "y = y.clone()", "y[~mask] = 0.0", "return y")),
    Case("a[t]", function("a = torch.zeros(5, 3)", "for t in range(1, 5):", "    a[t] = a[t - 1] @ w", "return a"),
         function("a = torch.zeros(5, 3)", "for t in range(1, 5):", "    a[t] = a[t - 1].clone() @ w", "return a"), spots={"saved": "a[t - 1] @ w"}),
    Case("torch.stack(parts, out=self.batch)", function("torch.stack(parts, out=self.batch)", "yield self.batch"), function("self.batch = torch.stack(parts)", "yield self.batch")),
]  # fmt: skip

NOT_SURE = [
    Case("y += x", function("y = self.state", "y += x", "return y + self.state"), None),
    Case("y += x", function("y += x", head="def add(y, x):"), None),
    Case("y += x", function("y = z.view(-1)", "y += x", "return y.sum() + z.sum()"), None),
    Case("p += x", function("for p in params:", "    p += x", "return params"), None),
    Case("self.scale += x", "self.scale = nn.Parameter(torch.ones(1))\nself.scale += x\nprint(self.scale)\n", None),
    Case("total += x", function("total += x", "return total", head="def f(x):"), None),
    Case("self.act(x)", "class A:\n    def __init__(self):\n        self.act = nn.ReLU(inplace=True)\n    def forward(self, x):\n        self.act(x)\n        return x\n", None),
    Case("y[i]", function("y = x.sigmoid()", "for i in range(1, 5):", "    y[i] = y[i - 1] * w", "return y"), None, spots={"saved": "y[i - 1] * w"}),
    Case("y.resize_(3)", function("y = g(x)", "y.resize_(3)", "return y"), None),
    Case("y.data[0]", function("y = g(x)", "y.data[0] = 1", "return y"), None),
    Case("z.relu_()", function("z = g(x)", "y = z.relu_()", "return y + z"), None),
]  # fmt: skip


@pytest.mark.parametrize("case", [*SAVED, *NOT_SURE], ids=lambda case: case.at)
def test_a_write_becomes_a_new_tensor(case: Case) -> None:
    assert fixed("inplace-op", case) == case.after


LEAVES = [
    Case("w -= lr * w.grad", "import torch\n" + loop("loss.backward()", "w -= lr * w.grad", "b -= lr * b.grad", "w.grad.zero_()", "log(w)"),
         "import torch\n" + loop("loss.backward()", "with torch.no_grad():", "    w -= lr * w.grad", "    b -= lr * b.grad", "    w.grad.zero_()", "log(w)"), "headline-leaf"),
    Case("self.emb.weight[i]", "import torch as th\ndef load(self, rows):\n\tself.emb.weight[i] = rows\n",
         "import torch as th\ndef load(self, rows):\n\twith th.no_grad():\n\t\tself.emb.weight[i] = rows\n", "headline-leaf"),
    Case("w *= 0.1", "import torch\nw = torch.randn(3, requires_grad=True)\nw *= 0.1\n", "import torch\nw = torch.randn(3, requires_grad=True)\nwith torch.no_grad():\n    w *= 0.1\n", "headline-leaf"),
    Case("x.sub_(self.mean)", function("x = x.sub_(self.mean).div_(self.std)", "return self.net(x)", head="def forward(self, x):"),
         function("x = x.sub(self.mean).div(self.std)", "return self.net(x)", head="def forward(self, x):"), "headline-leaf"),
    Case("self.pos[i, 0]", "import torch\n" + function("self.pos[i, 0] = sin", "self.pos[i, 1] = cos"), "import torch\n" + function("with torch.no_grad():", "    self.pos[i, 0] = sin", "    self.pos[i, 1] = cos"), "headline-leaf"),
    Case("w -= lr * w.grad", loop("w -= lr * w.grad"), None, "headline-leaf"),
    # A constraint is called with the module whose weights it changes; a module's own call is a forward pass.
    Case("layer.weight.div_(n)", "import torch\nclass Unit:\n    def __call__(self, layer):\n        n = layer.weight.norm()\n        layer.weight.div_(n)\n",
         "import torch\nclass Unit:\n    def __call__(self, layer):\n        n = layer.weight.norm()\n        with torch.no_grad():\n            layer.weight.div_(n)\n", "headline-leaf"),
    Case("layer.weight.div_(n)", "import torch\nclass Unit(nn.Module):\n    def __call__(self, layer, n):\n        layer.weight.div_(n)\n", None, "headline-leaf"),
]  # fmt: skip


@pytest.mark.parametrize("case", LEAVES, ids=lambda case: case.at)
def test_an_update_of_a_leaf_goes_under_no_grad(case: Case) -> None:
    assert fixed("inplace-op", case) == case.after


VIEWS = [
    Case("part.mul_(std)", "import torch\n" + function("for part, std in zip(x, STD):", "    part.mul_(std)", "return x"),
         "import torch\n" + function("x = torch.stack([part.mul(std) for part, std in zip(x, STD)])", "return x")),
    Case("row *= a + b", "import torch\n" + function("for row in x:", "    row *= a + b", "return x"), "import torch\n" + function("x = torch.stack([row * (a + b) for row in x])", "return x")),
    Case("a *= s", function("a, b = x.chunk(2)", "a *= s", "return a + b"), function("a, b = x.chunk(2)", "a = a * s", "return a + b")),
    Case("a *= s", function("a, b = x.chunk(2)", "a *= s", "return x"), None),
    Case("y[..., :2]", function("a, b = y.split(2, -1)", "y[..., :2] = a.exp()", "return b * y", head="def f(y):"),
         function("a, b = y.split(2, -1)", "y = y.clone()", "y[..., :2] = a.exp()", "return b * y", head="def f(y):"), "headline-base"),
    Case("rows *= k", "import torch\n" + function("rows = bank.rows()", "rows *= k"), "import torch\n" + function("rows = bank.rows()", "with torch.no_grad():", "    rows *= k"), "headline-mode"),
    Case("rows *= k", "import torch\n" + function("rows = bank.rows()", "rows *= k", "return rows"), None, "headline-mode"),
]  # fmt: skip


@pytest.mark.parametrize("case", VIEWS, ids=lambda case: case.at)
def test_a_view_is_not_written_to(case: Case) -> None:
    assert fixed("view-inplace", case) == case.after


KEPT = [
    Case("total += loss", loop("loss.backward()", "total += loss"), loop("loss.backward()", "total += loss.detach()"), "headline-kept"),
    Case("total += loss * len(x)", loop("total += loss * len(x)"), loop("total += (loss * len(x)).detach()"), "headline-source"),
    Case("log['loss'].append(loss)", loop("log['loss'].append(loss)"), loop("log['loss'].append(loss.detach())"), "headline-kept"),
    Case("self.rows.setdefault(k, [])", function("self.rows.setdefault(k, []).append(x)"), function("self.rows.setdefault(k, []).append(x.detach())"), "headline-kept"),
    Case("log.append((loss, step))", loop("log.append((loss, step))"), None, "headline-kept"),
    Case("log.extend(parts)", loop("parts = [f(x), g(x)]", "log.extend(parts)"), None, "headline-kept"),
    Case("log.extend(out)", loop("out = net(x)", "log.extend(out)"), loop("out = net(x)", "log.extend(out.detach())"), "headline-kept"),
    Case("total += value", loop("value = loss.item()", "total += value"), None, "headline-kept"),
    Case("self.total += value", "class M:\n    def add(self, value):\n        self.total += value\nm.add(loss)\nm.add(loss.item())\n", "class M:\n    def add(self, value):\n        self.total += value\nm.add(loss.detach())\nm.add(loss.item())\n", "headline-kept"),
    Case("self.total += value", "class M:\n    def add(self, value):\n        self.total += value\nm.add(loss)\nm.add(other)\n", "class M:\n    def add(self, value):\n        self.total += value.detach()\nm.add(loss)\nm.add(other)\n", "headline-kept"),
    Case("total += loss", loop("total += loss", "if last:", "    total.backward()"), None, "headline-kept"),
]  # fmt: skip

SUMS = [
    Case("total += loss", "total = 0\n" + loop("loss = f(x)", "total += loss", "total.backward()"), "total = 0\n" + loop("loss = f(x)", "total += loss.detach()", "loss.backward()"), spots={"surfaces": "total.backward()"}),
    Case("total + loss", "total = 0\n" + loop("loss = f(x)", "total = total + loss", "total.backward(retain_graph=True)"), "total = 0\n" + loop("loss = f(x)", "total = total + loss.detach()", "loss.backward()"), spots={"surfaces": "total.backward(retain_graph=True)"}),
    Case("total += f(x, y)", "total = 0.0\n" + loop("for y in x:", "    total += f(x, y)", "total.backward()", "opt.step()"),
         loop("total = 0.0", "for y in x:", "    total += f(x, y)", "total.backward()", "opt.step()"), spots={"surfaces": "total.backward()"}),
    Case("total += f(x)", "total = 0\n" + loop("total += f(x)", "if i % 4 == 0:", "    total.backward()", "    opt.step()"),
         "total = 0\n" + loop("total += f(x)", "if i % 4 == 0:", "    total.backward()", "    opt.step()", "    total = 0"), spots={"surfaces": "total.backward()"}),
    Case("total += f(x, y)", "total = 0.0\n" + loop("for y in x:", "    total += f(x, y)", "total.backward()") + "print(total)\n", None, spots={"surfaces": "total.backward()"}),
    Case("total += f(x)", "total = 0\n" + loop("total += f(x)", "total.backward()"), None, spots={"surfaces": "total.backward()"}),
]  # fmt: skip


@pytest.mark.parametrize("case", [*KEPT, *SUMS], ids=lambda case: case.at)
def test_losses_are_kept_without_their_graphs(case: Case) -> None:
    assert fixed("loss-accumulated", case) == case.after


BACK = {"surfaces": "loss.backward()"}
STATES = [
    # A number has no detach(): the average begins as one.
    Case("0.9 * self.avg + x", "class A:\n    def __init__(self):\n        self.n, self.avg = 0, 0.0\n    def f(self, x):\n        self.avg = 0.9 * self.avg + x\n        return self.avg\nloss.backward()\n", None, spots=BACK),
    Case("cell(x, h)", "h = torch.zeros(4)\n" + loop("h = cell(x, h)", "loss = f(h)", "loss.backward()"), "h = torch.zeros(4)\n" + loop("h = cell(x, h.detach())", "loss = f(h)", "loss.backward()"), spots=BACK),
    Case("net(x, (h, c))", "h = c = torch.zeros(4)\n" + loop("out, (h, c) = net(x, (h, c))", "loss = f(out)", "loss.backward()"),
         "h = c = torch.zeros(4)\n" + loop("out, (h, c) = net(x, (h.detach(), c.detach()))", "loss = f(out)", "loss.backward()"), spots=BACK),
    Case("net(x, state)", "state = None\nnet = nn.LSTM(3, 4)\n" + loop("out, state = net(x, state)", "loss = f(out)", "loss.backward()", "opt.step()"),
         "state = None\nnet = nn.LSTM(3, 4)\n" + loop("out, state = net(x, state)", "loss = f(out)", "loss.backward()", "state = tuple(part.detach() for part in state)", "opt.step()"), spots=BACK),
    Case("net(x, state)", "def start():\n    return torch.zeros(4), torch.zeros(4)\nstate = start()\n" + loop("out, state = net(x, state)", "loss = f(out)", "loss.backward()"),
         "def start():\n    return torch.zeros(4), torch.zeros(4)\nstate = start()\n" + loop("out, state = net(x, tuple(part.detach() for part in state))", "loss = f(out)", "loss.backward()"), spots=BACK),
    Case("cell(y, h)", "h = torch.zeros(4)\n" + loop("for y in x:", "    h = cell(y, h)", "loss = f(h)", "loss.backward()"),
         "h = torch.zeros(4)\n" + loop("for y in x:", "    h = cell(y, h)", "loss = f(h)", "loss.backward()", "h = h.detach()"), spots=BACK),
    Case("self.cell(x, self.h)", "class A:\n    def step(self, x):\n        if self.h is None:\n            self.h = torch.zeros(4)\n        self.h = self.cell(x, self.h)\n        loss = f(self.h)\n        loss.backward()\n",
         "class A:\n    def step(self, x):\n        if self.h is None:\n            self.h = torch.zeros(4)\n        self.h = self.cell(x, self.h.detach())\n        loss = f(self.h)\n        loss.backward()\n", spots=BACK),
    Case("0.9 * m + r", "m = 0.0\n" + loop("r = net(x)", "m = 0.9 * m + r", "loss = f(m)", "loss.backward()"), "m = 0.0\n" + loop("r = net(x)", "m = 0.9 * m + r", "loss = f(m)", "loss.backward()", "m = m.detach()"), spots=BACK),
    Case("self.rnn(x, self.s)", "class A:\n    def __init__(self):\n        self.s = None\n        self.rnn = LSTM(3, 4)\n    def forward(self, x):\n        out, self.s = self.rnn(x, self.s)\n        return out\n" + loop("loss = f(net(x))", "loss.backward()"),
         "class A:\n    def __init__(self):\n        self.s = None\n        self.rnn = LSTM(3, 4)\n    def forward(self, x):\n        out, self.s = self.rnn(x, self.s)\n        self.s = tuple(part.detach() for part in self.s)\n        return out\n" + loop("loss = f(net(x))", "loss.backward()"), spots=BACK),
    Case("self.cell(x, self.h)", "net = A()\nclass A:\n    def forward(self, x):\n        self.h = self.cell(x, self.h)\n        return self.h\nfor seq in data:\n    for x in seq:\n        y = net(x)\n    loss = f(y)\n    loss.backward()\n",
         "net = A()\nclass A:\n    def forward(self, x):\n        self.h = self.cell(x, self.h)\n        return self.h\nfor seq in data:\n    for x in seq:\n        y = net(x)\n    loss = f(y)\n    loss.backward()\n    net.h = net.h.detach()\n", spots=BACK, name="net.h"),
    Case("0.9 * bank[i] + z", loop("z = net(x)", "loss = f(z, bank)", "loss.backward()", "bank[i] = 0.9 * bank[i] + z"), loop("z = net(x)", "loss = f(z, bank)", "loss.backward()", "bank[i] = (0.9 * bank[i] + z).detach()"), spots=BACK),
    Case("0.9 * bank[i] + z", loop("z = net(x)", "bank[i] = 0.9 * bank[i] + z", "loss = f(bank)", "loss.backward()"), None, spots=BACK),
    Case("self.v.zero_()", "import torch\ndef reset(self):\n    self.v.zero_()\n", "import torch\ndef reset(self):\n    self.v = torch.zeros_like(self.v)\n", spots={}),
    Case("self.cell(x, self.h)", "class A:\n    def forward(self, x):\n        self.h = self.cell(x, self.h)\n        return self.h\nfor seq in data:\n    for x in seq:\n        y = net(x)\n    loss = f(y)\n    loss.backward()\n", None, spots=BACK, name="net.h"),
    Case("net(x, state)", "state = None\nnet = nn.LSTM(3, 4)\nold = nn.GRU(3, 4)\n" + loop("out, state = net(x, state)", "loss = f(out)", "loss.backward()"), None, spots=BACK, name="state"),
    Case("net(x, state)", loop("out, state = net(x, state)", "loss = f(out)", "loss.backward()"), None, spots=BACK),
]  # fmt: skip


@pytest.mark.parametrize("case", STATES, ids=lambda case: case.at)
def test_a_state_is_handed_on_without_its_history(case: Case) -> None:
    assert fixed("hidden-state-carried", case) == case.after


GAN = "g_opt = Adam(g.parameters())\nd_opt = Adam(d.parameters())\n"
TURN = (
    "fake = g(z)",
    "d_loss = f(d(x), d(fake))",
    "d_opt.zero_grad()",
    "d_loss.backward()",
    "d_opt.step()",
    "g_loss = f(d(fake))",
    "g_opt.zero_grad()",
    "g_loss.backward()",
    "g_opt.step()",
)
REUSED = [
    Case("scale.exp()", "w = scale.exp()\n" + loop("loss = f(x * w)", "loss.backward()"), loop("w = scale.exp()", "loss = f(x * w)", "loss.backward()"), spots=BACK),
    Case("net(\n    x0)", "w = net(\n    x0)\n" + loop("opt.zero_grad()", "loss = f(x * w)", "loss.backward()"), loop("opt.zero_grad()", "w = net(\n        x0)", "loss = f(x * w)", "loss.backward()"), spots=BACK),
    Case("net(x0)", "def fit():\n    out = net(x0)\n    def closure():\n        opt.zero_grad()\n        loss = f(out)\n        loss.backward()\n        return loss\n    opt.step(closure)\n",
         "def fit():\n    def closure():\n        opt.zero_grad()\n        out = net(x0)\n        loss = f(out)\n        loss.backward()\n        return loss\n    opt.step(closure)\n", spots=BACK),
    Case("scale.exp()", "w = scale.exp()\n" + loop("loss = f(x * w)", "loss.backward()") + "print(w)\n", None, spots=BACK),
    Case("scale.exp()", "w = scale.exp()\n" + loop("scale = f(x)", "loss = f(x * w)", "loss.backward()"), None, spots=BACK),
    Case("f(out)", "out = net(x0)\nloss = f(out)\n" + loop("opt.zero_grad()", "loss.backward()"), loop("opt.zero_grad()", "out = net(x0)", "loss = f(out)", "loss.backward()"), spots=BACK),
    Case("f(out)", "out = net(x0)\nprint(1)\nloss = f(out)\n" + loop("opt.zero_grad()", "loss.backward()"), None, spots=BACK),
    Case("a.backward()", loop("a.backward()", "b.backward()", "opt.step()"), loop("(a + b).backward()", "opt.step()"), spots={"surfaces": "b.backward()"}),
    Case("a.backward()", loop("a.backward()", "log(w.grad)", "b.backward()", "opt.step()"), loop("a.backward(retain_graph=True)", "log(w.grad)", "b.backward()", "opt.step()"), spots={"surfaces": "b.backward()"}),
    Case("a.backward()", loop("a.backward()", "opt.step()", "b.backward()", "opt.step()"), None, spots={"surfaces": "b.backward()"}),
    Case("torch.autograd.grad(loss, ws)", loop("gs = torch.autograd.grad(loss, ws)", "loss.backward()"), loop("gs = torch.autograd.grad(loss, ws, retain_graph=True)", "loss.backward()"), spots=BACK),
    Case("loss.backward()", function("for out in outs:", "    loss = f(out)", "    loss.backward()", "    log(loss)", "opt.step()"),
         function("total = 0", "for out in outs:", "    loss = f(out)", "    total = total + loss", "    log(loss)", "total.backward()", "opt.step()"), spots=BACK),
    Case("loss.backward()", function("for out in outs:", "    loss = f(out)", "    loss.backward()", "    opt.step()"), None, spots=BACK),
    Case("d(fake)", GAN + loop(*TURN), GAN + loop(*TURN).replace("d(x), d(fake)", "d(x), d(fake.detach())"), spots={"surfaces": "g_loss.backward()"}, name="fake"),
    Case("d(fake)", "opt = Adam(list(g.parameters()) + list(d.parameters()))\n" + loop(*TURN), None, spots={"surfaces": "g_loss.backward()"}, name="fake"),
    Case("torch.outer(s, self.f)", "class R(nn.Module):\n    def table(self, n):\n        if n not in self.kept:\n            self.kept[n] = torch.outer(s, self.f)\n        return self.kept[n]\n",
         "class R(nn.Module):\n    def table(self, n):\n        if self.training or n not in self.kept:\n            self.kept[n] = torch.outer(s, self.f)\n        return self.kept[n]\n"),
    Case("net(x)", function("with parametrize.cached():", "    for x in data:", "        loss = f(net(x))", "        loss.backward()"),
         function("for x in data:", "    with parametrize.cached():", "        loss = f(net(x))", "        loss.backward()"), spots=BACK),
]  # fmt: skip


@pytest.mark.parametrize("case", REUSED, ids=lambda case: case.at)
def test_a_graph_is_used_once(case: Case) -> None:
    assert fixed("freed-graph-reused", case) == case.after


STEPPED = {"stepped": "d_opt.step()", "surfaces": "g_loss.backward()"}
UPDATED = [
    Case("d_opt.step()", function("g_loss = score(d(fake))", "d_loss.backward(retain_graph=True)", "d_opt.step()", "g_loss.backward()", "g_opt.step()"),
         function("d_loss.backward(retain_graph=True)", "d_opt.step()", "g_loss = score(d(fake))", "g_loss.backward()", "g_opt.step()"), spots={**STEPPED, "saved": "d(fake)"}),
    Case("d_opt.step()", function("a, b = d(real), d(fake)", "d_loss = f(a, b)", "g_loss = -b.mean()", "d_loss.backward()", "d_opt.step()", "g_loss.backward()", "g_opt.step()"),
         function("a, b = d(real), d(fake)", "d_loss = f(a, b)", "d_loss.backward()", "d_opt.step()", "g_loss = -d(fake).mean()", "g_loss.backward()", "g_opt.step()"), spots={**STEPPED, "saved": "d(fake)"}),
    Case("d_opt.step()", function("d_loss.backward(retain_graph=True)", "d_opt.step()", "g_loss.backward()", "d_opt.step()"), function("d_loss.backward(retain_graph=True)", "g_loss.backward()", "d_opt.step()"), spots=STEPPED),
    Case("d_opt.step()", function("d_loss.backward(retain_graph=True)", "d_opt.step()", "g_loss.backward()"), function("d_loss.backward(retain_graph=True)", "g_loss.backward()", "d_opt.step()"), spots=STEPPED),
    # A loop over the losses: another steps.
    Case("opts[k].step()", loop("loss.backward(retain_graph=True)", "opts[k].step()", head="for k, loss in losses.items():"),
         loop("loss.backward(retain_graph=True)", head="for k, loss in losses.items():") + loop("opts[k].step()", head="for k, loss in losses.items():"),
         spots={"stepped": "opts[k].step()", "surfaces": "loss.backward(retain_graph=True)"}),
    Case("opt.step()", "ls = [f(x), g(x)]\n" + loop("loss.backward(retain_graph=True)", "opt.step()", head="for loss, opt in zip(ls, [a, b]):"),
         "ls = [f(x), g(x)]\n" + loop("loss.backward(retain_graph=True)", head="for loss, opt in zip(ls, [a, b]):") + loop("opt.step()", head="for loss, opt in zip(ls, [a, b]):"),
         spots={"stepped": "opt.step()", "surfaces": "loss.backward(retain_graph=True)"}),
    # What the loop goes through is used up; each turn computes its loss; the optimizer is found in the turn.
    Case("opt.step()", loop("loss.backward()", "opt.step()", head="for loss, opt in pairs:"), None, spots={"stepped": "opt.step()", "surfaces": "loss.backward()"}),
    Case("opt.step()", loop("f(z).backward()", "opt.step()", head="for f, opt in [(a, b), (c, d)]:"), None, spots={"stepped": "opt.step()", "surfaces": "f(z).backward()"}),
    Case("opt.step()", loop("opt = make(loss)", "loss.backward()", "opt.step()", head="for loss in [a, b]:"), None, spots={"stepped": "opt.step()", "surfaces": "loss.backward()"}),
    Case("d_opt.step()", function("g_loss = score(d(fake))", "log(g_loss)", "d_loss.backward()", "d_opt.step()", "g_loss.backward()", "g_opt.step()"), None, spots={**STEPPED, "saved": "d(fake)"}),
]  # fmt: skip


@pytest.mark.parametrize("case", UPDATED, ids=lambda case: case.before)
def test_weights_are_updated_after_the_passes_that_need_them(case: Case) -> None:
    assert fixed("weights-updated-before-backward", case) == case.after


COPIED = [
    Case("power[0]", "power, gap = net(x)\nreport = {'n': n, 'power': power[0], 'gap': gap[0]}\nbest = copy.deepcopy(report)\n",
         "power, gap = net(x)\nreport = {'n': n, 'power': power[0].detach(), 'gap': gap[0].detach()}\nbest = copy.deepcopy(report)\n"),
    Case("power[0]", "power, gap = net(x)\nreport = {'power': power[0]}\nloss = f(report['power'])\n", None),
    Case("nn.utils.weight_norm(nn.Conv1d(1, 1, 3))", "conv = nn.utils.weight_norm(nn.Conv1d(1, 1, 3))\n", "conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(1, 1, 3))\n"),
    Case("nn.utils.weight_norm(conv)", "conv = nn.utils.weight_norm(conv)\nnn.utils.remove_weight_norm(conv)\n", None),
    Case("self.fc(x)", function("self.features = self.fc(x)"), function("self.features = self.fc(x).detach()")),
    # Only the rest of the function reads it: the loss goes on through a local name.
    Case("self.fc(x)", function("self.features = self.fc(x)", "return self.features.mean()"), function("features = self.fc(x)", "self.features = features.detach()", "return features.mean()")),
    Case("self.fc(x)", function("self.features = self.fc(x)", "return self.features.mean()") + "penalty = net.features.abs().mean()\n", None),
    Case("self.fc(features)", function("features = x", "self.features = self.fc(features)", "return self.features.mean()"), None),
    Case("self.fc(x)", function("y = self.features", "self.features = self.fc(x)", "return self.features + y"), None),
]  # fmt: skip


@pytest.mark.parametrize("case", COPIED, ids=lambda case: case.before)
def test_what_is_copied_has_no_graph(case: Case) -> None:
    assert fixed("computed-tensor-kept", case) == case.after


def test_detached_into_a_new_tensor() -> None:
    case = Case(
        "h.detach_()",
        function("h = x.view(6)", "h.detach_()", "return h"),
        function("h = x.view(6)", "h = h.detach()", "return h"),
    )
    assert fixed("detach-inplace", case) == case.after
