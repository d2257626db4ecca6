"""Call every row of ops.toml on the installed torch: a row that lies fails."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest
import torch
import torch.distributions
import torch.nn.functional as F
import torch.utils.checkpoint
import torch.utils.dlpack
from torch.overrides import TorchFunctionMode, resolve_name

from gradwhy.torchapi.table import (
    ArgumentRow,
    KeepRow,
    LibraryRow,
    LogitRow,
    ModuleRow,
    OpRow,
    ProbabilityRow,
    full_names,
    load,
)

TABLE = load()
VALUE_TYPES = {"number": (bool, int, float, complex), "list": (list,), "text": (str,), "array": (object,)}

pytestmark = pytest.mark.filterwarnings("ignore")


# ---- the little world in which the expressions run ----


def world(values: int = 0) -> dict[str, Any]:
    """Make the names that an expression may use; other `values` give x and p other contents."""
    numbers = torch.Generator().manual_seed(values)
    x = (torch.randperm(12, generator=numbers).float().reshape(3, 4) + 1.5) / 14
    p = torch.rand(3, 4, generator=numbers).softmax(dim=1)
    i = torch.tensor([2, 0, 1])
    return {"torch": torch, "F": F, "x": x.requires_grad_(), "p": p.requires_grad_(), "i": i}


def evaluate(expression: str, name: str | None, names: dict[str, Any]) -> Any:
    """Run an expression, with `f` as the function under test; the grad mode is put back afterwards."""
    if name is not None:
        names = {**names, "f": find(name), "owner": find(name.rpartition(".")[0])}
    torch.manual_seed(0)
    with torch.enable_grad():
        return eval(expression, names)


def find(name: str) -> Any:
    """Return the object of a full dotted name, or raise AttributeError."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def existing(row: OpRow | ArgumentRow | KeepRow | ProbabilityRow | LogitRow) -> list[str]:
    """List the full names of a row that can be called; for a bare name one of the two may be missing."""
    callables = []
    for name in full_names(row.names):
        try:
            found = find(name)
        except AttributeError:
            continue
        if callable(found):
            callables.append(name)
    return callables


def calls_f(expression: str) -> bool:
    return re.search(r"\bf\(", expression) is not None


def cases(rows: Sequence[OpRow | ArgumentRow | KeepRow | ProbabilityRow | LogitRow]) -> list[Any]:
    """Pair each expression with each function it is about."""
    return [
        pytest.param(row, expression, name, id=f"{name or row.names[0]}: {expression}")
        for row in rows
        for expression in row.examples
        for name in (existing(row) if calls_f(expression) else [None])
    ]


# ---- what a result shows ----


def flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def gradients(result: torch.Tensor, names: dict[str, Any]) -> list[torch.Tensor]:
    """Return what arrives at x and p; empty where no path leads there."""
    if not result.requires_grad:
        return []
    inputs = [names["x"], names["p"]]
    start = torch.ones_like(result)
    arrived = torch.autograd.grad(result, inputs, start, retain_graph=True, allow_unused=True)
    return [gradient for gradient in arrived if gradient is not None]


def is_cut(result: Any, names: dict[str, Any]) -> bool:
    return isinstance(result, torch.Tensor) and not result.requires_grad


def has_no_path(result: Any, names: dict[str, Any]) -> bool:
    return isinstance(result, torch.Tensor) and result.is_leaf and not gradients(result, names)


def keeps_path(result: Any, names: dict[str, Any]) -> bool:
    return isinstance(result, torch.Tensor) and any(g.abs().sum() > 0 for g in gradients(result, names))


def is_zero(result: torch.Tensor, names: dict[str, Any]) -> bool:
    arrived = gradients(result, names)
    return result.grad_fn is not None and bool(arrived) and all(g.abs().sum() == 0 for g in arrived)


def raises(result: torch.Tensor, names: dict[str, Any]) -> bool:
    try:
        gradients(result, names)
    except RuntimeError as error:
        return "is not implemented" in str(error)
    return False


SHOWS: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    "cut": is_cut,
    "cast": is_cut,
    "grad-mode": is_cut,
    "constant": lambda result, names: is_cut(result, names) or not isinstance(result, torch.Tensor),
    "builds": has_no_path,
    "detaches": has_no_path,
    "leaves": lambda result, names: not isinstance(result, torch.Tensor),
    "keeps": keeps_path,
    "zero": is_zero,
    "raises": raises,
}


# ---- [[op]] ----


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.ops))
def test_op_does_what_its_row_says(row: OpRow, expression: str, name: str | None) -> None:
    names = world()
    result = evaluate(expression, name, names)
    if row.effect == "leaves":
        assert isinstance(result, VALUE_TYPES[row.value or ""])
        assert not isinstance(result, torch.Tensor)
        return
    results = flat(result)
    expected = row.outputs or (row.effect,) * len(results)
    assert 0 < len(results) <= len(expected)
    for output, effect in zip(results, expected, strict=False):
        assert SHOWS[effect](output, names), f"{effect} expected, got {output!r}"


