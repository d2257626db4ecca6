"""Remedies: the program before, the expression at fault, and the program after."""

# Programs read better on one line than broken.
# ruff: noqa: E501

from __future__ import annotations

import ast
from typing import Any

import pytest

from gradwhy.source import edits
from gradwhy.source.text import SourceText
from gradwhy.static import remedy
from gradwhy.static.remedy import Fault, Value


def found(source: SourceText, text: str, kind: type[ast.AST] = ast.expr) -> ast.AST:
    assert source.tree is not None
    return next(n for n in ast.walk(source.tree) if isinstance(n, kind) and source.segment(n) == text)


def after(cause: str, program: str, at: str, **facts: Any) -> str | None:
    """The program with the first fix made, None where no edit is offered."""
    source = SourceText("train.py", program)
    calls = {key: found(source, facts.pop(key), ast.Call) for key in ("loss_call", "rebuild") if key in facts}
    fault = Fault(cause=cause, file="train.py", source=source, node=found(source, at), **calls, **facts)
    fix = next(iter(remedy.fixes(fault)), None)
    return edits.apply(program, fix.edits) if fix is not None else None


LEFT_OUT = [
    ("detach", "y = net(x).detach().mean()\n", "net(x).detach()", "y = net(x).mean()\n"),
    ("detach", "y = (w * 2).detach().sum()\n", "(w * 2).detach()", "y = (w * 2).sum()\n"),
    ("detach", "y = (w * 2).detach()\n", "(w * 2).detach()", "y = w * 2\n"),
    ("detach", "y = 2 * (w - v).detach()\n", "(w - v).detach()", "y = 2 * (w - v)\n"),
    ("detach", "y = f((w - v).detach(), 1)\n", "(w - v).detach()", "y = f(w - v, 1)\n"),
    ("detach", "y = (\n    w\n    - v\n).detach()\n", "(\n    w\n    - v\n).detach()", "y = (w\n    - v)\n"),
    ("data-attribute", "y = 3 ** (-w).data\n", "(-w).data", "y = 3 ** (-w)\n"),
    ("detach", "y = torch.detach(net(x))\n", "torch.detach(net(x))", "y = net(x)\n"),
    ("data-attribute", "y = torch.stack(s, dim=1).data  # out\n", "torch.stack(s, dim=1).data", "y = torch.stack(s, dim=1)  # out\n"),
    ("data-attribute", "def cut(z):\n    return [Variable(s.data) for s in z]\n", "s.data", None),
    ("detach", "def plain(x):\n    return x.detach()\n", "x.detach()", None),
    ("detach", "def f(x):\n    return net(x).detach()\n", "net(x).detach()", "def f(x):\n    return net(x)\n"),
    ("data-attribute", "y = [Variable(s.data) for s in z]\n", "s.data", "y = [s for s in z]\n"),
    ("data-attribute", "y = Variable(s.data, requires_grad=True)\n", "s.data", "y = Variable(s, requires_grad=True)\n"),
    ("grad-mode-left-off", "def f():\n    torch.set_grad_enabled(False)\n    yield\n", "torch.set_grad_enabled(False)", None),
    ("create_graph-missing", "g, = torch.autograd.grad(y, x)\n", "torch.autograd.grad(y, x)", "g, = torch.autograd.grad(y, x, create_graph=True)\n"),
    ("create_graph-missing", "l.backward(create_graph=False)\n", "l.backward(create_graph=False)", "l.backward(create_graph=True)\n"),
    ("create_graph-missing", "l.backward()\n", "l.backward()", "l.backward(create_graph=True)\n"),
    ("requires_grad-missing", "w = torch.randn(3, 1)\n", "torch.randn(3, 1)", "w = torch.randn(3, 1, requires_grad=True)\n"),
    ("frozen-all", "for p in head:\n    p.require_grad = True\n", "p.require_grad", "for p in head:\n    p.requires_grad = True\n"),
    ("frozen-all", "net.fc.requires_grad = True\n", "net.fc.requires_grad", "net.fc.requires_grad_(True)\n"),
    ("tensor-rebuild", "l = torch.tensor([a, b]).sum()\n", "torch.tensor([a, b])", "l = torch.stack([a, b]).sum()\n"),
    ("tensor-rebuild", "l = torch.tensor(a + b)\n", "torch.tensor(a + b)", "l = (a + b)\n"),
    ("tensor-rebuild", "l = a.new_tensor([a, b]).sum()\n", "a.new_tensor([a, b])", "l = torch.stack([a, b]).sum()\n"),
    ("tensor-rebuild", "l = torch.tensor([[a], [b]])\n", "torch.tensor([[a], [b]])", None),
    ("comparison", "l = (p > 0.5).float()\n", "p > 0.5", None),
    ("frozen-in-optimizer", "o = Adam(m.parameters(), lr=1)\n", "Adam(m.parameters(), lr=1)", "o = Adam([p for p in m.parameters() if p.requires_grad], lr=1)\n"),
    ("frozen-in-optimizer", "o = Adam(params=m.parameters())\n", "Adam(params=m.parameters())", "o = Adam(params=[p for p in m.parameters() if p.requires_grad])\n"),
    ("frozen-in-optimizer", "o = Adam(m.parameters())\nm.a.requires_grad_()\n", "Adam(m.parameters())", None),
    ("frozen-in-optimizer", "def thaw():\n    m.a.requires_grad_(True)\no = Adam(m.parameters())\nthaw()\n", "Adam(m.parameters())", None),
    ("frozen-in-optimizer", "def make():\n    m.a.requires_grad = True\nm = make()\no = Adam(m.parameters())\n", "Adam(m.parameters())", "def make():\n    m.a.requires_grad = True\nm = make()\no = Adam([p for p in m.parameters() if p.requires_grad])\n"),
    ("frozen-in-optimizer", "o = Adam(params)\n", "Adam(params)", None),
    ("head-replaced", "for p in m.fc.parameters():\n    p.requires_grad = True\nm.fc = L()\n", "p.requires_grad", "m.fc = L()\n"),
    ("head-replaced", "if a:\n    m.fc.requires_grad_(True)\nm.fc = L()\n", "m.fc.requires_grad_(True)", None),
    ("head-replaced", "for p in q:\n    p.requires_grad = True\n    n += 1\nm.fc = L()\n", "p.requires_grad", "for p in q:\n    n += 1\nm.fc = L()\n"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "before", "at", "expected"), LEFT_OUT)
