"""Full recording ends when the program is under way, and starts again where it does something new."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from gradwhy.runtime.watch import Watch


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch("auto", seconds_in_full=0.0)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()


def settled(watch: Watch) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        step(model, optimizer)
    assert not watch.recording
    assert watch.recorder not in torch.overrides._get_current_function_mode_stack()
    return model, optimizer


def test_records_until_the_first_steps_are_complete(watch: Watch) -> None:
    assert watch.recording
    settled(watch)


def test_records_again_for_a_block_without_gradients(watch: Watch) -> None:
    settled(watch)
    with torch.no_grad():
        assert watch.recording


def test_records_again_for_another_optimizer(watch: Watch) -> None:
    model, _ = settled(watch)
    torch.optim.SGD(model.parameters(), lr=0.1)
    assert watch.recording


def test_records_again_where_parameters_are_touched(watch: Watch) -> None:
    model, _ = settled(watch)
    for parameter in model.parameters():
        parameter.requires_grad = False
    assert watch.recording
    assert [change.parameters for change in watch.journal.flags.values()] == [2]


def test_not_again_for_a_line_that_it_knows(watch: Watch) -> None:
    model, optimizer = settled(watch)
    for _ in range(3):
        with torch.no_grad():
            model(torch.ones(2, 3))
        for _ in range(4):
            step(model, optimizer)
    assert not watch.recording


def test_waits_for_each_optimizer_in_use(watch: Watch) -> None:
    first, second = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, second)]
    for _ in range(4):
        step(first, optimizers[0])
    assert watch.recording
    for _ in range(3):
        step(second, optimizers[1])
    assert not watch.recording
