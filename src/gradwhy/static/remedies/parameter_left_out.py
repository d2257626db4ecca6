"""Gives the optimizer what was left out: the whole network in place of a part, or the other one beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, called, definitions, dotted_name
from gradwhy.source.text import SourceText
from gradwhy.static.leaves import MAKERS, parameters_of
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``net.encoder.parameters()`` -> ``net.parameters()`` where ``net.decoder`` is missing; else ``[*a.parameters(),
    *b.parameters()]`` where the line can name what is missing."""
    call = next(
        (n for n in ast.walk(fault.node) if isinstance(n, ast.Call) and n.args and called(n)[:1].isupper()), None
    )
    name = fault.args.get("name")
    if call is None or not isinstance(name, Code):
        return
    given, source = call.args[0], fault.source
    owner = parameters_of(given)
    new = ""
    if isinstance(owner, ast.Attribute) and _is_beside(name.text, source, owner):
        new = f"{source.segment(owner.value)}.parameters()"
    elif _can_name(source, call, name.text) and isinstance(given, (ast.Call, ast.Name, ast.Attribute)):
        left = fault.args.get("count")
        missing = _missing(source, name.text, left if isinstance(left, int) else 0, source.segment(given))
        if _gives_groups(source, given) or (missing.startswith("*") and _reads(given, missing[1:])):
            # torch takes no tensors beside groups, and no parameter twice.
            missing = ""
        new = f"[*{source.segment(given)}, {missing}]" if missing else ""
    if new:
        title = Message("parameter-left-out.fix", {"result": Code(new)})
        yield Fix(title=title, applicability="unsafe", edits=(replace(fault, given, new),))


def _is_beside(missing: str, source: SourceText, part: ast.Attribute) -> bool:
    """Whether one class has both the part that is trained and the one that is missing."""
    root, _, field = missing.rpartition(".")
    if not root or "." in root:
        return False
    for kind in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(kind, ast.ClassDef):
            held = {dotted_name(t) for n in ast.walk(kind) if isinstance(n, ast.Assign) for t in n.targets}
            if {f"self.{field}", f"self.{part.attr}"} <= held:
                return True
    return False


def _can_name(source: SourceText, call: ast.Call, name: str) -> bool:
    """Whether the name means something where the optimizer is made: bound above in the same scope, or ``self``'s."""
    root, scope = name.partition(".")[0], source.function(call) or source.tree
    if scope is None or not all(part.isidentifier() for part in name.split(".")):
        return False
    if root == "self":
        return isinstance(scope, ast.FunctionDef) and bool(scope.args.args) and scope.args.args[0].arg == "self"
    bound = [
        node for names, _, node in definitions(scope) if root in names and getattr(node, "lineno", 0) < call.lineno
    ]
    parameters = (
        {a.arg for a in scope.args.args} if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else set()
    )
    return bool(bound) or root in parameters


def _missing(source: SourceText, name: str, count: int, given: str) -> str:
    """``*b.parameters()`` for a module; one tensor of its own by its name, or with the module that it is in where nothing of
    that is given yet."""
    owner, _, field = name.rpartition(".")
    holders = [
        n
        for n in ast.walk(source.tree or ast.Module([], []))
        if isinstance(n, ast.Assign) and any(b.rpartition(".")[2] == field for t in n.targets for b in bound_names(t))
    ]
    tensors = [n for n in holders if any(called(c) in _TENSORS for c in ast.walk(n.value))]
    if not holders or 0 < len(tensors) < len(holders):
        return ""
    if not tensors:
        return f"*{name}.parameters()"
    alone = owner in ("", "self") or owner.partition(".")[0] in given
    return name if alone or count != 1 else f"*{owner}.parameters()"


def _gives_groups(source: SourceText, given: ast.expr) -> bool:
    """Whether what the optimizer is given are dictionaries of options: from a function or a name of this file."""
    tree = source.tree or ast.Module([], [])
    if isinstance(given, ast.Call):
        made: list[ast.AST] = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == called(given)]
    else:
        made = [value for names, value, _ in definitions(source.function(given) or tree) if dotted_name(given) in names]
    return any(isinstance(n, ast.Constant) and n.value == "params" for each in made for n in ast.walk(each))


def _reads(given: ast.expr, missing: str) -> bool:
    """Whether parameters of the module are given already, some at least."""
    owner = missing.removesuffix(".parameters()")
    names = {dotted_name(n) for n in ast.walk(given) if isinstance(n, (ast.Name, ast.Attribute))}
    return any(name == owner or name.startswith(f"{owner}.") for name in names)


_TENSORS = MAKERS | {"Parameter"}
