"""Errors of ``torch.func`` (vmap, grad, jacrev, hessian): what a transform can't see through, and which line asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable

from gradwhy.findings import Finding
from gradwhy.runtime import transforms
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.names import Names
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.transformed import classes, outputs, places

SYMPTOM = "functorch"

# What torch says (aten/src/ATen/functorch, torch/_functorch, torch/autograd/__init__.py), and who answers.
_SAID: tuple[tuple[str, Callable[[Situation], list[Finding]]], ...] = (
    (r"either \(1\) calling \.item\(\) on a Tensor or", places.left_or_branch),
    (r"calling \.item\(\) on a Tensor|not implemented for aten::(?:item|_local_scalar_dense)", places.left_torch),
    (
        r"Cannot access data pointer of Tensor that doesn't have storage|Cannot access storage of BatchedTensorImpl",
        places.no_memory,
    ),
    (r"data-dependent control flow|not implemented for aten::is_nonzero", places.branch),
    (
        r"batching operators that can (?:support|output) dynamic shape|vmap over `mask` in torch\.masked_select",
        places.shape,
    ),
    (
        r"called random operation while in randomness error mode|different inplace randomness on an unbatched",
        places.random,
    ),
    (r"due to `other` being vmapped over but `self` not being vmapped", places.unbatched),
    (r"output with shape .* doesn't match the broadcast shape", places.unbatched),
    (r"backward\(\) called inside (?:a functorch transform|torch\.vmap)", places.autograd),
    (r"attempting to call Tensor\.(?:requires_grad_|retain_grad)\(\)", places.autograd),
    (r"autograd\.grad\(outputs, inputs, grad_outputs\) called inside torch\.vmap", places.autograd),
    (r"mutating directly with `\.data` inside functorch", places.data),
    (r"don't yet support saved tensor hooks", places.saved_hooks),
    (r"would mutate a captured Tensor", places.captured),
    (r"Batch norm got a batched tensor as input", places.captured),
    (r"may have escaped from inside a function being vmapped", places.escaped),
    (r"Expected all tensors to have the same size in the mapped dimension", places.mapped),
    (r"If `is_grads_batched=True`, we interpret the first dimension", places.batched_gradient),
    (
        r"Expected f\(\*args\) to return a scalar Tensor|given to hessian should contain a single element",
        outputs.not_scalar,
    ),
    (r"v can only be None if the user-provided function returns a single Tensor with a single", outputs.not_scalar),
    (r"^The outputs? .*given to \w+ must be either a Tensor or a tuple of Tensors", outputs.not_tensor),
    (r"^Output \d+ of the user-provided function does not require gradients", outputs.not_floating),
    (r"Expected f\(\*args\) to return a Tensor, got|[Ee]xpected f\(\*\w+\) to return only tensors", outputs.not_tensor),
    (r"All outputs of f must be floating-point or complex", outputs.not_floating),
    (r"must override the setup_context staticmethod", classes.context),
    (r"it does not have vmap support", classes.rule),
)
# Said outside of transforms as well: only mine where the failing line is inside one, or has a tensor that came out of one.
_OF_OTHERS = (
    r"element \d+ of tensors does not require grad and does not have a grad_fn",
    r"One of the differentiated Tensors does not require grad",
)


def matches(failure: Failure) -> bool:
    return _answer(failure) is not None


def diagnose(situation: Situation) -> list[Finding]:
    answer = _answer(situation.failure)
    return answer(situation) if answer is not None else []


def _answer(failure: Failure) -> Callable[[Situation], list[Finding]] | None:
    if not isinstance(failure.error, (RuntimeError, ValueError, TypeError)):
        return None
    text = failure.text
    for pattern, answer in _SAID:
        if re.search(pattern, text):
            return answer if _is_functorchs(text) or transforms.inside(failure) or answer is places.no_memory else None
    if any(re.search(pattern, text) for pattern in _OF_OTHERS):
        if transforms.inside(failure):
            return places.autograd
        held = any(transforms.is_wrapped(tensor) for _, tensor in Names(failure.frames).tensors())
        return places.escaped_loss if held else None
    return None


def _is_functorchs(text: str) -> bool:
    """Whether the words alone tell that a transform is at work."""
    return not text.startswith("output with shape")
