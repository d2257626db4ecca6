"""Remedies of the training step: the program before, the place of the fault, and the program after."""

# Programs read better on one line than broken.
# ruff: noqa: E501

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from gradwhy.findings import Argument, Code, Evidence
from gradwhy.source import edits
from gradwhy.source.text import SourceText
from gradwhy.static import remedy
from gradwhy.static.remedy import Fault, Spot


def node_of(source: SourceText, text: str) -> ast.AST:
    assert source.tree is not None
    nodes = [n for n in ast.walk(source.tree) if isinstance(n, (ast.expr, ast.stmt)) and not isinstance(n, ast.Expr)]
    return next(n for n in nodes if source.segment(n) == text)


def after(
    cause: str, program: str, at: str, headline: str = "headline", args: Mapping[str, Argument] | None = None,
    evidence: tuple[Evidence, ...] = (), **spots: str,
) -> str | None:  # fmt: skip
    """The program with the first fix made, None where no edit is offered; ``spots`` are the stations by their text."""
    source = SourceText("train.py", program)
    fault = Fault(
        cause=cause, file="train.py", source=source, node=node_of(source, at), headline=headline, args=args or {},
        evidence=evidence, spots={_role(role): (Spot("train.py", source, node_of(source, text)),) for role, text in spots.items()},
    )  # fmt: skip
    fix = next(iter(remedy.fixes(fault)), None)
    return edits.apply(program, fix.edits) if fix is not None else None


def _role(name: str) -> str:
    """Names of stations have dashes: ``froze_of_`` stands for "froze-of"."""
    return name.removesuffix("_").replace("_", "-") if name.endswith("_") else name


