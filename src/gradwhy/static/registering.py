"""What a module keeps where ``parameters()`` does not look, and the container of torch.nn that shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.findings import Edit
from gradwhy.source.slicing import bound_names, called, definitions, dotted_name
from gradwhy.source.text import SourceText
from gradwhy.static.leaves import FLAG, MAKERS, end_of, inserted, is_true, method_out, start_of
from gradwhy.static.remedy import Written, replace
from gradwhy.static.rewrites import without_argument

_LISTS = (ast.List, ast.ListComp, ast.Tuple)
_DICTS = (ast.Dict, ast.DictComp)
_READERS = frozenset(
    {"zip", "enumerate", "len", "list", "tuple", "sum", "reversed", "map", "iter", "sorted", "range", "print"}
)
_METHODS = frozenset({"append", "extend", "insert", "items", "values", "keys", "pop", "update"})
# torch/nn/modules/module.py, ``add_module`` refuses a name that the module has already.
_TAKEN = frozenset({
    "add_module", "apply", "bfloat16", "buffers", "call", "children", "clear", "compile", "cpu", "cuda", "double", "dump_patches",
    "eval", "extra_repr", "float", "forward", "half", "items", "keys", "modules", "parameters", "pop", "requires_grad_",
    "share_memory", "state_dict", "to", "train", "training", "type", "update", "values", "xpu", "zero_grad",
})  # fmt: skip


def nn_of(source: SourceText) -> str:
    """How the file writes ``torch.nn``: "nn", "torch.nn", or "" where it has neither name."""
    found = ""
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            found = next((a.asname or a.name for a in node.names if a.name == "nn"), found)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch.nn" and alias.asname:
                    found = alias.asname
                elif alias.name.partition(".")[0] == "torch" and not alias.asname and not found:
                    found = "torch.nn"
    return found


def registered(where: Written, statement: ast.Assign, attribute: str, nn: str) -> list[Edit]:
    """The edits that make ``self.x = value`` register what is in the value; [] where the container isn't certain."""
    source, value = where.source, statement.value
    made = value
    if isinstance(value, ast.Name):
        made = _only_value(source, statement, value.id) or value
    holder = _owner_class(source, statement)
    if holder is None:
        return []
    if isinstance(made, _LISTS):
        return _listed(where, statement, made, attribute, nn, holder)
    if isinstance(made, _DICTS) and made is value:
        return _mapped(where, made, attribute, nn, holder)
    return as_parameter(where, value, nn) if made is value else []


def holds_modules(value: ast.expr) -> bool:
    """Whether a list or a dict plainly has modules or tensors that can be trained in it."""
    return isinstance(value, (*_LISTS, *_DICTS)) and bool(_kind(list(_elements(value))))


def _listed(
    where: Written, statement: ast.Assign, made: ast.expr, attribute: str, nn: str, holder: ast.ClassDef
) -> list[Edit]:
    source, value = where.source, statement.value
    filled = _appended_to(source, statement, value.id) if isinstance(value, ast.Name) else []
    kind = _kind([*_elements(made), *_put_in(holder, attribute), *filled])
    if not kind or (uses := _uses(where, attribute, f"{nn}.{kind}")) is None:
        return []
    if kind == "ParameterList" and made is not value:
        return []
    inner = [edit for element in _elements(made) for edit in as_parameter(where, element, nn)] if made is value else []
    if isinstance(value, _LISTS) and not list(_elements(value)):
        return [replace(where, value, f"{nn}.{kind}()"), *uses, *_appended(where, holder, attribute, nn, kind)]
    around = [inserted(where, start_of(source, value), f"{nn}.{kind}("), inserted(where, end_of(source, value), ")")]
    return [*around, *inner, *uses]


def _appended(where: Written, holder: ast.ClassDef, attribute: str, nn: str, kind: str) -> list[Edit]:
    """Tensors that are appended later become Parameters there."""
    found = _put_in(holder, attribute) if kind == "ParameterList" else []
    return [edit for element in found for edit in as_parameter(where, element, nn)]


