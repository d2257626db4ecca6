"""One assertion for tests: a gradient arrives at each parameter of a model, but for those that are meant to have none."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from gradwhy.catalog import render
from gradwhy.findings import Argument, Code, Message
from gradwhy.runtime import embedded
from gradwhy.runtime.audit import unreached
from gradwhy.runtime.audit.gradients import states_of
from gradwhy.runtime.audit.ledger import Lost, Step
from gradwhy.runtime.audit.observer import Observer
from gradwhy.runtime.explanation import Loss
from gradwhy.runtime.failure import standing
from gradwhy.runtime.names import Names
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.probes.no_graph import explanations
from gradwhy.runtime.telling import finding_of
from gradwhy.runtime.watch import Watch


def assert_gradients_flow(
    model: torch.nn.Module, loss_fn: Callable[[Any, Any], Any], batch: Any, *, allow: Sequence[str] = ()
) -> None:
    """Compute ``loss_fn(model, batch)``, go backward once, and look at each parameter.

    Raises AssertionError that names each parameter which is frozen, has no gradient, or one that is zero or not finite, and for
    a path that was lost the line. ``allow`` has names or patterns (as of ``fnmatch``) of parameters for which that is meant:
    ``["backbone.*"]``. The model is left as it was: its gradients, buffers and the random state of the CPU are put back.
    """
    __tracebackhide__ = True
    parameters = {
        name: p for name, p in model.named_parameters() if not any(fnmatch.fnmatchcase(name, a) for a in allow)
    }
    kept = {id(p): p.grad for p in model.parameters()}
    buffers = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    random = torch.get_rng_state()
    for parameter in model.parameters():
        parameter.grad = None
    try:
        failure = _look(model, loss_fn, batch, parameters)
    finally:
        for parameter in model.parameters():
            parameter.grad = kept.get(id(parameter))
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                if name in buffers and buffer.shape == buffers[name].shape:
                    buffer.copy_(buffers[name])
        torch.set_rng_state(random)
    if failure:
        raise AssertionError(failure)


def _look(model: Any, loss_fn: Callable[[Any, Any], Any], batch: Any, parameters: dict[str, Any]) -> str:
    with embedded.watching_closely() as shared:
        watch = shared[0] if shared is not None else Watch("always")
        observer = Observer(watch, lambda: None)
        if shared is None:
            watch.start()
        observer.start()
        try:
            loss = loss_fn(model, batch)
            if not loss.requires_grad and (reason := _why_not(loss, watch)):
                return reason
            loss.backward()
        finally:
            observer.stop()
            if shared is None:
                watch.stop()
    without = {id(p) for p in parameters.values() if p.requires_grad and p.grad is None}
    step = Step(optimizer=-1, chain=(), order=watch.journal.next_order(), fed=0, number=0)
    lost = unreached.explain(frozenset(without), -1, step, observer)
    lines = list(_lines(parameters, lost))
    if not lines:
        return ""
    facts: dict[str, Argument] = {"count": len(lines), "of": len(parameters)}
    return "\n".join([render.sentence(Message("words.gradients-missing", facts)), *lines])


def _why_not(tensor: Any, watch: Watch) -> str:
    """Why a loss has no path at all, and where it was lost; "" where that isn't known."""
    with standing(sys._getframe()) as failure:
        surface = failure.surface
        if surface is None:
            return ""
        situation = Situation(failure, watch, Names(failure.frames))
        loss = Loss.of(tensor, 0, surface, situation)
        ranked = explanations(loss, situation)
        if not ranked:
            return ""
        found = finding_of(ranked[0], loss, situation, "no-graph")
    return f"{render.sentence(found.message)} ({found.at.file}:{found.at.line})"


def _lines(parameters: dict[str, Any], lost: dict[int, Lost]) -> Iterator[str]:
    width = max(map(len, parameters), default=0)
    for (name, parameter), (state, _) in zip(parameters.items(), states_of(list(parameters.values()))):
        if not parameter.requires_grad:
            word = "status-frozen"
        elif state == "finite":
            continue
        else:
            word = f"status-{state}"
        said = f"  {name:{width}}  {render.sentence(Message(f'words.{word}', {}))}"
        verdict = lost[id(parameter)].verdict if id(parameter) in lost else None
        if verdict is not None:
            facts: dict[str, Argument] = {"subject": Code(verdict.subject), "cause": verdict.cause}
            said += f"  {render.sentence(Message('words.lost-at', facts))} ({verdict.at.file}:{verdict.at.line})"
        yield said