def test_left_out_or_added(cause: str, before: str, at: str, expected: str | None) -> None:
    assert after(cause, before, at) == expected


ARGMAX = "out = net(x)\npred = out.argmax(1)\nloss = criterion(pred.float(), y)\n"


def logits(shape: tuple[int, ...]) -> Value:
    return Value(text="out", shape=shape, dtype="float32")


def test_the_raw_output_in_the_shape_of_the_target() -> None:
    facts: dict[str, Any] = {"loss_call": "criterion(pred.float(), y)", "target": Value(text="y", shape=(8,))}
    single = after(
        "argmax", ARGMAX, "out.argmax(1)", given=logits((8, 1)), made=Value(text="pred", shape=(8,)), **facts
    )
    assert single == "out = net(x)\nloss = criterion(out.squeeze(1), y)\n"
    several = after(
        "argmax", ARGMAX, "out.argmax(1)", given=logits((8, 5)), made=Value(text="pred", shape=(8,)), **facts
    )
    assert several is None, "five outputs don't fit one target"


def test_the_raw_output_bare_for_cross_entropy() -> None:
    program = ARGMAX.replace("criterion", "F.cross_entropy") + "print(pred)\n"
    result = after(
        "argmax",
        program,
        "out.argmax(1)",
        given=logits((8, 5)),
        loss_call="F.cross_entropy(pred.float(), y)",
        target=Value(text="y", shape=(8,)),
    )
    assert result == program.replace("pred.float()", "out"), "what else reads it keeps it"


def test_not_where_the_output_has_another_meaning_by_then() -> None:
    program = ARGMAX.replace("loss", "out = other(x)\nloss")
    facts: dict[str, Any] = {"loss_call": "criterion(pred.float(), y)", "target": Value(text="y", shape=(8,))}
    assert after("argmax", program, "out.argmax(1)", given=logits((8, 1)), **facts) is None


