"""Ranks that wait for each other: which one did something else, and its line. A rank that is only slow is let alone."""

from __future__ import annotations

from pathlib import Path

from ranked import findings, report_of, told, torchrun, write

MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.extra = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x, short=False):
        if short:
            return self.body(x)
        return self.body(x) + self.extra(x)

model = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
"""

SKIPS = (
    MODEL
    + """
for step in range(4):
    loss = model(torch.randn(8, 4)).mean()
    if rank == 1 and step == 2:
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.barrier()
"""
)


def line_of(folder: Path, text: str) -> int:
    lines = (folder / "train.py").read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_backward_pass_that_a_rank_leaves_out_is_named_while_the_others_wait(tmp_path: Path) -> None:
    write(tmp_path, SKIPS)
    job = torchrun(tmp_path, 2, "--stuck-after", "2", PATIENCE="12")
    assert job.returncode == 1
    while_running, _, after = told(job).partition("Traceback (most recent call last)")
    headline = "likely[ranks-diverge] rank 1 left out 1 backward pass of 4, and the other ranks wait"
    assert [each[: len(headline)] for each in findings(while_running)] == [headline]
    assert "each rank has waited for 2 s or more, or has ended; the program still runs" in while_running
    assert "rank 0: in backward(), 4 backward passes begun, 3 optimizer steps made" in while_running
    assert "rank 1: in barrier(), 3 backward passes begun, 3 optimizer steps made" in while_running
    # And again with what gloo raises in the end, once for both ranks.
    assert [each[: len(headline)] for each in findings(after)] == [headline]


def test_a_rank_that_has_ended_is_named_by_the_loop_that_it_left(tmp_path: Path) -> None:
    write(
        tmp_path,
        MODEL
        + """
for step in range(3 if rank == 3 else 5):
    loss = model(torch.randn(8, 4)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    )
    torchrun(tmp_path, 4, "--output", "report.json", "--format", "json")
    (finding,) = report_of(tmp_path)["findings"]
    assert (finding["symptom"], finding["cause"]) == ("ranks-stuck", "ranks-diverge")
    assert finding["message"].startswith("rank 3 left the loop after 3 backward passes")
    assert finding["at"]["line"] == line_of(tmp_path, "for step in range")
    assert finding["surfaces_at"]["line"] == line_of(tmp_path, "loss.backward()")


def test_a_parameter_that_a_rank_leaves_out_is_named_by_the_condition(tmp_path: Path) -> None:
    write(
        tmp_path,
        MODEL
        + """
loss = model(torch.randn(8, 4), short=rank == 0).mean()
loss.backward()
dist.barrier()
""",
    )
    torchrun(tmp_path, 2, "--output", "report.json", "--format", "json", PATIENCE="5")
    (finding,) = report_of(tmp_path)["findings"]
    assert finding["message"].startswith("rank 0 did not use `extra` in the last forward pass")
    assert (finding["at"]["line"], finding["subject"]) == (line_of(tmp_path, "if short:"), "if short:")


def test_ranks_in_different_collectives_are_told_apart(tmp_path: Path) -> None:
    write(
        tmp_path,
        MODEL
        + """
for step in range(2):
    model(torch.randn(8, 4)).mean().backward()
if rank == 0:
    dist.barrier()
total = torch.zeros(1)
dist.all_reduce(total)
dist.barrier()
""",
    )
    torchrun(tmp_path, 2, "--output", "report.json", "--format", "json", PATIENCE="5")
    (finding,) = report_of(tmp_path)["findings"]
    assert "ranks wait for each other in different calls" in finding["message"]
    assert finding["certainty"] == "proven"


def test_a_rank_that_is_busy_is_no_fault(tmp_path: Path) -> None:
    """While one rank evaluates or saves, the others wait for it in a collective, and rightly so."""
    program = """
for step in range(2):
    model(torch.randn(8, 4)).mean().backward()
if rank == 0:
    time.sleep(4)
dist.barrier()
dist.destroy_process_group()
"""
    write(tmp_path, MODEL + program)
    job = torchrun(tmp_path, 2, "--stuck-after", "1")
    assert (job.returncode, told(job)) == (0, torchrun(tmp_path, 2, watched=False).stderr)


def test_a_rank_that_is_killed_blames_nothing_in_the_program(tmp_path: Path) -> None:
    program = """
for step in range(4):
    if rank == 1 and step == 2:
        os._exit(1)
    model(torch.randn(8, 4)).mean().backward()
"""
    write(tmp_path, MODEL + program)
    job = torchrun(tmp_path, 2)
    assert job.returncode == 1
    assert findings(told(job)) == []
    assert "not in what was recorded" not in told(job)
