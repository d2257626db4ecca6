"""Which cause a cut has, and which line of the user's program a person would change."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field, replace

from gradwhy.findings import Location
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.journal import GradScope, Journal
from gradwhy.runtime.patches.collectives import is_collective
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import Site, display_path, is_user_file, located
from gradwhy.source.slicing import bound_names, dotted_name, names_read
from gradwhy.torchapi import table

_CHECKPOINT = "torch/utils/checkpoint.py"
_CONTEXTS = {"no_grad": "no_grad-context", "inference_mode": "inference_mode-context"}
_CONVERSIONS = frozenset({"detach", "data-attribute", "item", "numpy-roundtrip", "tensor-rebuild"})
_DECORATIONS = ("no_grad", "inference_mode", "set_grad_enabled")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``at`` is the line to change, ``site`` the operation that lost the path, ``library`` where in a package."""

    cause: str
    at: Location
    subject: str
    site: Site | None
    because: str = ""
    scope: GradScope | None = None
    library: Location | None = field(default=None)
    certain: bool = True


def of_cut(record: Record, journal: Journal) -> Verdict | None:
    """The cause of one cut, or None where its line isn't known."""
    found = _of_cut(record, journal)
    if found is None or found.cause not in _CONVERSIONS or found.site != record.site:
        return found
    caller = _caller_of_converter(record)
    if caller is None:
        return found
    return replace(found, at=caller.location(), subject=caller.expression())


def _of_cut(record: Record, journal: Journal) -> Verdict | None:
    site = record.site
    if site is None:
        return None
    name = torch_name(record.func)
    row = table.load().op(name)
    inside = next((found for frame in record.library if (found := _library(frame)) is not None), None)
    if inside is not None and inside.cause != "no_grad-context":
        return Verdict(inside.cause, site.location(), site.expression(), site, "draws", library=_library_place(record))
    if is_collective(record.func):
        return Verdict("collective-not-recorded", site.location(), site.expression(), site)
    if name == "torch.Tensor.grad.__get__" or (name == "torch.autograd.grad" and not record.value):
        return _without_create_graph(record, site, name, journal)
    if row is not None and row.effect == "leaves":
        return of_departure(record)
    if row is not None and row.cause and _always_cuts(record, row):
        return Verdict(row.cause, site.location(), site.expression(), site, row.because)
    if record.grad_off:
        if record.scope is not None:
            return _at_rebinding(of_scope(record.scope, site, record.chain), record, site)
        return _off_below_python(record, site)
    if record.dtype == "torch.bool":
        return Verdict("comparison", site.location(), site.expression(), site, "truth values")
    if not record.dtype.startswith(("torch.float", "torch.bfloat", "torch.complex")):
        return Verdict("index-output", site.location(), site.expression(), site, "integers")
    return Verdict("not-differentiable", site.location(), site.expression(), site, certain=False)


def _always_cuts(record: Record, row: table.OpRow) -> bool:
    if row.effect in ("cut", "detaches", "leaves", "builds", "sampling"):
        return True
    if row.effect == "cut-outputs":
        return not record.grad_off or (
            record.output is not None and row.outputs[record.output : record.output + 1] == ("cut",)
        )
    floating = record.dtype.startswith(("torch.float", "torch.bfloat", "torch.complex"))
    return row.effect == "cast" and not floating


def of_departure(record: Record) -> Verdict | None:
    """The cause of a value's leaving torch, whether or not it still had its path then."""
    site, row = record.site, table.load().op(torch_name(record.func))
    if site is None or row is None or row.effect != "leaves" or not row.cause:
        return None
    cause = "tensor-rebuild" if _builds_a_tensor(site) else row.cause
    return Verdict(cause, site.location(), site.expression(), site, row.because)


def _builds_a_tensor(site: Site) -> bool:
    """Whether the line calls an old constructor such as ``torch.Tensor([...])``: a mode sees it as ``__float__``."""
    node = site.node()
    return isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2].endswith("Tensor")


