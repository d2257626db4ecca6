"""How ranks agree on who tells what, and what is said of their reports: without processes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gradwhy.findings import Finding, Location, Message, Report, wire
from gradwhy.runtime.ranks import Member, deciding, diverging, enter, here, joining, leave
from gradwhy.runtime.ranks.board import FolderBoard, Gone, StoreBoard
from gradwhy.runtime.ranks.standing import State, from_json, read_stack
from gradwhy.runtime.sites import Site
from gradwhy.source import text


def finding(cause: str = "detach", line: int = 3) -> Finding:
    at = Location(file="train.py", line=line)
    return Finding(
        cause=cause, symptom="no-graph", engine="runtime", severity="error", certainty="proven", subject="x", at=at,
        message=Message(f"{cause}.headline"), fingerprint=f"{cause}{line}",
    )  # fmt: skip


def report(*found: Finding, notes: tuple[Message, ...] = ()) -> Report:
    return Report(findings=found, examined={"operations": 3}, notes=notes, environment={"python": "3.11"})


@pytest.mark.parametrize(
    ("ranks", "said"), [([0], "0"), ([3, 1, 2, 0], "0-3"), ([0, 2, 3, 7], "0, 2-3, 7"), ([1, 1], "1"), ([], "")]
)
def test_spans(ranks: list[int], said: str) -> None:
    assert joining.spans(ranks) == said


def test_the_same_finding_of_several_ranks_is_one() -> None:
    joined = joining.joined({0: report(finding()), 2: report(finding(), finding("argmax")), 1: report()}, 4)
    assert [(each.cause, each.evidence[0].facts["ranks"]) for each in joined.findings] == [
        ("detach", (0, 2)),
        ("argmax", (2,)),
    ]
    assert [each.evidence[0].claim and each.evidence[0].claim.id for each in joined.findings] == [
        "words.ranks-some",
        "words.ranks-one",
    ]
    assert joined.environment == {"python": "3.11", "ranks": "0-2 of 4"}
    assert wire.from_data(wire.to_data(joined, lambda message: message.id)) == joined


def test_a_rank_without_an_answer_adds_no_doubt_to_one_that_has_it() -> None:
    unanswered = report(notes=(Message("words.no-answer", {"operations": 3}), Message("words.compiled-ran-eager")))
    joined = joining.joined({0: unanswered, 1: report(finding())}, 2)
    assert [note.id for note in joined.notes] == ["words.compiled-ran-eager"]
    assert [note.id for note in joining.joined({0: unanswered}, 2).notes] == [note.id for note in unanswered.notes]


def take_all(folder: Path, found: Mapping[int, Report], size: int) -> list[joining.Turn]:
    """Each report is a rank's, all at once."""
    turns: dict[int, joining.Turn] = {}

    def one(rank: int) -> None:
        member = Member(rank, size, FolderBoard(str(folder)))
        joining.coming(member)
        turns[rank] = joining.take(member, found[rank])
        turns[rank].done()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [turns[rank] for rank in sorted(turns)]


def test_one_of_the_ranks_tells_and_all_know_what_was_told(tmp_path: Path) -> None:
    turns = take_all(tmp_path, {0: report(finding()), 1: report(finding()), 2: report(finding("argmax"))}, 3)
    assert sum(turn.fresh is not None for turn in turns) == 1
    assert all([each.cause for each in turn.report.findings] == ["detach", "argmax"] for turn in turns)


def test_a_rank_that_comes_late_tells_what_is_new_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "WAIT", 0.01)
    board = FolderBoard(str(tmp_path))
    turns = []
    for rank, found in enumerate([report(finding()), report(finding()), report(finding("argmax"))]):
        joining.coming(member := Member(rank, 4, board))
        turns.append(joining.take(member, found))
        turns[-1].done()
    fresh = [turn.fresh and [each.cause for each in turn.fresh.findings] for turn in turns]
    assert fresh == [["detach"], None, ["argmax"]]
    assert [each.cause for each in turns[2].report.findings] == ["detach", "argmax"]


