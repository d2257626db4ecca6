"""A gradient of the wrong shape: what was passed to ``backward`` or ``grad``, or assigned to ``.grad``."""

from __future__ import annotations

import ast
import re

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account
from gradwhy.runtime.account import Place
from gradwhy.runtime.explanation import Loss
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.probes import Situation
from gradwhy.source.slicing import dotted_name

SYMPTOM = "grad-shape"
CAUSE = "grad-argument-shape"
_MESSAGE = re.compile(
    r"Mismatch in shape: grad_output\[(?P<index>\d+)\] has a shape of (?:torch\.Size\()?(?P<got>\[[^]]*\])\)? "
    r"and output\[\d+\] has a shape of (?:torch\.Size\()?(?P<want>\[[^]]*\])"
    r"|attempting to assign a gradient of size '(?P<got2>\[[^]]*\])' to a tensor of size '(?P<want2>\[[^]]*\])'"
)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE.search(failure.text) is not None


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    found = _MESSAGE.search(situation.failure.text)
    if surface is None or found is None:
        return []
    got, want = (found["got"] or found["got2"]), (found["want"] or found["want2"])
    index = int(found["index"] or 0)
    node, source = _given(surface.site, index), surface.site.source
    text = source.segment(node) if node is not None and source is not None else ""
    outputs = situation.failure.differentiated() or []
    loss = (
        Loss.of(outputs[index], index, surface, situation).name
        if index < len(outputs)
        else account.receiver(surface.site)
    )
    facts: dict[str, Argument] = {
        "given": Code(text or "the gradient"),
        "got": got,
        "want": want,
        "loss": Code(loss or "the output"),
    }
    name = text if text.isidentifier() else _name_in(node)
    place = account.binding(name, situation) if name else None
    if (place is None and got.count(",") != want.count(",")) or "[]" in (got, want):
        # Of another rank wherever it is used; of another size it may only be for this batch.
        place = place or _attribute(text, situation)
    while place is not None and (base := _scaled(place.text)):
        # ``minus_one = one * -1`` has the shape of ``one``.
        further = _attribute(base, situation) if "." in base else account.binding(base, situation)
        if further is None or further.at.line >= place.at.line:
            break
        place = further
    if place is None and node is not None and source is not None:
        at = account.place_of(surface.site, node)
        place = Place(at, text) if at is not None else None
    place = place or Place.of(surface.site)
    steps = [
        Step(at=place.at, note=Message(f"{CAUSE}.made", facts)),
        Step(at=surface.site.location(), note=Message(f"{CAUSE}.used", facts)),
    ]
    evidence = [
        Evidence(kind="value", subject=text or "gradient", facts={"shape": _sizes(got)}),
        Evidence(kind="tensor", subject=loss or "output", facts={"shape": _sizes(want)}),
    ]
    return [
        account.finding(situation, SYMPTOM, CAUSE, place.at, place.text, facts=facts, steps=steps, evidence=evidence)
    ]


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d+", text))


def _given(site: object, index: int) -> ast.AST | None:
    """The gradient as it was written: the argument of ``backward``, ``grad_outputs``, or the value assigned to ``.grad``."""
    from gradwhy.runtime.sites import Site

    assert isinstance(site, Site)
    call = account.call_at(site)
    if call is None:
        statement = account.statement_of(site)
        return statement.value if isinstance(statement, ast.Assign) else None
    names = ("gradient", "grad_outputs", "grad_tensors")
    given: ast.AST | None = next((k.value for k in call.keywords if k.arg in names), None)
    if given is None:
        on_tensor = account.called(call) == "backward" and account.receiver(site) not in ("torch.autograd", "autograd")
        place = 0 if on_tensor else 2 if account.called(call) == "grad" else 1
        given = call.args[place] if place < len(call.args) else None
    if isinstance(given, (ast.List, ast.Tuple)) and index < len(given.elts):
        given = given.elts[index]
    return given


def _scaled(text: str) -> str:
    """The one name, plain or dotted, in an expression of arithmetic on it; "" for anything else."""
    try:
        value = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return ""
    operands = (
        [value.left, value.right]
        if isinstance(value, ast.BinOp)
        else [value.operand]
        if isinstance(value, ast.UnaryOp)
        else []
    )
    names = [name for operand in operands if (name := dotted_name(operand))]
    return names[0] if len(names) == 1 else ""


def _name_in(node: ast.AST | None) -> str:
    """The one name that an expression such as ``-one`` or ``seed * 0.5`` reads."""
    names = (
        {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if node is not None and not isinstance(node, ast.Call)
        else set()
    )
    return names.pop() if len(names) == 1 else ""


def _attribute(text: str, situation: Situation) -> Place | None:
    """Where ``self.ones`` was assigned, in the same file."""
    surface = situation.failure.surface
    return account.assignment(text, surface.site) if surface is not None and "." in text else None
