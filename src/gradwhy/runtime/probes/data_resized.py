"""``Function SumBackward0 returned an invalid gradient``: a tensor of the graph has got another shape since it was used."""

from __future__ import annotations

import re
from typing import Any

from gradwhy.findings import Argument, Code, Finding, Message
from gradwhy.runtime import account, graph
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.names import Names
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import Site

SYMPTOM = "grad-shape"
CAUSE = "data-attribute"
_MESSAGE = re.compile(
    r"Function (?P<node>\w+Backward\d+) returned an invalid gradient at index (?P<index>\d+) - "
    r"got (?P<got>\[[^]]*\]) but expected shape compatible with (?P<want>\[[^]]*\])"
)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE.search(failure.text) is not None


def diagnose(situation: Situation) -> list[Finding]:
    found = _MESSAGE.search(situation.failure.text)
    if found is None:
        return []
    walk = graph.nodes(situation.failure.differentiated() or [])
    names = situation.names
    for node in walk:
        if node.name() != found["node"]:
            continue
        producer = node.next_functions[int(found["index"])][0]
        named = _changed(producer, found["want"], names) if producer is not None else None
        if named is None:
            continue
        name, tensor = named
        write = _written(tensor, situation)
        used = made(node, situation.watch.recorder)
        if write is None:
            continue
        place = Place.of(write)
        facts: dict[str, Argument] = {"name": Code(name), "got": _shown(tensor), "want": found["want"]}
        steps = [account.station(used.site, Message(f"{CAUSE}.used", facts))] if used is not None else []
        return [
            account.finding(
                situation, SYMPTOM, CAUSE, place.at, place.text, facts=facts, headline="headline-resized",
                advice="advice-resized", steps=steps, evidence=[account.seen(name, tensor)],
            )
        ]  # fmt: skip
    return []


def _changed(producer: Any, want: str, names: Names) -> tuple[str, Any] | None:
    """The live tensor that a node gave, or the leaf that it fills, where its shape isn't the one that the graph knows."""
    leaf = graph.variable_of(producer)
    for name, tensor in names.tensors():
        if (tensor is leaf or (leaf is None and node_of(tensor) is producer)) and _shown(tensor) != want:
            return names.parameters.get(id(tensor), name), tensor
    return None


def _shown(tensor: Any) -> str:
    return str(list(account.shape_of(tensor)))


def _written(tensor: Any, situation: Situation) -> Site | None:
    """The line that set its ``.data``, else the last that wrote to its memory in place, as ``resize_`` does."""
    log = situation.watch.recorder.writes
    if (site := log.data.get(id(tensor))) is not None:
        return site
    writes = [write for write in log.to(tensor, -1) if getattr(write.func, "__name__", "").startswith("resize")]
    return writes[-1].site if writes else None