def _mapped(where: Written, made: ast.expr, attribute: str, nn: str, holder: ast.ClassDef) -> list[Edit]:
    source = where.source
    kind = _kind([*_elements(made), *_put_in(holder, attribute)]).replace("List", "Dict")
    keys = made.keys if isinstance(made, ast.Dict) else [made.key] if isinstance(made, ast.DictComp) else []
    if not kind or not keys or not all(key is not None and _is_text(source, key) for key in keys):
        return []
    uses = _uses(where, attribute, f"{nn}.{kind}")
    if uses is None:
        return []
    inner = [edit for element in _elements(made) for edit in as_parameter(where, element, nn)]
    around = [inserted(where, start_of(source, made), f"{nn}.{kind}("), inserted(where, end_of(source, made), ")")]
    return [*around, *inner, *uses]


def as_parameter(where: Written, value: ast.expr, nn: str) -> list[Edit]:
    """``torch.zeros(3, requires_grad=True)`` -> ``nn.Parameter(torch.zeros(3))``; [] for what is no fresh tensor."""
    source = where.source
    core: ast.expr = value
    out: list[Edit] = []
    if called(core) == "requires_grad_" and isinstance(core, ast.Call) and isinstance(core.func, ast.Attribute):
        if core.args and not is_true(core.args[0]):
            return []
        out.append(method_out(where, core))
        core = core.func.value
    if called(core) == "Variable" and isinstance(core, ast.Call) and core.args:
        return [replace(where, value, f"{nn}.Parameter({source.segment(core.args[0])})")]
    if not _is_fresh(core):
        return []
    for node in ast.walk(core):
        keyword = next((k for k in node.keywords if k.arg == FLAG), None) if isinstance(node, ast.Call) else None
        if keyword is not None and isinstance(node, ast.Call):
            if not is_true(keyword.value):
                return []
            out.append(without_argument(where, node, keyword.value))
    return [
        inserted(where, start_of(source, value), f"{nn}.Parameter("),
        *out,
        inserted(where, end_of(source, value), ")"),
    ]


def _is_fresh(value: ast.expr) -> bool:
    """A maker's call, methods called on one, arithmetic with numbers around one."""
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(_is_fresh(s) for s in sides) and all(
            _is_fresh(s) or isinstance(s, (ast.Constant, ast.Name, ast.Attribute)) for s in sides
        )
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if dotted_name(value.func.value) == "torch":
            return value.func.attr in MAKERS
        return _is_fresh(value.func.value)
    return False


# -- what is in it


def _elements(made: ast.expr) -> Iterator[ast.expr]:
    if isinstance(made, (ast.List, ast.Tuple)):
        yield from made.elts
    elif isinstance(made, ast.ListComp):
        yield made.elt
    elif isinstance(made, ast.Dict):
        yield from made.values
    elif isinstance(made, ast.DictComp):
        yield made.value


def _appended_to(source: SourceText, statement: ast.Assign, name: str) -> list[ast.expr]:
    """What the function appends to a list under its local name."""
    scope = source.function(statement) or statement
    appends = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and dotted_name(n.func) == f"{name}.append"]
    return [argument for call in appends for argument in call.args[:1]]


def _put_in(holder: ast.ClassDef, attribute: str) -> list[ast.expr]:
    """What the class appends to ``self.x`` or puts into it by a key."""
    found: list[ast.expr] = []
    for node in ast.walk(holder):
        if isinstance(node, ast.Call) and dotted_name(node.func) == f"self.{attribute}.append" and node.args:
            found.append(node.args[0])
        elif isinstance(node, ast.Assign):
            keyed = [t for t in node.targets if isinstance(t, ast.Subscript)]
            found += [node.value for target in keyed if dotted_name(target.value) == f"self.{attribute}"]
    return found


def _kind(elements: list[ast.expr]) -> str:
    """ "ModuleList" for modules, "ParameterList" for Parameters and tensors, "" where that is not plain to see."""
    kinds = {
        "ParameterList"
        if called(element) == "Parameter" or _is_tensor(element)
        else "ModuleList"
        if called(element)[:1].isupper()
        else ""
        for element in elements
    }
    return next(iter(kinds)) if len(kinds) == 1 else ""