def test_a_number_and_the_tensor_made_of_it() -> None:
    program = "total = a.item() + b.item()\nloss = torch.tensor(total)\n"
    assert after("item", program, "a.item()", rebuild="torch.tensor(total)") == "total = a + b.item()\nloss = total\n"
    assert after("item", program, "a.item()") is None, "half a detour is no fix"


BLOCK = """\
def step(model, loader):
    with torch.no_grad():
        for x in loader:
            check(model(x))

        # training
        model.train()
        for x in loader:
            loss = model(x)
            loss.backward()
"""


def test_the_training_part_moves_out_of_the_block_with_its_comment() -> None:
    result = after("no_grad-context", BLOCK, "torch.no_grad()", needed=(9,), live=(10,))
    assert result == BLOCK.replace(
        "        # training\n        model.train()\n        for x in loader:\n            loss = model(x)\n            loss.backward()\n",
        "    # training\n    model.train()\n    for x in loader:\n        loss = model(x)\n        loss.backward()\n",
    )


def test_gradients_on_for_one_call_of_the_block() -> None:
    program = "with torch.no_grad():\n    for x in loader:\n        adv = attack(\n            x)\n        score(adv)\n"
    result = after("no_grad-context", program, "torch.no_grad()", live=(3,))
    assert result == (
        "with torch.no_grad():\n    for x in loader:\n        with torch.enable_grad():\n"
        "            adv = attack(\n                x)\n        score(adv)\n"
    )


def test_the_whole_block_goes_where_its_values_feed_the_loss() -> None:
    program = "with torch.no_grad():\n\tz = encode(x)\nloss = f(z)\nloss.backward()\n"
    assert after("no_grad-context", program, "torch.no_grad()", needed=(2,), live=(4,)) == program.replace(
        "with torch.no_grad():\n\t", ""
    )


def test_strings_over_lines_keep_their_text() -> None:
    program = 'with torch.no_grad():\n    z = f("""a\n    b""")\nz.backward()\n'
    assert after("no_grad-context", program, "torch.no_grad()", live=(4,)) == 'z = f("""a\n    b""")\nz.backward()\n'


def test_the_decorator_goes_or_the_call_inside_is_made_with_gradients() -> None:
    program = "class A:\n    @torch.no_grad()\n    def f(self, x):\n        y = g(x)\n        return y\n"
    facts: dict[str, Any] = {"is_decorator": True}
    assert after("no_grad-context", program, "torch.no_grad()", **facts) == program.replace(
        "    @torch.no_grad()\n", ""
    )
    inside = after("no_grad-context", program, "torch.no_grad()", live=(4,), **facts)
    assert inside == program.replace("        y = g(x)\n", "        with torch.enable_grad():\n            y = g(x)\n")


def test_a_switch_becomes_a_block_that_ends_by_itself() -> None:
    program = "def evaluate(m):\n    torch.set_grad_enabled(False)\n    s = m(x)\n    return s\n"
    assert after("grad-mode-left-off", program, "torch.set_grad_enabled(False)") == (
        "def evaluate(m):\n    with torch.no_grad():\n        s = m(x)\n        return s\n"
    )
    computed = program.replace("False", "phase == 'train'")
    assert after("grad-mode-left-off", computed, "torch.set_grad_enabled(phase == 'train')") is None


def test_freezing_comes_before_the_new_part() -> None:
    program = "net = build()\nnet.fc = head()\nfor p in net.parameters():\n    p.requires_grad = False\n"
    assert after("frozen-all", program, "p.requires_grad") == (
        "net = build()\nfor p in net.parameters():\n    p.requires_grad = False\nnet.fc = head()\n"
    )
    assert after("frozen-all", "net = build()\nfreeze(net)\n", "freeze(net)") is None


def test_the_flag_comes_before_the_use() -> None:
    program = "x = x.clone()\ny = net(x)\nk = 1\nx.requires_grad_()\ny.sum().backward()\n"
    assert after("requires-grad-late", program, "x.requires_grad_()") == (
        "x = x.clone()\nx.requires_grad_()\ny = net(x)\nk = 1\ny.sum().backward()\n"
    )


@pytest.mark.parametrize("ending", ["\n", ""])
def test_the_last_line_may_have_no_end(ending: str) -> None:
    assert after("detach", f"y = x.detach(){ending}", "x.detach()") == f"y = x{ending}"
