"""Copied beside a program as ``faults_call.py``: traces a training step with TorchLens and writes what its audits say.

The step is put into a module that returns the loss, so that the loss is traced as well and ``log_backward`` can be used.
"""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path
from typing import Any

ORDER = json.loads(Path("faults_call.json").read_text("utf-8"))
reached = 0


def here(program: dict[str, Any], local: dict[str, Any]) -> None:
    global reached
    reached += 1
    if reached == ORDER["times"]:
        exec(compile(ORDER["code"], "the call", "exec"), {**program, **local, "check": check, "twin": ORDER["twin"]})


def lines_of(context: Any) -> list[int]:
    """The lines of the program among an operation's calls, innermost first; TorchLens has them the other way round."""
    return [int(at.line_number) for at in reversed(context or ()) if Path(str(at.file)).name == "train.py"]


def line_of(error: Exception) -> int | None:
    """The innermost line of the program in an exception's traceback; the line of the call itself isn't one."""
    frames = traceback.extract_tb(error.__traceback__)
    found = [frame.lineno for frame in frames if Path(frame.filename).name == "train.py"]
    return found[-1] if found else None


def check(
    model: Any,
    inputs: Any,
    targets: Any = None,
    *,
    loss_fn: Any = None,
    forward_fn: Any = None,
    **_: Any,
) -> None:
    import torch
    import torchlens

    said: list[tuple[int | None, str, bool]] = []
    shown: set[int] = set()

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            rest = iter(tensors)
            every = [next(rest) if isinstance(value, torch.Tensor) else value for value in values]
            if isinstance(inputs, dict):
                outputs = self.model(**dict(zip(inputs, every)))
            elif forward_fn is not None:
                outputs = forward_fn(self.model, tuple(every) if isinstance(inputs, tuple) else every[0], targets)
            else:
                outputs = self.model(*every)
            if loss_fn is None:
                return outputs
            return loss_fn(outputs) if targets is None else loss_fn(outputs, targets)

    # Only tensors are given to trace; a name of a task, a list of sentences and the like stay as they are.
    values = list(inputs.values() if isinstance(inputs, dict) else inputs if isinstance(inputs, tuple) else [inputs])
    given = [value for value in values if isinstance(value, torch.Tensor)]
    step = Step()
    step.train()
    trace = None
    try:
        trace = torchlens.trace(step, given, capture=torchlens.options.CaptureOptions(save_grads=True))
    except Exception as error:
        said.append((line_of(error), f"trace: {type(error).__name__}: {error}", True))
    if trace is not None:
        by_name = {}
        for op in trace.ops:
            lines = lines_of(op.code_context)
            by_name[f"{op.layer_label}"] = lines[0] if lines else None
            shown.update(lines)
        # Lists of modules, and a model whose methods are called instead, never run and hold nothing themselves; lists of
        # parameters and the output layer of torch's attention are used without being called.
        held = (
            torch.nn.modules.linear.NonDynamicallyQuantizableLinear,
            torch.nn.ParameterList,
            torch.nn.ParameterDict,
        )
        modules = dict(step.named_modules())
        holders = {name for name, each in modules.items() if each._parameters and not isinstance(each, held)}
        unused = [str(name) for name in trace.uncalled_modules if str(name) in holders]
        if unused:
            said.append((None, f"never ran: {', '.join(unused)}", True))
        if loss_fn is not None:
            try:
                trace.log_backward(trace[trace.output_layers[0]].out)
                rows, _attributes = torchlens.debug.gradient_flow_audit_rows(trace)
                flagged = [row for row in rows if row["dead"] or row["vanishing"] or row["exploding"]]
                flagged.sort(key=lambda row: not row.get("is_frontier"))
                for row in flagged:
                    name = str(row["op"]).partition(":")[0]
                    kind = next(word for word in ("dead", "vanishing", "exploding") if row[word])
                    said.append((by_name.get(name), f"{kind} gradient at {row['op']}", True))
            except Exception as error:
                said.append((line_of(error), f"log_backward: {type(error).__name__}: {error}", True))
        try:
            said += [(None, str(finding), True) for finding in torchlens.debug.audit_trace(trace).findings]
        except Exception as error:
            said.append((None, f"audit: {type(error).__name__}: {error}", False))
    Path("faults_answer.json").write_text(json.dumps({"said": said, "shown": sorted(shown)}), "utf-8")
    os._exit(0)