def _is_tensor(value: ast.expr) -> bool:
    core = value.func.value if called(value) == "requires_grad_" and isinstance(value, ast.Call) else value  # type: ignore[attr-defined]
    return _is_fresh(core) and (
        core is not value or any(k.arg == FLAG for n in ast.walk(core) for k in getattr(n, "keywords", ()))
    )


def _only_value(source: SourceText, statement: ast.Assign, name: str) -> ast.expr | None:
    """What a local name was bound to, where it is bound once and not read after ``self.x = name``."""
    scope = source.function(statement)
    if scope is None:
        return None
    values = [value for bound, value, node in definitions(scope) if name in bound and isinstance(node, ast.Assign)]
    later = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name and n.lineno > statement.lineno]
    return values[0] if len(values) == 1 and not later else None


def _owner_class(source: SourceText, node: ast.AST) -> ast.ClassDef | None:
    return next((outer for outer in source.enclosing(node) if isinstance(outer, ast.ClassDef)), None)


def _is_text(source: SourceText, key: ast.expr) -> bool:
    """Whether a key is a string that nn.ModuleDict takes: a constant, ``str(i)``, or a name out of constants."""
    if isinstance(key, ast.Constant):
        return isinstance(key.value, str) and bool(key.value) and "." not in key.value and key.value not in _TAKEN
    if isinstance(key, ast.JoinedStr) or called(key) == "str":
        return True
    if not isinstance(key, ast.Name):
        return False
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, ast.comprehension) and any(key is inner for inner in _beside(source, node)):
            if key.id in bound_names(node.target):
                return _gives_text(source, node.iter)
    return False


def _beside(source: SourceText, loop: ast.comprehension) -> Iterator[ast.AST]:
    parent = source.parents.get(loop)
    yield from ast.walk(parent) if parent is not None else ()


def _gives_text(source: SourceText, through: ast.expr) -> bool:
    if (
        isinstance(through, ast.Call)
        and isinstance(through.func, ast.Attribute)
        and through.func.attr in ("items", "keys")
    ):
        through = through.func.value
    if isinstance(through, ast.Name):
        values = [v for bound, v, _ in definitions(source.tree or ast.Module([], [])) if through.id in bound]
        if len(values) != 1:
            return False
        through = values[0]
    items = (
        through.keys
        if isinstance(through, ast.Dict)
        else through.elts
        if isinstance(through, (ast.List, ast.Tuple))
        else []
    )
    return bool(items) and all(
        item is not None and isinstance(item, ast.Constant) and _is_text(source, item) for item in items
    )


# -- what reads it


def _uses(where: Written, attribute: str, container: str) -> list[Edit] | None:
    """The edits that other uses of the attribute need, None where one of them does not take a module for a list."""
    source = where.source
    edits: list[Edit] = []
    for node in ast.walk(source.tree or ast.Module([], [])):
        if not isinstance(node, ast.Attribute) or node.attr != attribute or not isinstance(node.ctx, ast.Load):
            continue
        parent = source.parents.get(node)
        if _takes(node, parent):
            continue
        if (
            isinstance(parent, ast.Call)
            and node in parent.args
            and called(parent) in ("cat", "stack", "hstack", "vstack")
        ):
            edits += [inserted(where, start_of(source, node), "list("), inserted(where, end_of(source, node), ")")]
        else:
            return None
    return edits


def _takes(node: ast.AST, parent: ast.AST | None) -> bool:
    if isinstance(parent, (ast.For, ast.comprehension, ast.Subscript, ast.Starred, ast.Compare, ast.If, ast.Assign)):
        # ``a, b = self.x`` unpacks; ``y = self.x`` gives it another name.
        return not isinstance(parent, ast.Assign) or isinstance(parent.targets[0], (ast.Tuple, ast.List))
    if isinstance(parent, ast.Call) and node in parent.args:
        return isinstance(parent.func, ast.Name) and parent.func.id in _READERS
    return isinstance(parent, ast.Attribute) and parent.attr in _METHODS
