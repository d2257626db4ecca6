"""Runs a combination of the contract on the torch that is installed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from gradwhy.contract.axes import Combination
from gradwhy.contract.outcomes import Outcome, Shape, Stage, Step
from gradwhy.contract.programs import Program, program

# Where in torch's C++ a warning was raised differs from build to build.
_TRIGGERED = re.compile(r"\s*\(Triggered internally at .*?\)\s*$", re.S)


def version() -> str:
    """The version of the torch that is installed, without the build: 2.13.0."""
    return str(torch.__version__).partition("+")[0]


def run(combination: Combination) -> Outcome:
    """Run the program of a combination, and say what happened. Nothing is printed, and no state of torch is left changed."""
    always, threads = torch.is_warn_always_enabled(), torch.get_num_threads()
    # Else a warning that torch gives once in a process belongs to whichever combination runs first.
    torch.set_warn_always(True)
    if threads > 1:
        torch.set_num_threads(1)
    try:
        with torch.enable_grad():
            return Outcome(tuple(_steps(program(combination))))
    finally:
        torch.set_warn_always(always)
        if threads > 1:
            torch.set_num_threads(threads)


def run_all(combinations: Iterable[Combination]) -> Iterator[tuple[Combination, Outcome]]:
    """Run several, one after the other, in this process."""
    for combination in combinations:
        yield combination, run(combination)


def _steps(text: Program) -> Iterator[Step]:
    names: dict[str, Any] = {}
    known: set[tuple[str, str]] = set()
    stages: tuple[tuple[Stage, tuple[str, ...]], ...] = (
        ("before", text.before),
        ("call", text.call),
        ("again", text.again),
    )
    for stage, lines in stages:
        if not lines:
            continue
        names.pop("result", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            raised = _executed("\n".join(lines), names)
        said = ((warning.category.__name__, _TRIGGERED.sub("", str(warning.message))) for warning in caught)
        # As a program shows it: once.
        warned = tuple(each for each in dict.fromkeys(said) if each not in known)
        known.update(warned)
        if raised is not None:
            yield Step(stage, (type(raised).__name__, str(raised)), warned=warned)
            if stage == "before":
                return
        elif stage != "before":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if text.watched is not None:
                    yield Step(stage, filled=_filled(text.watched, names), warned=warned)
                else:
                    yield Step(stage, returned=_shape(names["result"]), warned=warned)


def _executed(lines: str, names: dict[str, Any]) -> Exception | None:
    try:
        exec(compile(lines, "<contract>", "exec"), names)
    except Exception as error:
        # The traceback holds the frames, and they hold the graph.
        return error.with_traceback(None)
    return None


def _filled(watched: str, names: dict[str, Any]) -> Mapping[str, Shape]:
    tensors = eval(watched, names)
    return {"inputs": [_shape(tensor.grad) for tensor in tensors], "w": _shape(names["w"].grad)}


def _shape(value: Any) -> Shape:
    if isinstance(value, torch.Tensor):
        flags = [str(tuple(value.shape)), str(value.dtype).removeprefix("torch.")]
        if value.requires_grad:
            flags.append("requires_grad")
        if value.numel() and not bool(value.detach().any()):
            flags.append("zeros")
        return " ".join(flags)
    if isinstance(value, dict):
        return {str(key): _shape(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shape(item) for item in value]
    return repr(value)
