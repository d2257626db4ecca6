"""Tensors that look like leaves and are not: their ``.grad`` stays None, and a module does not register them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.flow.histories import YES, Flow
from gradwhy.static.flow.layers import named_parameters
from gradwhy.static.flow.values import Instance, Tensor, is_module
from gradwhy.static.program import Place, Program

_CONVERSIONS = frozenset({"to", "cuda", "cpu", "double", "half", "bfloat16", "float", "type", "type_as"})


def findings(program: Program, cause: str) -> Iterator[Finding]:
    seen: set[int] = set()
    for finding, node in (*_read(program), *_unregistered(program)):
        if finding.cause == cause and id(node) not in seen:
            seen.add(id(node))
            yield finding


def _read(program: Program) -> Iterator[tuple[Finding, ast.AST]]:
    retained = {id(tensor) for event in program.each("retain-grad") for tensor in event.tensors}
    for event in program.each("grad-read"):
        flow = event.flow
        if flow is None or flow.kind != "op" or flow.grad != YES or flow.at is None or id(event.tensors[0]) in retained:
            continue
        place, here = Place(flow.at, flow.frame), Place(event.at, event.frame)
        owner = getattr(event.at, "value", None)
        op = flow.name.rpartition(".")[2]
        converted = op in _CONVERSIONS and any(part.kind == "leaf" for part in flow.inputs)
        facts: dict[str, Argument] = {
            "name": Code(program.text(owner)),
            "op": Code(op),
            "subject": Code(program.text(flow.at)),
        }
        cause = "to-device-non-leaf" if converted else "non-leaf-grad"
        steps = [program.step(place, Message(f"{cause}.{'made' if converted else 'computed'}", facts)),
                 program.step(here, Message("non-leaf-grad.read", facts))]  # fmt: skip
        yield (
            program.finding(
                cause,
                place,
                Message(f"{cause}.headline", facts),
                symptom="silent-nonleaf-grad",
                severity="warning",
                surfaces=here,
                path=steps,
                fixes=[Fix(title=Message(f"{cause}.advice", facts), applicability="display")],
            ),
            event.at,
        )


def _unregistered(program: Program) -> Iterator[tuple[Finding, ast.AST]]:
    """``self.w = nn.Parameter(...).squeeze(0)``: the module gets a computed tensor, and nobody has the parameter."""
    for event in program.each("replaced"):
        after = event.facts["after"]
        if (
            not isinstance(after, Tensor)
            or after.parameter
            or not isinstance(event.value, Instance)
            or not is_module(event.value)
        ):
            continue
        flow = after.flow
        source = _only_source(flow)
        if flow.kind != "op" or source is None or source.owner is None or not source.owner.parameter or flow.at is None:
            continue
        held = {id(tensor) for _, tensor in named_parameters(event.value) if tensor is not None}
        if id(source.owner) in held or id(source.owner) in program.trained:
            continue
        place = Place(flow.at, flow.frame)
        facts: dict[str, Argument] = {"name": Code(program.text(event.at)), "op": Code(flow.name.rpartition(".")[2])}
        yield (
            program.finding(
                "to-device-non-leaf",
                place,
                Message("to-device-non-leaf.headline", facts),
                symptom="silent-not-in-optimizer",
                path=[program.step(place, Message("to-device-non-leaf.made", facts))],
                fixes=[Fix(title=Message("to-device-non-leaf.advice"), applicability="display")],
            ),
            event.at,
        )


def _only_source(flow: Flow) -> Flow | None:
    """The leaf that a chain of operations on one tensor starts from."""
    while flow.kind == "op" and len(flow.inputs) == 1:
        flow = flow.inputs[0]
    return flow if flow.kind == "leaf" else None


def trained(program: Program, cause: str) -> Iterator[Finding]:
    """Computed tensors that an optimizer is given: those that a conversion made, and the others."""
    for event in program.each("optimizer"):
        flows: tuple[Flow, ...] = event.facts["flows"]
        computed = next(
            (flow for flow in flows if flow.kind == "op" and flow.grad == YES and flow.at is not None), None
        )
        if computed is None or computed.at is None:
            continue
        op = computed.name.rpartition(".")[2]
        converted = op in _CONVERSIONS and any(part.kind == "leaf" for part in computed.inputs)
        if cause != ("to-device-non-leaf" if converted else "computed-tensor-trained"):
            continue
        place, here = Place(computed.at, computed.frame), Place(event.at, event.frame)
        facts: dict[str, Argument] = {"name": Code(program.text(computed.at)), "op": Code(op)}
        raised: dict[str, Argument] = {"error": "ValueError", "text": "can't optimize a non-leaf Tensor"}
        yield program.finding(
            cause,
            place,
            Message(f"{cause}.headline", facts),
            symptom="non-leaf-optimizer",
            surfaces=here,
            path=[program.step(place, Message(f"{cause}.made", facts)),
                  program.step(here, Message("words.surfaces", raised))],
            fixes=[Fix(title=Message(f"{cause}.advice", facts), applicability="display")],
        )  # fmt: skip
