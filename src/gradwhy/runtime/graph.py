"""Walks autograd graphs from the outside: the leaves behind a tensor, and what a node saved for backward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gradwhy.runtime.records import node_of

SavedState: TypeAlias = Literal["held", "changed", "freed"]
_FREED = "backward through the graph a second time"
_CHANGED = "modified by an inplace operation"


def leaves(tensor: Any, limit: int = 20_000) -> Iterator[Any]:
    """The leaf tensors that a tensor's graph ends in, each once; at most ``limit`` nodes are visited.

    Leaves are the ``variable`` of ``AccumulateGrad`` nodes (torch/autograd/graph.py, ``Node.next_functions``).
    """
    if node_of(tensor) is None:
        # A view that was made with gradients off stands for what it views.
        if tensor._base is not None and tensor._base.requires_grad:
            yield from leaves(tensor._base, limit)
        elif tensor.requires_grad:
            yield tensor
        return
    for node in nodes([tensor], limit):
        leaf = variable_of(node)
        if leaf is not None:
            yield leaf


def nodes(roots: Iterable[Any], limit: int = 50_000) -> dict[Any, list[Any]]:
    """Each node behind the given tensors, with the nodes that its gradients go to."""
    return nodes_from((node for root in roots if (node := node_of(root)) is not None), limit)


def nodes_from(starts: Iterable[Any], limit: int = 50_000) -> dict[Any, list[Any]]:
    """The same, beginning at nodes."""
    stack = list(starts)
    found: dict[Any, list[Any]] = {}
    while stack and len(found) < limit:
        node = stack.pop()
        if node not in found:
            found[node] = [following for following, _ in node.next_functions if following is not None]
            stack.extend(found[node])
    return found


def variable_of(node: Any) -> Any:
    """The leaf that an ``AccumulateGrad`` node fills; None for any other node."""
    variable = getattr(node, "variable", None)
    return variable if variable is not None and node.name().endswith("AccumulateGrad") else None


def number_of(node: Any) -> int:
    """torch's number of a node: those made later have a greater one. -1 for the end of a leaf, which has no time."""
    return -1 if node.name().endswith("AccumulateGrad") else int(node._sequence_nr())


def shape_of(node: Any) -> tuple[int, ...] | None:
    """The shape of a node's first result, None where torch doesn't tell (torch/csrc/autograd/python_cpp_function.cpp,
    ``_input_metadata``)."""
    try:
        return tuple(int(size) for size in node._input_metadata[0].shape)
    except Exception:
        return None


@dataclass(frozen=True, slots=True)
class Saved:
    """A value that a node keeps for its backward. ``tensor`` shares its memory, None where torch doesn't show it; ``text`` is
    torch's own message where it can't be used any more."""

    node: Any
    name: str
    state: SavedState
    tensor: Any = None
    text: str = ""


def saved(node: Any) -> Iterator[Saved]:
    """What a node saved. Values packed by hooks are left out: to unpack them would run somebody's code.

    (torch/csrc/autograd/python_saved_variable_hooks.cpp; ``_saved_*`` checks the version, ``_raw_saved_*`` doesn't.)
    """
    for raw_name in [name for name in dir(node) if name.startswith("_raw_saved")]:
        name = raw_name.removeprefix("_raw")
        try:
            raw = getattr(node, raw_name, None)
        except RuntimeError as error:
            # A custom function's node that has let go of its tensors.
            if _FREED in str(error):
                yield Saved(node, name, "freed", text=str(error))
            continue
        parts = raw if isinstance(raw, (tuple, list)) else [raw]
        if raw is None or any(getattr(part, "unpack_hook", True) is not None for part in parts):
            # Hooks, an older torch that doesn't tell, or a node that is done.
            continue
        try:
            getattr(node, name.removeprefix("_") if name == "_saved_tensors" else name)
        except RuntimeError as error:
            text = str(error)
            if _FREED in text:
                yield Saved(node, name, "freed", text=text)
            elif _CHANGED in text:
                yield Saved(node, name, "changed", _changed(parts), text)
        else:
            yield Saved(node, name, "held", next(iter(_tensors(parts)), None))


def _changed(parts: Iterable[Any]) -> Any:
    for part in parts:
        try:
            part.unpack()
        except RuntimeError:
            return next(iter(_tensors([part])), None)
        except Exception:
            continue
    return None


def _tensors(parts: Iterable[Any]) -> Iterator[Any]:
    for part in parts:
        try:
            tensor = part.data
        except Exception:
            continue
        if tensor is not None:
            yield tensor


def is_freed(node: Any) -> bool:
    """Whether a pass went through the node and let go of what it had saved."""
    return any(each.state == "freed" for each in saved(node))
