"""What a ``torch.func`` transform refused, by where the answer lies: a line inside, what was returned, a custom function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gradwhy.findings import Argument, Finding, Fix, Message, Step
from gradwhy.runtime import account, transforms
from gradwhy.runtime.account import Place
from gradwhy.runtime.probes import Situation

SYMPTOM = "functorch"


def told(
    situation: Situation,
    cause: str,
    place: Place,
    *,
    facts: Mapping[str, Argument] | None = None,
    steps: Iterable[Step] = (),
    as_symptom: str = "",
    certain: bool = True,
    fixes: tuple[Fix, ...] | None = None,
) -> list[Finding]:
    """The finding. ``as_symptom`` takes the sentences of that key from the symptom's entry: a cause that is known from elsewhere
    reads differently inside a transform."""
    found = account.finding(
        situation, SYMPTOM, cause, place.at, place.text, facts=facts, steps=steps, certain=certain, fixes=fixes
    )
    if as_symptom:
        filled = dict(found.message.args)
        advice = Fix(title=Message(f"{SYMPTOM}.{as_symptom}-advice", filled), applicability="display")
        found = replace(found, message=Message(f"{SYMPTOM}.{as_symptom}", filled), fixes=fixes or (advice,))
    return [found]


def around(situation: Situation) -> list[Step]:
    """The transform that the failing line is inside of, as a station."""
    found = transforms.transforms(situation.failure)
    if not found:
        return []
    made = found[-1].made(situation) or found[-1].call
    return [Step(at=made.at, note=Message("functorch.transformed"))]


def as_tensor(node: ast.AST) -> ast.expr | None:
    """What a call that gives a Python number was made on: ``x`` of ``x.item()`` and ``float(x)``."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        return node.func.value
    if isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1:
        return node.args[0]
    return None
