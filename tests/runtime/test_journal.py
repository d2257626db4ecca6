"""Who switched gradients off: blocks, decorators, calls, generators and managers of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import torch

from gradwhy.runtime.watch import Watch


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch("always")
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()
        torch.set_grad_enabled(True)


def open_line(watch: Watch) -> int | None:
    scope = watch.journal.scope
    return scope.opener.line if scope is not None and scope.opener is not None and not scope.enables else None


def here() -> int:
    import sys

    return sys._getframe(1).f_lineno


def test_a_block(watch: Watch) -> None:
    with torch.no_grad():
        assert open_line(watch) == here() - 1
    assert open_line(watch) is None


def test_blocks_in_blocks(watch: Watch) -> None:
    with torch.no_grad():
        outer = here() - 1
        with torch.enable_grad():
            assert open_line(watch) is None
            with torch.inference_mode():
                assert open_line(watch) == here() - 1
        assert open_line(watch) == outer


@pytest.mark.parametrize("wrapper", ["decorate_context", "no_grad"])
def test_a_decorated_function_is_known_by_its_code(watch: Watch, wrapper: str) -> None:
    @torch.no_grad()
    def evaluate() -> None:
        scope = watch.journal.scope
        assert scope is not None
        assert scope.decorated is evaluate.__wrapped__.__code__  # type: ignore[attr-defined]

    # The wrapper has the first name up to torch 2.14, the second from 2.15 on.
    evaluate.__code__ = evaluate.__code__.replace(co_name=wrapper)
    evaluate()
    assert watch.journal.scope is None


def test_a_call_that_nothing_undoes(watch: Watch) -> None:
    torch.set_grad_enabled(False)
    line = here() - 1
    torch.nn.Linear(2, 2).to("cpu")
    assert open_line(watch) == line
    assert watch.journal.scope is not None and watch.journal.scope.left_open


def test_a_call_that_the_same_function_undoes(watch: Watch) -> None:
    for _ in range(3):
        torch.set_grad_enabled(False)
        torch.set_grad_enabled(True)
    assert watch.journal.scope is None


def test_switches_in_a_loop_stay_bounded(watch: Watch) -> None:
    def off() -> None:
        torch.set_grad_enabled(False)

    for _ in range(100):
        off()
    depth, scope = 0, watch.journal.scope
    while scope is not None:
        depth, scope = depth + 1, scope.under
    assert depth <= 2


def test_as_a_context_and_as_a_decorator(watch: Watch) -> None:
    with torch.set_grad_enabled(False):
        scope = watch.journal.scope
        assert scope is not None and not scope.left_open

    @torch.set_grad_enabled(False)
    def evaluate() -> bool:
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled()
    assert evaluate() is False
    assert watch.journal.scope is None


def test_an_exception_leaves_the_block_and_is_remembered(watch: Watch) -> None:
    with pytest.raises(ZeroDivisionError) as caught, torch.no_grad():
        line = here() - 1
        raise ZeroDivisionError
    scope = watch.journal.scope_at(caught.value)
    assert scope is not None and scope.opener is not None and scope.opener.line == line
    assert watch.journal.scope is None


def test_a_manager_of_ones_own(watch: Watch) -> None:
    @contextmanager
    def quiet() -> Iterator[None]:
        with torch.no_grad():
            yield

    with quiet(), ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        assert open_line(watch) == here() - 1
    assert watch.journal.scope is None


def test_an_optimizer_step_leaves_the_scope_alone(watch: Watch) -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    torch.set_grad_enabled(False)
    line = here() - 1
    optimizer.step()
    assert open_line(watch) == line


def test_freezing_is_kept_by_line_and_value(watch: Watch) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.requires_grad_(True)
    changes = list(watch.journal.flags.values())
    assert [(change.value, change.parameters) for change in changes] == [(False, 4), (True, 4)]


def test_everything_is_put_back(watch: Watch) -> None:
    names = [
        (torch.autograd.grad_mode.no_grad, "__enter__"),
        (torch.autograd.grad_mode.set_grad_enabled, "__init__"),
        (torch.optim.Optimizer, "__init__"),
        (torch.nn.Module, "parameters"),
        (torch.overrides, "has_torch_function"),
        (torch, "compile"),
    ]
    watch.stop()
    assert not any(hasattr(getattr(owner, name), "__wrapped__") for owner, name in names)
    assert torch.overrides._get_current_function_mode_stack() == []
    assert type(torch.autograd.Variable).__call__ is type.__call__