def of_scope(scope: GradScope, site: Site | None, chain: tuple[Site, ...] = ()) -> Verdict | None:
    """The cause of a cut that happened with gradients off: the block, decorator or call that switched them off."""
    cause = _CONTEXTS.get(scope.kind, "no_grad-context")
    if scope.decorated is not None and is_user_file(scope.decorated.co_filename):
        place, subject = _decorator(Site(scope.decorated, 0), scope.kind)
        return Verdict(cause, place, subject, site, scope=scope)
    opener = scope.opener
    if opener is not None and is_user_file(opener.file):
        if (scope.left_open and not _is_inside_manager(opener, chain)) or _entered_by_hand(opener):
            cause = "grad-mode-left-off"
        return Verdict(cause, opener.location(), opener.expression(), site, scope=scope)
    if opener is not None and opener.file.replace("\\", "/").endswith(_CHECKPOINT):
        cause = "checkpoint-frozen-input"
    # A library switched them off: the user's line is the one that called it.
    caller = scope.chain[0] if scope.chain else site
    if caller is None:
        return None
    inside = scope.decorated and Site(scope.decorated, 0)
    place_inside = _place(inside or opener)
    return Verdict(cause, caller.location(), caller.expression(), site, scope=scope, library=place_inside)


def stacks_of(record: Record | None, scope: GradScope | None) -> tuple[tuple[Site, ...], ...]:
    """The calls inside packages that a cut happened in, and those that switched gradients off for it."""
    decorated = Site(scope.decorated, 0) if scope is not None and scope.decorated is not None else None
    opened = tuple(site for site in (decorated, scope.opener if scope is not None else None) if site is not None)
    inside = scope.inside if scope is not None else ()
    return tuple(filter(None, (opened, inside, record.library if record else (), record.stack if record else ())))


def _decorator(function: Site, kind: str) -> tuple[Location, str]:
    """Where the decorator stands that switched gradients off: the line above ``def``, or ``def`` itself."""
    code, source = function.code, function.source
    node = source.function_at(code.co_firstlineno, code.co_name) if source is not None else None
    decorators = node.decorator_list if node is not None else []
    named = [d for d in decorators if _last_name(d) == kind] or [d for d in decorators if _last_name(d) in _DECORATIONS]
    if source is not None and named:
        return located(source, named[0], function.function), f"@{source.segment(named[0])}"
    return Location(
        file=display_path(function.file), line=code.co_firstlineno, function=function.function
    ), code.co_name


def _last_name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted_name(called).rpartition(".")[2]


def _is_inside_manager(opener: Site, chain: tuple[Site, ...]) -> bool:
    """Whether a switch stands in a manager of the user's own, a generator or a class, that a ``with`` of one of the callers
    holds open."""
    code = opener.code
    if code.co_flags & inspect.CO_GENERATOR:
        name = code.co_name
    elif code.co_name == "__enter__":
        name = opener.function.rpartition(".")[0].rpartition(".")[2]
    else:
        return False
    for site in chain:
        source = site.source
        statement = source.statement_at(site.line) if source is not None else None
        for outer in (statement, *source.enclosing(statement)) if source is not None and statement is not None else ():
            for item in outer.items if isinstance(outer, (ast.With, ast.AsyncWith)) else ():
                call = item.context_expr
                if isinstance(call, ast.Call) and dotted_name(call.func).rpartition(".")[2] == name:
                    return True
    return False


def _at_rebinding(found: Verdict | None, record: Record, site: Site) -> Verdict | None:
    """``w = w - lr * w.grad`` with gradients off: the block is right, what replaces the leaf by a plain tensor is not."""
    source, node = site.source, site.node()
    statement = source.statement(node) if source is not None and node is not None else None
    opener = record.scope.opener if record.scope is not None and record.scope.decorated is None else None
    if found is None or opener is None or opener.code is not site.code or not isinstance(statement, ast.Assign):
        return found
    if not any(tracked.sequence < 0 for tracked in record.inputs):
        return found
    names = {name for target in statement.targets for name in bound_names(target)}
    if source is None or not names & names_read(statement.value):
        return found
    return replace(found, at=located(source, statement, site.function), subject=source.segment(statement))


