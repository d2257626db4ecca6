"""What leads to what among files: what is behind one, and the circles in which files import each other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node")


def within(start: Node, after: Callable[[Node], Iterable[Node]], at_most: int) -> tuple[list[Node], bool]:
    """(what can be reached from a node, itself first and the nearest next; whether that is all): no more than ``at_most``."""
    found = {start: None}
    todo = deque([start])
    while todo:
        for node in after(todo.popleft()):
            if node not in found:
                if len(found) >= at_most:
                    return list(found), False
                found[node] = None
                todo.append(node)
    return list(found), True


def groups(nodes: Iterable[Node], after: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node]]:
    """The nodes, those that lead to one another together, and each group after those that it leads to (Tarjan)."""
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    on: dict[Node, None] = {}
    for root in nodes:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        on[root] = None
        work = [(root, iter(after(root)))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = len(number)
                    on[other] = None
                    work.append((other, iter(after(other))))
                    break
                if other in on:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    group = []
                    while True:
                        last, _ = on.popitem()
                        group.append(last)
                        if last == node:
                            break
                    yield group