LOOP = "for x in data:\n{}"
ZERO_GRAD = [
    # The pass and the step in one block.
    ("    loss.backward()\n    opt.step()\n", "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"),
    ("    scaler.scale(loss).backward()\n    scaler.step(opt)  # now\n", "    opt.zero_grad()\n    scaler.scale(loss).backward()\n    scaler.step(opt)  # now\n"),
    # Several passes for one step: before the first.
    ("    a.backward()\n    b.backward()\n    opt.step()\n", "    opt.zero_grad()\n    a.backward()\n    b.backward()\n    opt.step()\n"),
    ("    for y in x:\n        f(y).backward()\n    opt.step()\n", "    opt.zero_grad()\n    for y in x:\n        f(y).backward()\n    opt.step()\n"),
    # It is there, where another loss has filled the gradients since: it moves.
    ("    loss.backward()\n    opt.step()\n    opt.zero_grad()\n", "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"),
    # One step in several passes: after it.
    ("    loss.backward()\n    if (i + 1) % 4 == 0:\n        opt.step()\n", "    loss.backward()\n    if (i + 1) % 4 == 0:\n        opt.step()\n        opt.zero_grad()\n"),
    # A scheduler is no optimizer.
    ("    a.backward()\n    lr.step()\n    b.backward()\n    opt.step()\n", "    opt.zero_grad()\n    a.backward()\n    lr.step()\n    b.backward()\n    opt.step()\n"),
    # Two statements on a line; a step under another condition; an optimizer made in between.
    ("    loss.backward(); opt.step()\n", None),
    ("    loss.backward()\n    if norm < 9:\n        opt.step()\n", None),
    ("    loss.backward()\n    opt = make()\n    opt.step()\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "expected"), ZERO_GRAD)
def test_gradients_are_cleared_before_the_pass_of_the_step(before: str, expected: str | None) -> None:
    program = LOOP.format(before)
    step = "scaler.step(opt)" if "scaler" in before else "opt.step()"
    backward = next(line.strip().split(";")[0] for line in before.split("\n") if "backward" in line)
    result = after("missing-zero_grad", program, backward, added=backward, stepped=step)
    assert result == (LOOP.format(expected) if expected is not None else None)


def test_a_closure_clears_the_gradients_of_the_optimizer_that_calls_it() -> None:
    closure = (
        "def fit(opt):\n    def again():\n        loss = f()\n        loss.backward()\n        return loss\n    {}\n"
    )
    cleared = closure.replace("        loss.backward", "        opt.zero_grad()\n        loss.backward")
    facts = {"headline": "headline-closure", "added": "loss.backward()"}
    program = closure.format("opt.step(again)")
    assert after("missing-zero_grad", program, "loss.backward()", **facts) == cleared.format("opt.step(again)")
    assert after("missing-zero_grad", closure.format("run(again)"), "loss.backward()", **facts) is None


CLEARED = [
    ("headline-audit", "opt.zero_grad()", "    loss.backward()\n    opt.zero_grad()\n    opt.step()\n", "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"),
    ("headline-audit", "opt.zero_grad()", "    a.backward()\n    b.backward()\n    opt.zero_grad()\n    opt.step()\n", "    opt.zero_grad()\n    a.backward()\n    b.backward()\n    opt.step()\n"),
    ("headline-audit", "net.zero_grad()", "    loss.backward()\n    if last:\n        net.zero_grad()\n        opt.step()\n", "    loss.backward()\n    if last:\n        opt.step()\n        net.zero_grad()\n"),
    ("headline-audit", "opt.zero_grad()", "    loss.backward()\n    if last: opt.zero_grad(); opt.step()\n", None),
    ("headline", "opt.zero_grad()", "    opt.zero_grad()\n    loss = f(x)\n    opt.step()\n    loss.backward()\n", "    opt.zero_grad()\n    loss = f(x)\n    loss.backward()\n    opt.step()\n"),
    ("headline-step-early", "opt.step()", "    opt.zero_grad()\n    opt.step()\n    loss.backward()\n", "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"),
    ("headline-step-early", "opt.step()", "    opt.step()\n    loss.backward()\n    clip_grad_norm_(ps, 1)\n    log()\n", "    loss.backward()\n    clip_grad_norm_(ps, 1)\n    opt.step()\n    log()\n"),
    ("headline-within", "opt.zero_grad()", "    opt.zero_grad()\n    loss.backward()\n    if i % 4 == 3:\n        opt.step()\n", "    loss.backward()\n    if i % 4 == 3:\n        opt.step()\n        opt.zero_grad()\n"),
    ("headline-within", "opt.zero_grad()", "    for y in x:\n        opt.zero_grad()\n        f(y).backward()\n    opt.step()\n", "    opt.zero_grad()\n    for y in x:\n        f(y).backward()\n    opt.step()\n"),
    # A step somewhere else.
    ("headline-within", "opt.zero_grad()", "    opt.zero_grad()\n    loss.backward()\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("headline", "at", "before", "expected"), CLEARED)
def test_clearing_or_stepping_moves_to_its_place(headline: str, at: str, before: str, expected: str | None) -> None:
    result = after("gradients-cleared", LOOP.format(before), at, headline)
    assert result == (LOOP.format(expected) if expected is not None else None)


CLIP = "clip_grad_norm_(ps, 1.0)"
CLIPPED = [
    ("headline-late", "    loss.backward()\n    opt.step()\n    CLIP\n", "    loss.backward()\n    CLIP\n    opt.step()\n"),
    ("headline-early", "    CLIP\n    loss.backward()\n    opt.step()\n", "    loss.backward()\n    CLIP\n    opt.step()\n"),
    ("headline-scaled", "    loss.backward()\n    CLIP\n    sc.scaler.step(opt)\n", "    loss.backward()\n    sc.scaler.unscale_(opt)\n    CLIP\n    sc.scaler.step(opt)\n"),
    # What is clipped isn't there yet; the step is elsewhere.
    ("headline-late", "    opt.step()\n    ps = list(net.parameters())\n    CLIP\n", None),
    ("headline-scaled", "    loss.backward()\n    CLIP\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("headline", "before", "expected"), CLIPPED)
def test_clipping_between_the_pass_and_the_step(headline: str, before: str, expected: str | None) -> None:
    program = LOOP.format(before.replace("CLIP", CLIP))
    spots = {"filled": "loss.backward()"} if headline == "headline-early" else {}
    result = after("clip-misplaced", program, CLIP, headline, **spots)
    assert result == (LOOP.format(expected.replace("CLIP", CLIP)) if expected is not None else None)


def test_a_method_that_clips_too_early_is_called_where_the_gradients_are() -> None:
    program = "class Net:\n    def loss(self, x):\n        out = self(x)\n        self.limit()\n        return out\n\ndef fit(net):\n    value = net.loss(x)\n    value.backward()\n    opt.step()\n"
    result = after("clip-misplaced", program, "self.limit()", "headline-early", filled="value.backward()")
    assert result == program.replace("        self.limit()\n", "").replace("opt.step", "net.limit()\n    opt.step")
    local = program.replace("self.limit()", "self.limit(out)")
    assert after("clip-misplaced", local, "self.limit(out)", "headline-early", filled="value.backward()") is None


SCALED = "scaler.scale(loss).backward()\nopt.step()\n"


def test_the_step_goes_through_the_scaler() -> None:
    through = "scaler.scale(loss).backward()\nscaler.step(opt)\n"
    assert after("scaler-bypassed", SCALED, "opt.step()", "headline-audit") == through + "scaler.update()\n"
    updated = SCALED + "scaler.update()\n"
    assert after("scaler-bypassed", updated, "opt.step()", "headline-step") == through + "scaler.update()\n"
    assert after("scaler-bypassed", "loss.backward()\nopt.step()\n", "opt.step()", "headline-audit") is None
    past = "loss.backward()\nscaler.step(opt)\nscaler.update()\n"
    assert after("scaler-bypassed", past, "loss.backward()", "headline-backward") == past.replace(
        "loss.", "scaler.scale(loss)."
    )


def test_the_scaler_is_updated_before_the_way_out_and_after_its_steps() -> None:
    facts: dict[str, Argument] = {"scaler": Code("scaler")}
    skipped = (
        "def f():\n    scaler.unscale_(opt)\n    if bad:\n        return 0\n    scaler.step(opt)\n    scaler.update()\n"
    )
    result = after("scaler-update-missing", skipped, "return 0", "headline-skipped", facts)
    assert result == skipped.replace("        return", "        scaler.update()\n        return")
    two = "for x in d:\n    scaler.step(a)\n    scaler.step(b)\n    log()\n"
    result = after("scaler-update-missing", two, "scaler.step(a)", "headline", facts)
    assert result == two.replace("    log", "    scaler.update()\n    log")


EVALUATED = [
    ("def f(net):\n    net.eval()\n    with torch.no_grad():\n        s = score(net)\n    return s\n", "def f(net):\n    net.eval()\n    with torch.no_grad():\n        s = score(net)\n    net.train()\n    return s\n"),
    ("def f(net):\n    net.eval()\n    print(score(net))\n", "def f(net):\n    net.eval()\n    print(score(net))\n    net.train()\n"),
    ("def f(net):\n\tnet.eval()\n\treturn net(x).mean()\n", "def f(net):\n\tnet.eval()\n\tresult = net(x).mean()\n\tnet.train()\n\treturn result\n"),
    ("for i in n:\n    l(net).backward()\n    if i % 9 == 0:\n        net.eval()\n        show(net)\n", "for i in n:\n    l(net).backward()\n    if i % 9 == 0:\n        net.eval()\n        show(net)\n        net.train()\n"),
    ("for e in n:\n    for x in d:\n        l(net, x).backward()\n    net.eval()\n    show(net)\n", "for e in n:\n    net.train()\n    for x in d:\n        l(net, x).backward()\n    net.eval()\n    show(net)\n"),
    # Several ways out; a loop that trains in evaluation mode on purpose, as far as the source shows.
    ("def f(net):\n    net.eval()\n    if done:\n        return 0\n    return score(net)\n", None),
    ("net.eval()\nfor x in d:\n    l(net, x).backward()\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "expected"), EVALUATED)
def test_training_mode_comes_back_when_the_evaluation_is_over(before: str, expected: str | None) -> None:
    assert after("eval-decorated", before, "net.eval()") == expected
    assert after("state-changed", before, "net.eval()") == expected


MADE = "opt = SGD(net.parameters(), lr=0.1)"
STALE = [
    (f"{MADE}\nnet.head = Linear(4, 2)\nfit(net, opt)\n", f"net.head = Linear(4, 2)\n{MADE}\nfit(net, opt)\n"),
    (f"{MADE}  # all\nsched = StepLR(opt, 3)\nnet = adapt(net)\nnet.train()\nfit(net, opt, sched)\n", f"net = adapt(net)\n{MADE}  # all\nsched = StepLR(opt, 3)\nnet.train()\nfit(net, opt, sched)\n"),
    (f"{MADE}\nfor c in n:\n    net = copy.deepcopy(best)\n    fit(net, opt)\n", f"{MADE}\nfor c in n:\n    net.load_state_dict(best.state_dict())\n    fit(net, opt)\n"),
    (f"{MADE}\nnet.load_state_dict(kept, assign=True)\nfit(net, opt)\n", f"{MADE}\nnet.load_state_dict(kept, assign=False)\nfit(net, opt)\n"),
    (f"class Net:\n    def grow(self):\n        self.out = Linear(4, 2)\n{MADE}\nfor c in n:\n    net.grow()\n    fit(net, opt)\n", f"class Net:\n    def grow(self):\n        self.out = Linear(4, 2)\n{MADE}\nfor c in n:\n    net.grow()\n    {MADE}\n    fit(net, opt)\n"),
    # The optimizer has been used before; nothing that changes the model is in sight.
    (f"{MADE}\nfit(net, opt)\nnet.head = Linear(4, 2)\nfit(net, opt)\n", None),
    (f"{MADE}\nnet.train()\nfit(net, opt)\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "expected"), STALE)
def test_the_optimizer_holds_what_the_model_has(before: str, expected: str | None) -> None:
    assert after("stale-optimizer", before, "SGD(net.parameters(), lr=0.1)", "headline-audit") == expected


SPREAD = [
    ("def cost(p, y):\n    return (p - y).abs().mean()\nout = net(x)\nloss = cost(out, y)\n", "out = net(x).squeeze(-1)"),
    ("class Net:\n    def forward(self, x):\n        a = self.f(x)\n        return a, self.g(x)\nnet = Net()\np, q = net(x)\nloss = (p - y).abs().mean()\n", "a = self.f(x).squeeze(-1)"),
    ("p = net(x)\nloss = -(y * p.log() + (1 - y) * (1 - p).log()).mean()\n", "p = net(x).squeeze(-1)"),
    # Another tensor in the statement; two callers; a use that wants the shape as it is.
    ("p = net(x)\nloss = ((p - y) / scale).mean()\n", None),
    ("def cost(p, y):\n    return (p - y).abs().mean()\na = cost(net(x), y)\nb = cost(net(z), y)\n", None),
    ("p = net(x)\nloss = (p - y).mean()\nbest = p[:, 0]\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("program", "expected"), SPREAD)
def test_a_dimension_of_one_goes_where_the_value_is_made(program: str, expected: str | None) -> None:
    at = "y * p.log()" if "log" in program else "p - y"
    shapes: dict[str, Argument] = {"left": "(8, 1)", "right": "(8,)"}
    if "log" in program:
        shapes = {"left": "(8,)", "right": "(8, 1)"}
    result = after("shape-broadcast", program, at, "headline-spread", shapes)
    assert result is None if expected is None else result is not None and expected in result


REDUCED = [
    ("loss = (a - b) ** 2\nloss.backward()\n", "(a - b) ** 2", "loss = ((a - b) ** 2).mean()\nloss.backward()\n"),
    ("loss = f(a)\nloss.backward()\nkept.append(loss.item())\n", "f(a)", "loss = f(a).mean()\nloss.backward()\nkept.append(loss.item())\n"),
    ("g, = torch.autograd.grad(u, x)\n", "torch.autograd.grad(u, x)", "g, = torch.autograd.grad(u.sum(), x)\n"),
    # Each value is used for something besides; the function has another caller.
    ("loss = f(a)\nrank = loss.argsort()\nloss.backward()\n", "f(a)", None),
    ("def f(a):\n    return a * a\nf(x).backward()\nshow(f(z))\n", "a * a", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "at", "expected"), REDUCED)
def test_a_loss_is_reduced_where_it_is_computed(before: str, at: str, expected: str | None) -> None:
    assert after("reduction-missing", before, at, made=at) == expected


def test_a_criterion_that_is_called_once_reduces_by_itself() -> None:
    program = 'crit = nn.MSELoss(reduction="none")\nloss = crit(a, b)\n{}loss.backward()\n'
    at = 'nn.MSELoss(reduction="none")'
    facts = {"asked": at, "made": "crit(a, b)"}
    result = after("reduction-missing", program.format(""), at, **facts)
    assert result == program.format("").replace("none", "mean")
    assert after("reduction-missing", program.format("w = loss * 2\n"), at, **facts) is None


PER_ELEMENT = [
    # The values are weighted first: the mean is taken where the loss is bound.
    ("errors = f()\nloss = errors * w\nloss.backward()\n", "errors = f()\nloss = (errors * w).mean()\nloss.backward()\n"),
    ("errors = f()\nloss = errors * w\nloss.backward()\nrank = loss.argsort()\n", None),
    # Nothing else is done with them.
    ("loss = f()\nloss.backward()\n", "mean"),
    ("f().backward()\n", "mean"),
]  # fmt: skip


@pytest.mark.parametrize(("use", "expected"), PER_ELEMENT)
def test_a_function_gives_the_loss_of_each_element(use: str, expected: str | None) -> None:
    program = 'crit = nn.MSELoss(reduction="none")\ndef f():\n    return crit(a, b)\n'
    surface = "loss.backward()" if "loss.backward()" in use else "f().backward()"
    at = 'nn.MSELoss(reduction="none")'
    result = after("reduction-missing", program + use, at, asked=at, made="crit(a, b)", surfaces=surface)
    assert result == (program.replace("none", "mean") + use if expected == "mean" else expected and program + expected)


SHAPED = [
    ("one = torch.ones(1, device=d)\nloss.backward(one)\n", "torch.ones(1, device=d)", "[1]", "[]", "one = torch.tensor(1.0, device=d)\nloss.backward(one)\n"),
    ("one = torch.FloatTensor([-1])\nloss.backward(one)\n", "torch.FloatTensor([-1])", "[1]", "[]", "one = torch.tensor(-1.0)\nloss.backward(one)\n"),
    ("one = torch.ones(9, 1)\nloss.backward(one)\n", "one", "[9, 1]", "[4, 1]", "one = torch.ones(9, 1)\nloss.backward(torch.ones_like(loss))\n"),
    # Weights that are not all one.
    ("one = torch.rand(9, 1)\nloss.backward(one)\n", "one", "[9, 1]", "[4, 1]", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "at", "got", "want", "expected"), SHAPED)
def test_the_gradient_is_passed_in_the_shape_of_the_output(
    before: str, at: str, got: str, want: str, expected: str | None
) -> None:
    facts: dict[str, Argument] = {"got": got, "want": want}
    assert after("grad-argument-shape", before, at, args=facts, used="loss.backward(one)") == expected


ROUNDED = [
    ("y = torch.round(x)\n", "torch.round(x)", "y = x + (torch.round(x) - x).detach()\n"),
    ("y = (x / s).floor() * s\n", "(x / s).floor()", "y = (x / s + ((x / s).floor() - (x / s)).detach()) * s\n"),
    ("y = f(x).sign()\n", "f(x).sign()", "value = f(x)\ny = value + (value.sign() - value).detach()\n"),
    ("y = h + (s - h).detach()\n", "h + (s - h).detach()", "y = s + (h - s).detach()\n"),
    ('y = F.grid_sample(i, g, mode="nearest")\n', 'F.grid_sample(i, g, mode="nearest")', 'y = F.grid_sample(i, g, mode="bilinear")\n'),
    # Not a whole statement: what is rounded would be computed twice.
    ("y = 2 * f(x).sign()\n", "f(x).sign()", None),
    ("y = F.grid_sample(i, g, mode=m)\n", "F.grid_sample(i, g, mode=m)", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "at", "expected"), ROUNDED)
def test_the_gradient_passes_a_step_function(before: str, at: str, expected: str | None) -> None:
    assert after("rounding", before, at, "headline-zero") == expected


ELSEWHERE = [
    # (cause, before, at, after)
    ("half-precision-parameter", "p = nn.Parameter(torch.zeros(3, dtype=torch.float16))\n", "nn.Parameter(torch.zeros(3, dtype=torch.float16))", "p = nn.Parameter(torch.zeros(3, dtype=torch.float32))\n"),
    ("half-precision-parameter", "class A(nn.Module):\n    def __init__(self, dtype=torch.half):\n        self.p = make(dtype=dtype)\n", "make(dtype=dtype)", "class A(nn.Module):\n    def __init__(self, dtype=torch.float32):\n        self.p = make(dtype=dtype)\n"),
    ("half-precision-parameter", "net = Net().half()\n", "Net().half()", "net = Net()\n"),
    ("half-precision-parameter", "class A:\n    def __init__(self, dtype=torch.half):\n        self.p = make(dtype=dtype)\nA(dtype=kind)\n", "make(dtype=dtype)", None),
    ("collective-not-recorded", "dist.all_gather(parts, x.contiguous())\nuse(parts)\n", "dist.all_gather(parts, x.contiguous())", "dist.all_gather(parts, x.contiguous())\nparts[dist.get_rank()] = x\nuse(parts)\n"),
    ("collective-not-recorded", "dist.all_gather(parts, f(x))\n", "dist.all_gather(parts, f(x))", None),
    ("collective-not-recorded", "work = dist.all_gather(parts, x, async_op=True)\n", "dist.all_gather(parts, x, async_op=True)", None),
    ("random-in-checkpoint", "import torch\nif random.random() < p:\n    skip()\n", "random.random()", "import torch\nif torch.rand(()).item() < p:\n    skip()\n"),
    ("random-in-checkpoint", "import torch\nk = random.randint(0, n)\n", "random.randint(0, n)", "import torch\nk = torch.randint(0, n + 1, ()).item()\n"),
    ("random-in-checkpoint", "k = random.random()\n", "random.random()", None),
    ("zero-initialized", "p = nn.Parameter(torch.zeros(n, r))\n", "torch.zeros(n, r)", "p = nn.Parameter(torch.randn(n, r) * 0.02)\n"),
    ("zero-initialized", "def zeroed(m):\n    for p in m.parameters():\n        nn.init.zeros_(p)\n    return m\na = zeroed(nn.Linear(2, 3))\n", "zeroed(nn.Linear(2, 3))", "def zeroed(m):\n    for p in m.parameters():\n        nn.init.zeros_(p)\n    return m\na = nn.Linear(2, 3)\n"),
    ("zero-initialized", "def other(m):\n    wrap(m)\n    return m\na = other(nn.Linear(2, 3))\n", "other(nn.Linear(2, 3))", None),
    ("derivative-cancels", "r = r - q\n", "r - q", "r = r - q.detach()\n"),
    ("derivative-cancels", "d = a - b\n", "a - b", None),
    ("where-nan", "y = torch.where(x > 0, x.sqrt(), 0.0)\n", "torch.where(x > 0, x.sqrt(), 0.0)", "y = torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0)\n"),
    ("where-nan", "y = torch.where(bad, zero, torch.log(a + b))\n", "torch.where(bad, zero, torch.log(a + b))", "y = torch.where(bad, zero, torch.log(torch.where(bad, 1.0, a + b)))\n"),
    ("where-nan", "y = torch.where(n > 0, s / n, 0.0)\n", "torch.where(n > 0, s / n, 0.0)", "y = torch.where(n > 0, s / torch.where(n > 0, n, 1.0), 0.0)\n"),
    ("where-nan", "y = x.log().masked_fill(x == 0, 0.0)\n", "x.log().masked_fill(x == 0, 0.0)", "y = x.masked_fill(x == 0, 1.0).log().masked_fill(x == 0, 0.0)\n"),
    # What has no finite slope is somewhere else, or in two places.
    ("where-nan", "y = torch.where(x > 0, f(x), 0.0)\n", "torch.where(x > 0, f(x), 0.0)", None),
    ("where-nan", "y = torch.where(x > 0, x.log(), (-x).log())\n", "torch.where(x > 0, x.log(), (-x).log())", None),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "before", "at", "expected"), ELSEWHERE)
def test_numbers_and_wrappers(cause: str, before: str, at: str, expected: str | None) -> None:
    assert after(cause, before, at) == expected


def test_zero_times_a_logarithm_of_zero_counts_as_zero() -> None:
    result = after("log-of-zero", "h = torch.exp(lp) * lp\n", "torch.exp(lp) * lp", "headline-product")
    assert result == "h = torch.exp(lp) * lp.masked_fill(lp.isneginf(), 0.0)\n"
    assert after("log-of-zero", "h = p * lp\n", "p * lp", "headline-product") is None


def test_the_mask_of_a_hook_is_assigned() -> None:
    program = "mask = torch.zeros(n, 1)\nmask[first:] == 1\nw.register_hook(lambda g: g * mask)\n"
    at = "w.register_hook(lambda g: g * mask)"
    assert after("hook-return", program, at, "headline-zero") == program.replace("==", "=")
    assert (
        after("hook-return", program.replace("g * mask", "g * 0"), at.replace("g * mask", "g * 0"), "headline-zero")
        is None
    )


def test_unscaling_comes_between_the_pass_and_the_step() -> None:
    early = LOOP.format("    s.unscale_(opt)\n    loss.backward()\n    s.step(opt)\n")
    right = LOOP.format("    loss.backward()\n    s.unscale_(opt)\n    s.step(opt)\n")
    assert after("scaler-call-misplaced", early, "s.unscale_(opt)", "headline-early") == right
    late = LOOP.format("    loss.backward()\n    scaler.step(opt)\n    scaler.unscale_(opt)\n")
    expected = LOOP.format("    loss.backward()\n    scaler.unscale_(opt)\n    scaler.step(opt)\n")
    assert after("scaler-call-misplaced", late, "scaler.unscale_(opt)", "headline-late") == expected


def test_ddp_looks_for_what_a_step_does_not_use() -> None:
    program = "model = DDP(Net())\nif epoch > 3:\n    loss = loss + extra\n"
    result = after("module-unused", program, "epoch > 3", "headline-conditional", wrapped="model = DDP(Net())")
    assert result == program.replace("Net()", "Net(), find_unused_parameters=True")
    assert after("module-unused", program, "epoch > 3", "headline-module", wrapped="model = DDP(Net())") is None


@pytest.mark.parametrize(
    ("part", "train", "added"),
    [
        ("model.body", "model.train()", "model.body.eval()"),
        ("model.body.1.bn", "model.train(True)", "model.body[1].bn.eval()"),
        ("model.body", "self.model.train()", "self.model.body.eval()"),
        # Another name for it, or all of it.
        ("model.body", "network.train()", None),
        ("model", "model.train()", None),
    ],
)
def test_a_frozen_part_is_put_back_into_evaluation_mode(part: str, train: str, added: str | None) -> None:
    program = f"for epoch in range(3):\n    {train}  # on\n    run()\n"
    found = after("frozen-part", program, train, "headline-statistics", {"part": Code(part)})
    assert found == (f"for epoch in range(3):\n    {train}  # on\n    {added}\n    run()\n" if added else None)


def test_a_part_that_is_frozen_later_follows_its_flag() -> None:
    args: dict[str, Argument] = {"part": Code("model.body"), "shared": True}
    found = after("frozen-part", "model.train()\n", "model.train()", "headline-statistics", args)
    assert found == "model.train()\nmodel.body.train(next(model.body.parameters()).requires_grad)\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("SGD(net.parameters(), lr=0.1, weight_decay=decay)", "SGD(net.parameters(), lr=0.1, weight_decay=0.0)"),
        ("AdamW(net.parameters())", "AdamW(net.parameters(), weight_decay=0.0)"),
        ("SGD([{'params': a, 'weight_decay': 1e-4}, {'params': b, 'weight_decay': 0}], lr=0.1)",
         "SGD([{'params': a, 'weight_decay': 0.0}, {'params': b, 'weight_decay': 0}], lr=0.1)"),
        ("SGD(net.parameters(), **options)", None),
        ("SGD([{'params': a, 'weight_decay': 1e-4}, {'params': b, 'weight_decay': 1e-3}], lr=0.1)", None),
    ],
)  # fmt: skip
def test_weight_decay_is_taken_from_an_optimizer_of_masked_values(before: str, expected: str | None) -> None:
    found = after("masked-gradient-moved", f"opt = {before}\n", before, "headline-decay")
    assert found == (f"opt = {expected}\n" if expected else None)


@pytest.mark.parametrize("freeze", ["self.toggle(opt)", "for p in gen.parameters():\n    p.requires_grad = False"])
def test_a_forward_pass_moves_above_the_freeze(freeze: str) -> None:
    program = f"z = noise()\n{freeze}\nreal = data()\nfake = gen(\n    z\n)\nuse(fake)\n"
    found = after("frozen-part", program, "gen(\n    z\n)", froze_of_=freeze.splitlines()[-1].strip())
    assert found == f"z = noise()\nfake = gen(\n    z\n)\n{freeze}\nreal = data()\nuse(fake)\n"


def test_a_forward_pass_that_needs_what_comes_after_the_freeze_stays() -> None:
    program = "self.toggle(opt)\nz = noise()\nfake = gen(z)\n"
    assert after("frozen-part", program, "gen(z)", froze_of_="self.toggle(opt)") is None
