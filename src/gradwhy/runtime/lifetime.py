"""Where an old graph enters a new one: the value that ties them, and the pass that went through the old one before."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gradwhy.runtime import graph
from gradwhy.runtime.journal import BackwardPass, Journal
from gradwhy.runtime.node_lines import Made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.records import node_of


def made(node: Any, recorder: Recorder) -> Made | None:
    """Where a node was made, as far as that is on record."""
    return recorder.nodes.made(graph.number_of(node))


@dataclass(frozen=True, slots=True)
class Tie:
    """``old`` is a node of the earlier graph; ``new`` what used its result again, None where the differentiated value is
    itself of that graph. ``earlier`` is the pass that went through the old graph, None where it isn't on record."""

    old: Any
    new: Any
    earlier: BackwardPass | None
    walk: dict[Any, list[Any]]
    before: dict[Any, list[Any]]
    """The graph that the earlier pass went through, as far as its root is still alive."""

    @property
    def crosses(self) -> bool:
        """Whether what used the old value was made after the earlier pass."""
        return self.new is not None and self.earlier is not None and _is_after(self.new, self.earlier)

    def repeats(self, recorder: Recorder) -> bool:
        """Whether the line that made the old value also made a node of the new graph: a value carried from turn to turn."""
        before = made(self.old, recorder)
        if before is None or self.earlier is None:
            return False
        later = [found for n in self.walk if _is_after(n, self.earlier) and (found := made(n, recorder)) is not None]
        return any(found.site == before.site for found in later)


def tie(roots: Collection[Any], targets: Collection[Any], situation: Situation) -> Tie | None:
    """The edge through which the graph of ``roots`` leads to ``targets``, nodes that an earlier pass has seen.

    ``targets``: nodes whose saved values are gone, or were changed since.
    """
    walk = graph.nodes(roots)
    wanted = [node for node in targets if node in walk]
    if not wanted:
        return None
    alive = {
        graph.number_of(node): node for _, tensor in situation.names.tensors() if (node := node_of(tensor)) is not None
    }
    last = max(wanted, key=graph.number_of)
    for earlier in _able(last, situation.watch.journal):
        before = graph.nodes_from([alive[root] for root in earlier.roots if root in alive])
        if before and last not in before:
            # What it went through is still there to see, and has nothing in common with the failing graph so far up.
            shared = [node for node in wanted if node in before]
            if not shared:
                continue
            last = max(shared, key=graph.number_of)
        return _entry(walk, last, wanted, earlier, before)
    return _entry(walk, last, wanted, None, {})


def _able(node: Any, journal: Journal) -> list[BackwardPass]:
    """The passes that can have reached a node: their roots were made after it. Those that freed the graph come first."""
    able = [each for each in journal.passes if each.upto >= graph.number_of(node)]
    return sorted(able, key=lambda each: each.kept)


def _entry(
    walk: dict[Any, list[Any]], last: Any, wanted: list[Any], earlier: BackwardPass | None, before: dict[Any, list[Any]]
) -> Tie:
    reaching = _reaching(walk, wanted)
    if earlier is not None:
        edges = [
            (node, following)
            for node in reaching
            if _is_after(node, earlier)
            for following in walk[node]
            if following in reaching and not _is_after(following, earlier)
        ]
        if edges:
            new, old = max(edges, key=lambda edge: (graph.number_of(edge[1]), -graph.number_of(edge[0])))
            return Tie(old, new, earlier, walk, before)
    users = [node for node in walk if last in walk[node] and node not in before]
    return Tie(last, max(users, key=graph.number_of, default=None), earlier, walk, before)


def _is_after(node: Any, earlier: BackwardPass) -> bool:
    number = graph.number_of(node)
    return number >= (earlier.sequence if earlier.sequence >= 0 else earlier.upto + 1)


def _reaching(walk: dict[Any, list[Any]], wanted: Collection[Any]) -> set[Any]:
    before: dict[Any, list[Any]] = {}
    for node, following in walk.items():
        for each in following:
            before.setdefault(each, []).append(node)
    found, stack = set(wanted), list(wanted)
    while stack:
        for node in before.get(stack.pop(), ()):
            if node not in found:
                found.add(node)
                stack.append(node)
    return found
