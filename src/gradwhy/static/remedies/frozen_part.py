"""Lets through what is frozen on purpose, and undoes freezes that hit too much."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import backward_slice, bound_names, called, dotted_name, names_read, targets
from gradwhy.source.text import Span
from gradwhy.static.first_use import use_before
from gradwhy.static.leaves import parameters_of, with_suffix
from gradwhy.static.remedies import frozen_all, misspelt_flag, requires_grad_missing
from gradwhy.static.remedy import Fault, Spot, replace
from gradwhy.static.rewrites import indent_of, whole_lines_out

# Where the file has one of these, the input may be integers, which can't require grad.
_OF_INTEGERS = frozenset({"Embedding", "EmbeddingBag", "one_hot", "embedding"})


def remedies(fault: Fault) -> Iterable[Fix]:
    if fault.headline in ("misspelt", "headline-misspelt", "headline-module"):
        yield from misspelt_flag.remedies(fault)
    elif fault.headline == "headline-matched":
        yield from _whole_word(fault)
    elif fault.headline == "headline-new":
        yield from frozen_all.order(fault)
    elif fault.headline in ("headline-entry", "headline-frozen"):
        yield from _asked(fault)
    elif fault.headline == "headline":
        yield from _before_freeze(fault)
    elif fault.headline in ("headline-statistics", "headline-dropout"):
        yield from _evaluated(fault)


def _before_freeze(fault: Fault) -> Iterable[Fix]:
    """The forward pass moves above the statement that freezes, where both stand in one block and nothing between is needed."""
    source, spot = fault.source, fault.spot("froze-of", "froze")
    statement = source.statement(fault.node)
    freeze = source.statement(spot.node) if spot is not None and spot.file == fault.file else None
    while freeze is not None and isinstance(parent := source.parents.get(freeze), ast.For) and len(parent.body) == 1:
        freeze = parent
    block = source.block(statement) if statement is not None else []
    if statement is None or freeze is None or freeze not in block or block.index(freeze) >= block.index(statement):
        return
    crossed = block[block.index(freeze) : block.index(statement)]
    read = names_read(statement)
    bound = {name for each in crossed for node in ast.walk(each) for t in targets(node) for name in bound_names(t)}
    last = statement.end_lineno or statement.lineno
    if read & bound or not isinstance(statement, ast.Assign) or crossed[-1].end_lineno == statement.lineno:
        return
    text = "".join(f"{source.line(number)}\n" for number in range(statement.lineno, last + 1))
    edits = (
        replace(fault, Span(freeze.lineno, 1, freeze.lineno, 1), text),
        whole_lines_out(fault, statement.lineno, last),
    )
    title = Message("frozen-part.fix-move", {"statement": Code(source.segment(statement))})
    yield Fix(title=title, applicability="unsafe", edits=edits)


def _evaluated(fault: Fault) -> Iterable[Fix]:
    """``part.eval()`` after the ``model.train()`` that switched the part on, where both are called by the same name; where that
    line also runs before the part is frozen, ``part.train(...)`` by its flag."""
    part, source = fault.args.get("part"), fault.source
    statement = source.statement(fault.node)
    call = fault.node
    if not isinstance(call, ast.Call) or called(call) != "train" or not isinstance(part, Code):
        return
    receiver = dotted_name(call.func).removesuffix(".train")
    root, _, path = part.text.partition(".")
    # What is frozen is one part of what was switched, and not all of it.
    if not path or receiver.rpartition(".")[2] != root or not isinstance(statement, ast.Expr):
        return
    name = receiver + "".join(f"[{each}]" if each.isdecimal() else f".{each}" for each in path.split("."))
    line = statement.end_lineno or statement.lineno
    end = len(source.line(line)) + 1
    shared = bool(fault.args.get("shared"))
    switch = f"train(next({name}.parameters()).requires_grad)" if shared else "eval()"
    edit = replace(fault, Span(line, end, line, end), f"\n{indent_of(source, statement.lineno)}{name}.{switch}")
    title = Message("frozen-part.fix-eval-shared" if shared else "frozen-part.fix-eval", {"part": Code(name)})
    yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _whole_word(fault: Fault) -> Iterable[Fix]:
    """``"encoder" in name`` -> ``name.startswith("encoder.")``, where the class has a part of that name."""
    node, source = fault.node, fault.source
    if not isinstance(node, ast.Compare) or not isinstance(node.comparators[0], ast.Name):
        return
    word = node.left.value if isinstance(node.left, ast.Constant) else None
    if not isinstance(word, str) or not word.isidentifier() or not _is_part(fault, word):
        return
    new = f"{source.segment(node.comparators[0])}.startswith({word + '.'!r})".replace("'", '"')
    title = Message("frozen-part.fix-matched", {"result": Code(new)})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, node, new),))


def _is_part(fault: Fault, word: str) -> bool:
    """Whether exactly one class of the file has a part of this name, and the names that are gone through are its own."""
    holders = [
        kind
        for kind in ast.walk(fault.source.tree or ast.Module([], []))
        if isinstance(kind, ast.ClassDef)
        and any(
            isinstance(n, ast.Assign) and any(dotted_name(t) == f"self.{word}" for t in n.targets)
            for n in ast.walk(kind)
        )
    ]
    return len(holders) == 1


def _asked(fault: Fault) -> Iterable[Fix]:
    """Asks only for what requires grad; lets a name, or the frozen network's input, require grad."""
    filtered = _filtered(fault)
    if filtered:
        result = next(edit.new_text for edit in filtered)
        title = Message("frozen-part.fix-asked", {"result": Code(result)})
        yield Fix(title=title, applicability="unsafe", edits=tuple(filtered))
        return
    name, asked = fault.args.get("name"), fault.spot("asked")
    if asked is None or not isinstance(name, Code) or fault.headline != "headline-entry":
        return
    found = list(requires_grad_missing.flagged(fault, asked, name.text))
    yield from found or _input(asked)