def test_a_rank_that_fails_again_is_told_of_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program does that catches what it raises: first both ranks, then rank 1 alone, then both."""
    monkeypatch.setattr(joining, "WAIT", 0.05)
    episodes = [
        {0: finding("argmax"), 1: finding("argmax")},
        {1: finding("detach")},
        {0: finding("item"), 1: finding("item")},
    ]
    told = []
    for episode in episodes:
        turns = take_all(tmp_path, {rank: report(each) for rank, each in episode.items()}, 2)
        (fresh,) = [turn.fresh for turn in turns if turn.fresh is not None]
        told += [(each.cause, each.evidence[0].facts["ranks"]) for each in fresh.findings]
    assert told == [("argmax", (0, 1)), ("detach", (1,)), ("item", (0, 1))]


def test_a_rank_with_nothing_new_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(member: Member, key: str) -> None:
        raise AssertionError(f"rank {member.rank} waits for {key}")

    monkeypatch.setattr(joining, "WAIT", 0.01)
    monkeypatch.setattr(joining, "_wait_for", wait)
    for rank in range(4):
        turn = joining.take(Member(rank, 4, FolderBoard(str(tmp_path))), report(finding()))
        assert (turn.fresh is None) == (rank > 0)
        turn.done()


def test_a_rank_that_was_to_tell_and_died_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "WAIT", 0.01)
    monkeypatch.setattr(joining, "_TOLD", 0.05)
    board = FolderBoard(str(tmp_path))
    joining.take(Member(0, 2, board), report(finding()))
    turn = joining.take(Member(1, 2, board), report(finding()))
    assert turn.fresh is not None
    assert turn.fresh.findings[0].evidence[0].facts["ranks"] == (0, 1)


def test_a_board_that_is_gone_leaves_each_rank_to_itself(tmp_path: Path) -> None:
    member = Member(1, 2, FolderBoard(str(tmp_path / "none")))
    joining.coming(member)
    turn = joining.take(member, report(finding()))
    assert turn.fresh is not None
    assert turn.fresh.findings[0].evidence[0].facts == {"ranks": (1,), "of": 2}
    with pytest.raises(Gone):
        StoreBoard("127.0.0.1", 9, "x").read("key")


def test_a_store_is_read_and_claimed_without_a_group() -> None:
    from torch.distributed import TCPStore

    with_keys = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    one, other = (StoreBoard("127.0.0.1", with_keys.port, "gradwhy/x/0") for _ in range(2))
    before = with_keys.num_keys()
    assert one.read("state/0") is None
    one.post("state/0", "waits")
    assert other.read("state/0") == "waits"
    assert (one.claim("turn/0"), other.claim("turn/0")) == (True, False)
    assert (one.add("failing", 1), other.add("failing", 1), one.add("failing", 0)) == (1, 2, 2)
    assert with_keys.check(["gradwhy/x/0/state/0"])
    assert with_keys.num_keys() == before + 3


@pytest.mark.parametrize(
    ("given", "rank"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}, 1),
        ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "h", "MASTER_PORT": "1"}, None),
        ({"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}, None),
        ({"RANK": "x", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}, None),
        ({"RANK": "1", "WORLD_SIZE": "2"}, None),
        ({}, None),
    ],
)
def test_which_rank_an_environment_means(given: dict[str, str], rank: int | None) -> None:
    try:
        member = enter(given)
        assert (member and member.rank) == rank
        assert here() is member
    finally:
        leave()


# -- how ranks differ

LOOP = """\
for step in range(4):
    loss = model(x)
    if odd(loss):
        continue
    loss.backward()