@pytest.mark.parametrize(
    ("row", "expression", "name"), [case for case in cases(TABLE.ops) if case.values[0].effect == "constant"]
)
def test_constant_ignores_values(row: OpRow, expression: str, name: str | None) -> None:
    one, other = (flat(evaluate(expression, name, world(values))) for values in (1, 2))
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


@pytest.mark.parametrize("expression", [expression for row in TABLE.ops for expression in row.keeps])
def test_counterexample_keeps_the_path(expression: str) -> None:
    names = world()
    results = flat(evaluate(expression, None, names))
    assert any(gradients(result, names) for result in results)


# ---- [[keep]] and [[module]] ----


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.keepers))
def test_a_function_that_keeps_the_path(row: KeepRow, expression: str, name: str | None) -> None:
    names = world()
    for output in flat(evaluate(expression, name, names)):
        assert output.requires_grad, output
        arrived = torch.autograd.grad(
            output, [names["x"], names["p"]], torch.rand_like(output), retain_graph=True, allow_unused=True
        )
        assert any(gradient is not None for gradient in arrived)


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.unsaved))
def test_a_function_that_saves_nothing(row: KeepRow, expression: str, name: str | None) -> None:
    names = world()
    assert name is None or TABLE.keeps(name)
    for output in flat(evaluate(expression, name, names)):
        for _ in range(2):
            torch.autograd.grad(output, [names["x"], names["p"]], torch.ones_like(output), allow_unused=True)


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.views))
def test_a_view_made_without_recording_still_requires_grad(row: KeepRow, expression: str, name: str | None) -> None:
    call = ast.parse(expression, mode="eval").body
    assert isinstance(call, ast.Call) and name is not None
    names = world()
    given = [evaluate(ast.unparse(argument), None, names) for argument in call.args]
    with torch.no_grad():
        for output in flat(find(name)(*given)):
            assert output.requires_grad


def changed(expression: str, name: str | None, result: bool) -> bool:
    """Whether backward refuses after the result, or the first input, has been changed in place."""
    names = world()
    names["x"], names["p"] = names["x"].clone(), names["p"].clone()
    output = flat(evaluate(expression, name, names))[0]
    with torch.no_grad():
        (output if result else names["x"]).add_(1.0)
    try:
        output.backward(torch.ones_like(output))
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.output_saved))
def test_a_function_that_saves_its_result(row: KeepRow, expression: str, name: str | None) -> None:
    assert changed(expression, name, result=True)


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.input_saved))
def test_a_function_that_saves_its_input(row: KeepRow, expression: str, name: str | None) -> None:
    assert changed(expression, name, result=False)


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.probabilities))
def test_a_function_that_gives_probabilities(row: ProbabilityRow, expression: str, name: str | None) -> None:
    (result,) = flat(evaluate(f"[{expression}]", name, world()))
    assert ((result > 0) & (result < 1)).all()
    assert (row.over == "class") is bool(torch.allclose(result.sum(1), torch.ones(3)))


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.logits))
def test_a_loss_that_wants_logits_computes_the_probabilities_itself(
    row: LogitRow, expression: str, name: str | None
) -> None:
    assert torch.allclose(evaluate(expression, name, world()), evaluate(row.same, None, world()))


def test_no_function_both_keeps_and_cuts() -> None:
    for row in TABLE.keepers:
        for name in full_names(row.names):
            found = TABLE.op(name)
            assert found is None or name not in full_names(found.names), name


@pytest.mark.parametrize(
    ("row", "name"), [pytest.param(row, name, id=name) for row in TABLE.modules for name in row.names]
)
def test_a_module_makes_the_parameters_of_its_row(row: ModuleRow, name: str) -> None:
    made = eval(row.examples[0], {"f": find(name)})
    assert tuple(dict(made.named_parameters(recurse=False))) == row.parameters
    assert row.inner == (len(list(made.parameters())) > len(row.parameters))


