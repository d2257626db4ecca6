"""The program of a combination: what is shown, and what is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gradwhy.contract import axes
from gradwhy.contract.axes import Combination

_INDENT = "    "
_LONGEST = 70


@dataclass(frozen=True, slots=True)
class Program:
    """Lines before the call, the call, and a second call where there is one. ``watched`` is an expression: the tensors whose
    ``.grad`` is looked at afterwards, for calls that fill it and return nothing."""

    before: tuple[str, ...]
    call: tuple[str, ...]
    again: tuple[str, ...]
    watched: str | None

    @property
    def text(self) -> str:
        """The whole program."""
        return "\n".join((*self.before, *self.call, *self.again)) + "\n"


def program(combination: Combination) -> Program:
    """Write the program of a combination. The same combination always gives the same text."""
    if combination["call"] == axes.FUNCTIONAL:
        return _functional(combination)
    input, graph, output = (_piece(combination, name) for name in ("input", "graph", "output"))
    scene = axes.scene()
    before = [scene["import"], scene["frozen" if graph.get("frozen") else "trained"]]
    before += _lines(input.get("make", ["{good}"]))
    before += input.get("earlier", [])
    scalar = output.get("scalar", False)
    forward = [*input.get("forward", scene["forward"])]
    out = "y"
    if scalar:
        cut_here = graph.get("cut_scalar")
        forward.append(f"out = {cut_here or 'y.sum()'}")
        out = "out"
    elif "out" in output:
        forward.append(f"out = {output['out']}")
        out = "out"
    before += _within(graph.get("within"), forward)
    if "cut" in graph and not (scalar and "cut_scalar" in graph):
        before.append(f"{out} = {graph['cut'].replace('{y}', out)}")
    before += input.get("later", [])
    before += [line.replace("{y}", out) for line in graph.get("later", [])]
    asked = input.get("ask", "x")
    kind = combination["call"]
    watched = None if kind == "grad" else input.get("watch", "[x]")
    mode = _piece(combination, "mode").get("within")
    call = _within(mode, _call(combination, out, asked, output.get("gradient"), {}))
    again: list[str] = []
    if combination["again"] != "no":
        extra = {"allow-unused": "True"} if combination["again"] == "with-allow-unused" else {}
        again = _within(mode, _call(combination, out, asked, output.get("gradient"), extra))
    return Program(tuple(before), tuple(call), tuple(again), watched)


def _call(combination: Combination, out: str, asked: str, gradient: str | None, extra: Mapping[str, str]) -> list[str]:
    call = _piece(combination, "call")
    arguments = [each.replace("{outputs}", out).replace("{inputs}", asked) for each in call["positional"]]
    if gradient is not None:
        arguments.append(f"{call['gradient']}={gradient}")
    arguments += _switches(combination, extra)
    kept = "result = " if combination["call"] == "grad" else ""
    head = f"{kept}{call['function'].replace('{outputs}', out)}("
    line = f"{head}{', '.join(arguments)})"
    if len(line) <= _LONGEST:
        return [line]
    return [head, *(f"{_INDENT}{argument}," for argument in arguments), ")"]


def _functional(combination: Combination) -> Program:
    body, arg = _piece(combination, "body"), _piece(combination, "arg")
    scene = axes.scene()
    before = [scene["import"], scene["trained"]]
    if any("captured" in line for line in body["body"]):
        before.append("captured = torch.ones(3)")
    before += _lines(arg["make"])
    before.append("def f(x):")
    before += [_INDENT + line for line in (*([arg["unpack"]] if "unpack" in arg else []), *body["body"])]
    call = _piece(combination, "call")
    arguments = ", ".join([*call["positional"], *_switches(combination, {})])
    text = f"result = {call['function']}({arguments})({arg.get('ask', 'x')})"
    return Program(tuple(before), tuple(_within(_piece(combination, "mode").get("within"), [text])), (), None)


def _switches(combination: Combination, extra: Mapping[str, str]) -> list[str]:
    """The keyword arguments that differ from what torch takes unasked."""
    found = []
    for name, axis in axes.axes().items():
        value = extra.get(name, combination[name])
        if axis.keyword and value != "unset":
            found.append(f"{axis.keyword}={value}")
    return found


def _piece(combination: Combination, name: str) -> Mapping[str, Any]:
    return axes.axes()[name].values[combination[name]]


def _lines(lines: Iterable[str]) -> list[str]:
    scene = axes.scene()
    return [line.replace("{good}", scene["good"]).replace("{base}", scene["base"]) for line in lines]


def _within(context: str | None, lines: list[str]) -> list[str]:
    return lines if context is None else [context, *(_INDENT + line for line in lines)]
