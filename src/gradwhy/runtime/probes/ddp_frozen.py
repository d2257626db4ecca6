"""``DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient``: who froze it."""

from __future__ import annotations

import torch

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, live, untracked
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.probes.empty_optimizer import unregistered

SYMPTOM = "ddp-frozen"
_MESSAGE = "DistributedDataParallel is not needed when a module doesn't have any parameter"


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and failure.text.startswith(_MESSAGE)


def diagnose(situation: Situation) -> list[Finding]:
    surface, failure = situation.failure.surface, situation.failure
    held = [each.frame.f_locals.get("module") for each in failure.frames if not each.is_users]
    module = next((each for each in held if issubclass(type(each), torch.nn.Module)), None)
    if surface is None or module is None:
        return []
    call, source = account.call_at(surface.site), surface.site.source
    given = call.args[0] if call is not None and call.args else None
    written = source.segment(given) if given is not None and source is not None else ""
    named = next((name for name, each in situation.names.modules.items() if each is module), "")
    shown = written if given is not None and live.value(given, surface) is module else named or written or "the model"
    parameters = list(module.parameters())
    facts: dict[str, Argument] = {"name": Code(shown), "count": len(parameters), "class": Code(type(module).__name__)}
    changes = [change for each in parameters if (change := untracked.froze(each, situation)) is not None]
    last = max(changes, key=lambda change: change.order, default=None)
    if parameters:
        cause, suffix, place = "frozen-all", "-wrapped", Place.of(last.chain[0] if last is not None else surface.site)
        steps = [Step(at=place.at, note=Message(f"{cause}.at-empty", facts))] if last is not None else []
        certain = last is not None
    else:
        slip = unregistered(module)
        cause, suffix = "param-not-registered", f"-{slip[1]}" if slip is not None else "-wrapped"
        place, steps, certain = slip[0] if slip is not None else Place.of(surface.site), [], True
    return [
        account.finding(
            situation, SYMPTOM, cause, place.at, place.text, facts=facts, headline=f"headline{suffix}",
            advice=f"advice{suffix}", steps=steps, certain=certain,
            evidence=[Evidence(kind="parameter", subject=shown, facts={"parameters": len(parameters), "require grad": 0})],
        )
    ]  # fmt: skip
