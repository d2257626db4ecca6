"""What was written in place: the log knows the line and the version, by the memory that a tensor shares with its views."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F

from gradwhy.runtime.watch import Watch
from gradwhy.runtime.writes import WriteLog, memory_key, sequence_now


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch("always")
    watch.start()
    yield watch
    watch.stop()


def _item(x: torch.Tensor) -> object:
    x[0] = 1.0
    return x


def _augmented(x: torch.Tensor) -> object:
    x += 1
    return x


WRITES: list[tuple[str, Callable[[torch.Tensor], object]]] = [
    ("add_", lambda x: x.add_(1)),
    ("+=", _augmented),
    ("item", _item),
    ("out=", lambda x: torch.add(x, 1, out=x)),
    ("relu(inplace)", lambda x: F.relu(x, inplace=True)),
    ("dropout, positional", lambda x: F.dropout(x, 0.5, True, True)),
    ("torch.relu_", torch.relu_),
    ("through a view", lambda x: x.view(-1)[1:].mul_(2)),
    ("through detach()", lambda x: x.detach().zero_()),
    ("copy_", lambda x: x.copy_(torch.ones(4))),
    ("nn.init", torch.nn.init.normal_),
]


@pytest.mark.parametrize("write", [w for _, w in WRITES], ids=[name for name, _ in WRITES])
def test_logs_a_write_with_the_version_that_torch_gives(watch: Watch, write: Callable[[torch.Tensor], object]) -> None:
    x = torch.rand(4) + 1
    before = x._version
    write(x)
    assert x._version > before, "torch counts it as a write"
    found = watch.recorder.writes.to(x, above=before)
    assert [entry.version for entry in found] == [x._version]
    assert found[0].site.file == __file__


@pytest.mark.parametrize(
    "read",
    [lambda x: x + 1, lambda x: x.contiguous(), lambda x: x.to(torch.float32), lambda x: x.requires_grad_(), lambda x: x.data,
     lambda x: F.relu(x), lambda x: x.view(2, 2), lambda x: int(x.sum())],
)  # fmt: skip
def test_logs_nothing_where_torch_counts_no_write(watch: Watch, read: Callable[[torch.Tensor], object]) -> None:
    x = torch.rand(4)
    before = x._version
    read(x)
    assert x._version == before
    assert watch.recorder.writes.to(x, above=before) == []


def test_knows_what_came_before_a_graph_node(watch: Watch) -> None:
    x = torch.rand(4)
    x.add_(1)
    (torch.ones(2, requires_grad=True) * 2).sum()
    node = sequence_now()
    x.mul_(2)
    assert [entry.func.__name__ for entry in watch.recorder.writes.to(x, above=-1, since=node - 1)] == ["mul_"]


def test_keeps_no_tensor_alive(watch: Watch) -> None:
    x = torch.rand(4)
    x.add_(1)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_the_log_stays_bounded() -> None:
    log = WriteLog()
    assert log.entries.maxlen is not None


def test_views_share_their_key_and_copies_do_not() -> None:
    x = torch.rand(4)
    assert memory_key(x) == memory_key(x[1:]) == memory_key(x.detach()) != memory_key(x.clone())
    assert memory_key(torch.sparse_coo_tensor(torch.tensor([[0]]), torch.ones(1), (2,))) == 0


def test_an_optimizer_step_is_known_by_its_parameters(watch: Watch) -> None:
    w, other = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.1)
    w.sum().backward()
    optimizer.step()
    (step,) = watch.journal.stepped
    assert step.holds(memory_key(w)) and not step.holds(memory_key(other))
    assert step.chain[0].file == __file__
