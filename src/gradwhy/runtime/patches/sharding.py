"""``fully_shard`` (FSDP2): puts sharded parameters in the place of a model's own, and computes with others that it gathers.

The journal knows each of them as the sharded one, which the model and the optimizer have.
(torch/distributed/fsdp/_fully_shard/_fsdp_param.py: ``FSDPParam``.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradwhy.runtime import arrival

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_MODULE = "torch.distributed.fsdp._fully_shard._fsdp_param"


def install(watch: Watch) -> Callable[[], None]:
    """Patch it as soon as the program has imported it."""
    undo: list[Callable[[], None]] = []
    over: list[bool] = []

    def arrived() -> None:
        if not over:
            watch._quietly(_patch, watch, undo)

    arrival.when_imported(_MODULE, arrived)

    def end() -> None:
        over.append(True)
        watch._unpatch(undo)

    return end


def _patch(watch: Watch, undo: list[Callable[[], None]]) -> None:
    module = sys.modules[_MODULE]
    journal = watch.journal

    def stands(held: Any) -> None:
        gathered = getattr(held, "_unsharded_param", None)
        if gathered is not None:
            journal.stand_ins[id(gathered)] = id(held.sharded_param)

    def made(original: Any) -> Any:
        def __init__(held: Any, param: Any, *args: Any, **kwargs: Any) -> None:
            original(held, param, *args, **kwargs)
            watch._quietly(lambda: journal.became(param, held.sharded_param))

        return __init__

    def gathering(original: Any) -> Any:
        def init_unsharded_param(held: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(held, *args, **kwargs)
            watch._quietly(stands, held)
            return result

        return init_unsharded_param

    known = getattr(module, "FSDPParam", None)
    if known is None or not hasattr(known, "init_unsharded_param"):
        return
    watch._replace(known, "__init__", made, undo)
    watch._replace(known, "init_unsharded_param", gathering, undo)