def _filtered(fault: Fault) -> list[Edit]:
    """``list(m.parameters())`` -> ``[p for p in m.parameters() if p.requires_grad]``: where the list is made, or given to a
    Function whose backward asks for all that it was given."""
    node: ast.AST | None = fault.node
    listed = _listing(node) if node is not None else None
    asked = fault.spot("asked")
    name = fault.args.get("name")
    if listed is None and asked is not None and isinstance(name, Code) and name.text.isidentifier():
        statement = asked.source.statement(asked.node)
        use = use_before(asked.source, statement, name.text) if statement is not None else None
        node = getattr(use.binding, "value", None) if use is not None else None
        listed = _listing(node) if node is not None else None
    if listed is not None and node is not None:
        text = fault.source.segment(listed)
        return [replace(fault, node, f"[p for p in {text} if p.requires_grad]")]
    return _applied(fault) if fault.headline == "headline-frozen" else []


def _listing(node: ast.AST) -> ast.expr | None:
    """``m.parameters()`` of itself, and of ``list(m.parameters())``."""
    if called(node) in ("list", "tuple") and isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return node if isinstance(node, ast.expr) and parameters_of(node) is not None else None


def _applied(fault: Fault) -> list[Edit]:
    """The one ``Function.apply(..., *m.parameters())`` of the class whose backward asks."""
    asked = fault.spot("asked")
    function = asked.source.function(asked.node) if asked is not None else None
    kind = asked.source.parents.get(function) if asked is not None and function is not None else None
    if asked is None or not isinstance(kind, ast.ClassDef) or getattr(function, "name", "") != "backward":
        return []
    given = [
        argument
        for call in ast.walk(asked.source.tree or ast.Module([], []))
        if isinstance(call, ast.Call) and dotted_name(call.func) == f"{kind.name}.apply"
        for argument in call.args
        if isinstance(argument, ast.Starred) and _listing(argument.value) is not None
    ]
    if len(given) != 1:
        return []
    listed = _listing(given[0].value)
    assert listed is not None
    text = f"*(p for p in {asked.source.segment(listed)} if p.requires_grad)"
    return [replace(asked, given[0], text)]


def _input(asked: Spot) -> Iterable[Fix]:
    """``self.model(image)`` -> ``self.model(image.detach().requires_grad_(True))`` where the outputs that are differentiated come
    from one network's call on one argument of the function."""
    source = asked.source
    call = next((n for n in ast.walk(asked.node) if called(n) in ("grad", "backward")), None)
    statement = source.statement(asked.node)
    if call is None and statement is not None:
        call = next((n for n in ast.walk(statement) if called(n) in ("grad", "backward")), None)
    function = source.function(asked.node)
    if (
        not isinstance(call, ast.Call)
        or not call.args
        or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    ):
        return
    given = {a.arg for a in function.args.args} - {"self"}
    networks = {
        id(n): n
        for value in backward_slice(source, call.args[0])
        for n in ast.walk(value)
        if isinstance(n, ast.Call) and len(n.args) == 1 and isinstance(n.args[0], ast.Name) and n.args[0].id in given
        and dotted_name(n.func) and dotted_name(n.func).partition(".")[0] not in ("torch", "F", "math", "np")
    }  # fmt: skip
    names = {n.id for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.Attribute)}
    if len(networks) != 1 or names & _OF_INTEGERS:
        return
    network = next(iter(networks.values()))
    edits = with_suffix(asked, network.args[0], ".detach().requires_grad_(True)")
    title = Message("frozen-part.fix-input", {"input": Code(source.segment(network.args[0]))})
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))