def _entered_by_hand(opener: Site) -> bool:
    node = opener.node()
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__enter__"


def _without_create_graph(record: Record, site: Site, name: str, journal: Journal) -> Verdict:
    if name == "torch.autograd.grad" and _passes_on(site) and len(record.chain) > 1:
        # The caller says how: ``def slope(y, x, **options): return torch.autograd.grad(y, x, **options)``.
        caller = record.chain[1]
        return Verdict("create_graph-missing", caller.location(), caller.expression(), site)
    if name == "torch.autograd.grad" or not journal.backward or not journal.backward[-1]:
        return Verdict("create_graph-missing", site.location(), site.expression(), site)
    went = journal.backward[-1][0]
    # Of several lines that go backward, the last is only the most likely one to have left this gradient.
    one = len({chain[0] for chain in journal.backward if chain}) == 1
    return Verdict("create_graph-missing", went.location(), went.expression(), site, certain=one)


def _passes_on(site: Site) -> bool:
    node = site.node()
    return isinstance(node, ast.Call) and any(keyword.arg is None for keyword in node.keywords)


def _off_below_python(record: Record, site: Site) -> Verdict | None:
    """Gradients were off, but no Python switch did it: the operation ran inside a custom function's forward."""
    stack = record.stack
    checkpoint = any(frame.file.replace("\\", "/").endswith(_CHECKPOINT) for frame in stack)
    for inner, outer in zip(stack, stack[1:]):
        if inner.code.co_name == "forward" and outer.code.co_name == "apply":
            user = next((frame for frame in stack[stack.index(outer) :] if is_user_file(frame.file)), site)
            cause = "checkpoint-frozen-input" if checkpoint else "custom-function-output"
            return Verdict(cause, user.location(), user.expression(), site, certain=checkpoint)
    return None


def _caller_of_converter(record: Record) -> Site | None:
    """Who called the function that cut, if cutting what it is given is all that the function does.

    Such a helper (``def to_numpy(t): return t.detach().numpy()``) is right where it is; the call is what a person
    would change.
    """
    site = record.site
    source, node = (site.source, site.node()) if site is not None else (None, None)
    if site is None or source is None or node is None:
        return None
    function = source.function(node)
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        if len(body) != 1 or not isinstance(body[0], ast.Return):
            return None
        name = function.name
    elif isinstance(function, ast.Lambda):
        name = "<lambda>"
    else:
        return None
    given = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)} - {
        "self",
        "cls",
    }
    base = _base_name(node)
    for outer in source.enclosing(node):
        for loop in getattr(outer, "generators", ()):
            if isinstance(loop.target, ast.Name) and loop.target.id == base:
                base = _base_name(loop.iter)
        if outer is function:
            break
    if base not in given:
        return None
    for depth, frame in enumerate(record.chain):
        if frame.code.co_name == name:
            return record.chain[depth + 1] if depth + 1 < len(record.chain) else None
    return None


def _base_name(node: ast.AST) -> str:
    """The name that a chain of methods, attributes and torch calls starts from: ``t`` in ``torch.argmax(t.float(), 1)``."""
    while True:
        if isinstance(node, ast.Call):
            on_torch = dotted_name(node.func).partition(".")[0] in ("torch", "F", "Variable")
            if isinstance(node.func, ast.Attribute) and not on_torch:
                node = node.func.value
            elif node.args:
                node = node.args[0]
            else:
                return ""
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return node.id if isinstance(node, ast.Name) else ""


def _library(frame: Site) -> table.LibraryRow | None:
    return table.load().library(frame.file.replace("\\", "/"), frame.code.co_name)


def _library_place(record: Record) -> Location | None:
    return _place(record.library[0]) if record.library else None


def _place(site: Site | None) -> Location | None:
    return None if site is None else Location(file=display_path(site.file), line=site.line, function=site.function)
