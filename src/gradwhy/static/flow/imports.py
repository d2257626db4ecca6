"""Binds imported names to the dotted names that they stand for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.values import Const, Imported, Library, Seq, Unknown

if TYPE_CHECKING:
    from gradwhy.source.modules import Named
    from gradwhy.static.flow.run import Run

# Second homes of what torch documents elsewhere: (found under, filed under).
_HOMES = (
    ("torch.autograd.grad_mode.", "torch."),
    ("torch.nn.parameter.", "torch.nn."),
    ("torch.autograd.variable.", "torch.autograd."),
    ("torch.functional.", "torch."),
    ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler"),
)


def filed(path: str) -> str:
    """The name that a row of the table has for an imported one."""
    for found, home in _HOMES:
        if path.startswith(found):
            return home + path[len(found) :]
    if path.startswith("torch.nn.modules."):
        return "torch.nn." + path.rpartition(".")[2]
    return path


def run_import(r: Run, node: ast.Import) -> None:
    for alias in node.names:
        root = alias.name.partition(".")[0]
        bound = alias.asname or root
        found = _followed(r, alias.name)
        if found is not None and found.named.file:
            if not alias.asname and root != alias.name:
                found = _followed(r, root) or found
            r.write(r.frame.env, bound, found)
        else:
            r.write(r.frame.env, bound, Library(filed(alias.name) if alias.asname else root))


def _followed(r: Run, name: str) -> Imported | None:
    """What ``import a.b`` gives where that is of the project, and is entered."""
    here = r.here
    if here is None or r.project is None:
        return None
    named = r.project.finder.absolute(name, here.value.named.script)
    return _entered(r, named) if named is not None else None


def _entered(r: Run, named: Named) -> Imported | None:
    """A file of the project, with what it defines; of a folder without a file of its own, what stands for it."""
    if not named.file:
        return Imported(named)
    file = r.project.enter(r, named) if r.project is not None else None
    return file.value if file is not None else None


def run_from(r: Run, node: ast.ImportFrom) -> None:
    here, base = r.here, None
    if here is not None and r.project is not None:
        base = r.project.finder.base(node, here.value.named.file, here.value.named.script)
    owner = _entered(r, base) if base is not None and base.file else None
    for alias in node.names:
        if alias.name == "*":
            if owner is not None:
                _all(r, owner)
            continue
        bound = alias.asname or alias.name
        found = _taken(r, owner, base, alias.name, bound) if base is not None else None
        if found is not None:
            r.write(r.frame.env, bound, found)
        elif node.level or not node.module or owner is not None:
            r.write(r.frame.env, bound, Unknown(node))
        else:
            r.write(r.frame.env, bound, Library(filed(f"{node.module}.{alias.name}")))


def _taken(r: Run, owner: Imported | None, base: Named, name: str, bound: str) -> Value | None:
    """What ``from base import name`` binds: a name of the file, or a file in the package."""
    found = owner.f.get(name) if owner is not None else None
    if isinstance(found, Value):
        return found
    assert r.project is not None
    part = r.project.finder.part(base, name)
    inside = _entered(r, part) if part is not None else None
    if inside is not None or owner is None:
        return inside
    file = r.project.by_names.get(id(owner.f))
    if file is not None and file.state in ("new", "loading"):
        stand_in = Unknown()
        file.late.append((r.frame.env, bound, stand_in, name))
        return stand_in
    return None


def _all(r: Run, owner: Imported) -> None:
    """``from file import *``: the names in ``__all__``, else those without an underscore."""
    listed = owner.f.get("__all__")
    names = [name for name in owner.f if isinstance(name, str) and not name.startswith("_")]
    if isinstance(listed, Value):
        parts = [part.value for part in listed.items if isinstance(part, Const)] if isinstance(listed, Seq) else []
        names = [name for name in parts if name in owner.f]
    for name in names:
        found = owner.f[name]
        if isinstance(found, Value):
            r.write(r.frame.env, name, found)


def name_in(r: Run, owner: Imported, name: str, node: ast.AST) -> Value:
    """``owner.name`` of a file or folder of the project."""
    found = owner.f.get(name)
    if isinstance(found, Value):
        return found
    part = r.project.finder.part(owner.named, name) if r.project is not None else None
    return (_entered(r, part) if part is not None else None) or Unknown(node)