dist.barrier()
"""


@pytest.fixture
def places() -> dict[int, Location]:
    text.give("looped.py", LOOP)
    return {line: Location(file="looped.py", line=line) for line in range(1, 7)}


def state(rank: int, doing: str, at: Location | None, forwards: int, backwards: int, **more: object) -> State:
    op = {"backward": "backward", "collective": "barrier"}.get(doing, "")
    return State(rank, doing, op, at, forwards, backwards, backwards, **more)  # type: ignore[arg-type]


def test_ranks_that_differ_and_ranks_that_do_not(places: dict[int, Location]) -> None:
    forward, backward, barrier = places[2], places[5], places[6]
    lines = {"forward_at": forward, "backward_at": backward}
    waits = [state(rank, "backward", backward, 4, 4, **lines) for rank in (0, 2)]

    def told(*states: State, size: int = 0) -> tuple[str, int] | None:
        found = diverging.finding(states, size or len(states))
        return (found.message.id.rpartition("-")[2], found.at.line) if found is not None else None

    assert told(*waits, state(1, "backward", backward, 4, 4, **lines)) is None
    assert told(*waits, state(1, "collective", barrier, 4, 3, **lines)) == ("skipped", 3)
    assert told(*waits, state(1, "ended", None, 4, 3, **lines)) == ("skipped", 3)
    assert told(*waits, state(1, "ended", None, 3, 3, **lines)) == ("shorter", 1)
    assert told(*waits, state(1, "collective", barrier, 3, 3, **lines)) == ("shorter", 1)
    # One that has got its last part, and one that still waits for it.
    lags = state(3, "backward", backward, 3, 3, **lines)
    assert told(*waits, lags, state(1, "ended", None, 3, 3, **lines)) == ("shorter", 1)
    # One that waits inside the loop has left nothing yet: it may be a collective of the forward pass.
    assert told(*waits, state(1, "collective", forward, 4, 3, **lines)) == ("elsewhere", 2)
    # An evaluation that goes forward with gradients is no pass that was left out.
    assert told(*waits, state(1, "backward", backward, 9, 4, **lines)) is None
    # Of one that is not known nothing is said, and it keeps what can't change from being said of no other.
    assert told(*waits, state(1, "ended", None, 3, 3, **lines), size=4) == ("shorter", 1)
    assert told(*waits, state(1, "collective", barrier, 3, 3, **lines), size=4) is None
    assert told(*waits, size=3) is None
    # All have ended, or nobody waits.
    assert told(state(0, "ended", None, 4, 4), state(1, "ended", None, 3, 3)) is None


def test_parameters_that_some_ranks_used(places: dict[int, Location]) -> None:
    one = replace(state(0, "backward", places[5], 1, 1), used={"a": places[2], "b": places[5]})
    other = replace(state(1, "collective", places[6], 1, 1), used={"a": places[2]}, unused=("b",))
    found = diverging.finding([one, other], 2)
    assert found is not None
    assert (found.message.id, found.message.args["ranks"]) == ("ranks-diverge.headline-unused", "1")
    # What no rank uses is not what they differ in.
    neither = replace(one, used={"a": places[2]}, unused=("b",))
    found = diverging.finding([neither, other], 2)
    assert found is not None
    assert found.message.id == "ranks-diverge.headline-elsewhere"


def test_a_state_is_the_same_after_the_board(places: dict[int, Location]) -> None:
    one = replace(state(0, "backward", places[5], 1, 1), used={"a": places[2]}, unused=("b",), forward_at=places[2])
    assert from_json(one.key()) == one


CONDITIONS = """\
def step(model, x, use):
    if use:
        y = model(x)  # 2
    if x is None:
        return
    y = model(x)  # 4
    for part in x:
        if part:
            break
        y = model(part)  # 8
        if use:
            if part:
                y = model(use)
    return y
z = model(1)
"""


@pytest.mark.parametrize(("line", "test"), [(3, 2), (6, 4), (10, 8), (13, None), (15, None)])
def test_the_one_condition_of_a_line(line: int, test: int | None) -> None:
    text.give("conditions.py", CONDITIONS)
    found = deciding.whether(Location(file="conditions.py", line=line))
    assert (found and found.line) == test


# (file in torch, function), the innermost first
ENGINE = ("autograd/graph.py", "_engine_run_backward")
BACKWARD = [ENGINE, ("autograd/__init__.py", "backward"), ("_tensor.py", "backward")]
BARRIER = [("distributed/distributed_c10d.py", "barrier"), ("distributed/c10d_logger.py", "wrapper")]


@pytest.mark.parametrize(
    ("stack", "doing", "op"),
    [
        (BACKWARD, "backward", "backward"),
        (BARRIER, "collective", "barrier"),
        ([*BARRIER, *BACKWARD], "backward", "backward"),
        (
            [("nn/parallel/distributed.py", "_sync_buffers"), ("nn/modules/module.py", "_call_impl")],
            "forward",
            "forward",
        ),
        (
            [("_ops.py", "__call__"), ("distributed/_functional_collectives.py", "all_reduce")],
            "collective",
            "all_reduce",
        ),
        (
            [("distributed/distributed_c10d.py", "all_gather"), ("distributed/fsdp/x.py", "pre")],
            "collective",
            "all_gather",
        ),
        # What computes, or writes a checkpoint, does not wait.
        ([("nn/modules/linear.py", "forward"), ("nn/parallel/distributed.py", "forward")], "other", ""),
        ([("serialization.py", "save"), ("distributed/checkpoint/state_dict_saver.py", "save")], "other", ""),
        ([], "other", ""),
    ],
)
def test_what_a_stack_is_in(stack: list[tuple[str, str]], doing: str, op: str) -> None:
    site = Site(test_spans.__code__, 0)
    frames = [(f"/lib/site-packages/torch/{file}", name, site) for file, name in stack]
    found = read_stack([*frames, ("/home/user/train.py", "main", site)])
    assert found[:2] == (doing, op)
    assert doing == "other" or found[2] is site