class Recorder(TorchFunctionMode):
    """Note the name of each call that torch shows to a mode."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(resolve_name(func) or f"{func.__module__}.{func.__qualname__}")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("row", "expression", "name"), [case for case in cases(TABLE.ops) if case.values[2]])
def test_a_mode_sees_the_call_under_a_known_name(row: OpRow, expression: str, name: str) -> None:
    with Recorder() as recorder:
        evaluate(expression, name, world())
    rows = [TABLE.op(seen) for seen in recorder.names]
    if row.seen:  # no_grad is seen as _set_grad_enabled: another row that says the same
        assert any(found and (found.effect, found.because) == (row.effect, row.because) for found in rows)
    else:
        assert row not in rows


def test_no_name_has_two_rows() -> None:
    for rows in (TABLE.ops, TABLE.arguments):
        names = [name for row in rows for name in full_names(row.names)]
        assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("row", [*TABLE.ops, *TABLE.arguments], ids=lambda row: row.names[0])
def test_names_exist(row: OpRow | ArgumentRow) -> None:
    found = existing(row)
    missing = [name for name in row.names if not set(found) & set(full_names((name,)))]
    assert not missing


@pytest.mark.parametrize("row", TABLE.ops, ids=lambda row: row.names[0])
def test_row_is_complete(row: OpRow) -> None:
    assert row.effect in {*SHOWS, "cut-outputs", "sampling"}
    assert any(calls_f(expression) for expression in row.examples), "no expression calls f"
    assert bool(row.outputs) == (row.effect in {"cut-outputs", "sampling"}) or row.effect == "raises"
    assert (row.value in VALUE_TYPES) == (row.effect == "leaves")
    assert row.keeps or row.effect != "cast"


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("argmax", "cut"),
        ("torch.argmax", "cut"),
        ("torch.Tensor.argmax", "cut"),
        ("aten.argmax", "cut"),
        ("aten.sort.stable", "cut-outputs"),
        ("torch.functional.unique", "raises"),
        ("torch._VariableFunctionsClass._unique2", "raises"),
        ("data", "detaches"),
        ("torch.Tensor.data", "detaches"),
        ("one_hot", "cut"),
        ("torch.relu", None),
    ],
)
def test_look_up_by_any_spelling(name: str, effect: str | None) -> None:
    row = TABLE.op(name)
    assert (row and row.effect) == effect


# ---- [[argument]] ----


@pytest.mark.parametrize(("row", "expression", "name"), cases(TABLE.arguments))
def test_argument_needs_no_path(row: ArgumentRow, expression: str, name: str | None) -> None:
    names = world()
    result = evaluate(expression, name, names)
    assert gradients(result, names), "the other arguments keep their path"


def signature_of(name: str) -> list[inspect.Parameter] | None:
    """Return a function's parameters, for a module class those of its call; None where C++ hides them."""
    found = find(name)
    bound = getattr(found, "forward", found)
    try:
        parameters = list(inspect.signature(bound).parameters.values())
    except ValueError:
        return None
    return parameters[1:] if isinstance(found, type) else parameters


@pytest.mark.parametrize(
    ("row", "name"), [pytest.param(row, name, id=name) for row in TABLE.arguments for name in existing(row)]
)
def test_argument_is_where_the_row_says(row: ArgumentRow, name: str) -> None:
    parameters = signature_of(name)
    if parameters is None:
        assert any(calls_f(expression) for expression in row.examples)
    elif row.position is None:
        assert any(q.name == row.keyword and q.kind is q.KEYWORD_ONLY for q in parameters)
    elif row.keyword is not None:
        assert parameters[row.position].name == row.keyword
    assert TABLE.argument(name, row.position, row.keyword) is row
    assert TABLE.is_loss(name) == (row.kind == "loss")


def test_other_arguments_are_unknown() -> None:
    assert TABLE.argument("torch.nn.functional.cross_entropy", 0, None) is None
    assert TABLE.argument("torch.nn.functional.cross_entropy", None, "input") is None
    assert not TABLE.is_loss("torch.nn.functional.softmax")


# ---- [[library]] ----


class LibraryWatch(TorchFunctionMode):
    """Note the frames on the stack whenever torch does not record a call, or drops a path in it."""

    def __init__(self, row: LibraryRow) -> None:
        super().__init__()
        self.row = row
        self.functions: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        had_path = any(isinstance(a, torch.Tensor) and a.requires_grad for a in flat(args))
        has_path = any(isinstance(r, torch.Tensor) and r.requires_grad for r in flat(result))
        if not torch.is_grad_enabled() or (had_path and not has_path):
            frame: FrameType | None = sys._getframe(1)
            while frame is not None:
                if TABLE.library(frame.f_code.co_filename, frame.f_code.co_name) is self.row:
                    self.functions.add(frame.f_code.co_name)
                frame = frame.f_back
        return result


@pytest.mark.parametrize("row", TABLE.libraries, ids=lambda row: f"{row.file} {row.functions[0]}")
def test_library_function_stops_the_path(row: LibraryRow) -> None:
    functions: set[str] = set()
    for expression in row.examples:
        with LibraryWatch(row) as watch:
            evaluate(expression, None, world())
        assert watch.functions, f"{expression} never met {row.functions}"
        functions |= watch.functions
    assert row.functions == ("*",) or functions == set(row.functions)


def test_library_knows_windows_paths_and_leaves_others_alone() -> None:
    row = TABLE.library(r"C:\site-packages\torch\distributions\normal.py", "sample")
    assert row is not None
    assert row.cause == "sampling"
    assert TABLE.library("project/distributions/normal.py", "sample") is None
    assert TABLE.library("project/init.py", "zeros_") is None
