"""Binds values to names, attributes, items and patterns, and runs the augmented operators."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow import flags, layers, operators
from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.iterating import unpacked
from gradwhy.static.flow.joining import join
from gradwhy.static.flow.values import (
    Array,
    Class,
    Const,
    Data,
    Imported,
    Instance,
    Layer,
    Mapping,
    Optimizer,
    Seq,
    Tensor,
    Unknown,
    is_module,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


def assign(r: Run, node: ast.Assign) -> None:
    value = r.evaluate(node.value)
    for target in node.targets:
        bind(r, target, value)


def annotated(r: Run, node: ast.AnnAssign) -> None:
    if node.value is not None:
        bind(r, node.target, r.evaluate(node.value))


def bind(r: Run, target: ast.expr, value: Value) -> None:
    """``target = value``, patterns included."""
    if isinstance(target, ast.Name):
        scope = r.frame.globals_.get(target.id) if r.frame.globals_ else None
        r.write(scope if scope is not None else r.frame.env, target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, item in unpacked(r, target, value):
            bind(r, part, item)
    elif isinstance(target, ast.Attribute):
        set_attribute(r, plain(r.evaluate(target.value)), target.attr, value, target)
    elif isinstance(target, ast.Subscript):
        set_item(r, target, value)
    elif isinstance(target, ast.Starred):
        bind(r, target.value, value)


def set_attribute(r: Run, owner: Value, name: str, value: Value, node: ast.AST) -> None:
    """``owner.name = value``."""
    if isinstance(owner, Tensor):
        flags.set_on_tensor(r, owner, name, value, node)
        return
    if isinstance(owner, Data):
        flags.set_on_tensor(r, owner.tensor, name, value, node)
        return
    if isinstance(owner, (Class, Imported)):
        r.write(owner.f, name, value)
        return
    if isinstance(owner, Instance):
        setter = owner.cls.find(f"{name}.setter")
        if setter is not None:
            r.call(setter[0], [owner, value], {}, node)
            return
    if is_module(owner):
        flags.set_on_module(r, owner, name, value, node)
    if isinstance(owner, (Instance, Layer, Unknown)):
        before = owner.f.get(name)
        if isinstance(owner, Instance) and isinstance(value, (Seq, Mapping)):
            r.tell("attribute", node, value=owner, subject=name, facts={"after": value})
        if (
            is_module(plain(value))
            or isinstance(value, Tensor)
            or is_module(before if isinstance(before, Value) else value)
        ):
            r.tell("replaced", node, value=owner, subject=name, facts={"before": before, "after": value})
        r.write(owner.f, name, value)
    elif isinstance(owner, Optimizer) and name == "param_groups":
        r.write(owner.f, "complete", False)


def set_item(r: Run, target: ast.Subscript, value: Value) -> None:
    """``x[i] = value``: writes into a tensor, a list, a dict or a container of modules."""
    owner = plain(r.evaluate(target.value))
    index = r.evaluate(target.slice) if not isinstance(target.slice, ast.Slice) else Unknown()
    if isinstance(owner, Tensor):
        operators.write_into(r, owner, [value], target)
    elif isinstance(owner, Mapping):
        if isinstance(index, Const) and _hashable(index.value):
            r.write(owner.f, "items", {**owner.items, index.value: value})
        else:
            r.write(owner.f, "rest", value if owner.rest is None else join(owner.rest, value))
    elif isinstance(owner, Seq):
        _set_in_sequence(r, owner, index, value)
    elif isinstance(owner, Layer):
        key = layers.child_key(owner, index)
        r.tell("replaced", target, value=owner, facts={"before": owner.f.get(key), "after": value})
        r.write(owner.f, key if key is not None else "#rest", value)
    elif isinstance(owner, Instance) and (found := owner.cls.find("__setitem__")) is not None:
        r.call(found[0], [owner, index, value], {}, target)
    elif isinstance(owner, Array):
        mixed = operators.history(r, target, owner, value)
        if mixed is not None:
            r.write(owner.f, "flow", mixed)


def _set_in_sequence(r: Run, owner: Seq, index: Value, value: Value) -> None:
    items = list(owner.items)
    if isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < len(items):
        items[index.value] = value
        r.write(owner.f, "items", tuple(items))
        return
    r.write(owner.f, "items", tuple(join(item, value) for item in items))
    if owner.rest is not None:
        r.write(owner.f, "rest", join(owner.rest, value))


def _hashable(value: object) -> bool:
    return isinstance(value, (str, int, float, bool, bytes, type(None)))


def augmented(r: Run, node: ast.AugAssign) -> None:
    """``x += y`` writes into a tensor or a list, and binds anything else anew."""
    load = _as_load(node.target)
    current = plain(r.evaluate(load))
    value = r.evaluate(node.value)
    if isinstance(current, Tensor):
        if operators.in_place(r, current, [value], node, type(node.op)):
            bind_same(r, node.target, current)
        return
    if isinstance(current, Seq) and current.kind == "list" and isinstance(node.op, ast.Add):
        from gradwhy.static.flow.containers import extend

        extend(r, current, value)
        return
    bind(r, node.target, operators.binary(r, current, value, node))


def bind_same(r: Run, target: ast.expr, value: Value) -> None:
    """After ``x += y`` the name means the same tensor; ``x[i] += y`` wrote into ``x``."""
    if isinstance(target, ast.Subscript):
        owner = plain(r.evaluate(target.value))
        if isinstance(owner, Tensor):
            operators.write_into(r, owner, [value], target)
        elif isinstance(owner, (Mapping, Seq)):
            bind(r, target, value)


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target
