# SPDX-License-Identifier: MIT
"""Rotary: rotates queries and keys, with gradients, and the operator torch.ops.inlay.rotate.

The operator is stateless like the others: the spec of a Rotary is one of its arguments, as JSON.
"""

import functools
import json
from typing import Any, Callable, Optional, Union

import torch
from torch import Tensor, nn

import inlay

from .operators import OPERATOR, TAGS, TORCH, is_recorded, register, way_of

_TYPES = (torch.float32, torch.float16, torch.bfloat16)

_library = torch.library.Library("inlay", "FRAGMENT")
_library.define(
    "rotate(Tensor[] tensors, Tensor? position_ids, SymInt start, str spec, bool inverse, bool heads_first) "
    "-> Tensor[]",
    tags=TAGS,
)


@functools.lru_cache(maxsize=64)
def _rotary_of(spec: str) -> inlay.Rotary:
    return inlay.Rotary(**json.loads(spec))


def _readable(tensor: Tensor) -> Tensor:
    """Returns a detached tensor with contiguous columns and without broadcast dimensions, by a copy if necessary."""
    tensor = tensor.detach()
    return tensor if tensor.stride(-1) == 1 and 0 not in tensor.stride() else tensor.contiguous()


def _checked_positions(at: Tensor) -> Tensor:
    """Returns positions as int64. Raises IndexError for one outside of [0, 2^31): on other devices and in graphs, while
    they run."""
    if at.is_floating_point() or at.is_complex() or at.dtype == torch.bool:
        raise TypeError(f"position_ids has elements of {at.dtype}, expected integers")
    at = at.long()  # PyTorch has no min() and no index for unsigned integers
    if is_recorded() or not at.is_cpu:
        torch._assert_async(((at >= 0) & (at < 2**31)).all(), "a position is not in [0, 2147483648)")
        return at
    own = at
    while torch._C._functorch.is_functorch_wrapped_tensor(own):
        own = torch._C._functorch.get_unwrapped(own)
    for value in (int(own.min()), int(own.max())) if own.numel() else ():
        if not 0 <= value < 2**31:
            raise IndexError(f"position {value} is not in [0, 2147483648)")
    return at


def _call(
    tensors: list[Tensor], position_ids: Optional[Tensor], start: int, spec: str, inverse: bool, heads_first: bool
) -> list[Tensor]:
    """Calls a Rotary without PyTorch's dispatcher. The outputs come from the pool."""
    given = [_readable(tensor) if tensor.dim() else tensor for tensor in tensors]
    options = {"position_ids": position_ids, "inverse": inverse, "heads_first": heads_first}
    found = _rotary_of(spec)(*given, start=None if position_ids is not None else start, **options)
    return [found] if len(given) == 1 else list(found)


class _Rotate(torch.autograd.Function):
    """Calls `compute` with gradients. A rotation is linear, and its gradient is the inverse rotation."""

    @staticmethod
    def forward(ctx: Any, compute: Callable[..., list[Tensor]], *values: Any) -> tuple[Tensor, ...]:
        position_ids, *others = values[:5]
        ctx.save_for_backward(position_ids)
        ctx.others = others
        rotated = compute(list(values[5:]), *values[:5])
        ctx.mark_non_differentiable(*[x for x, want in zip(rotated, ctx.needs_input_grad[6:]) if not want])
        return tuple(rotated)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Optional[Tensor], ...]:
        start, spec, inverse, heads_first = ctx.others
        (position_ids,) = ctx.saved_tensors
        wanted = ctx.needs_input_grad[6:]
        given = [gradient for gradient, want in zip(gradients, wanted) if want]
        found = iter(torch.ops.inlay.rotate(given, position_ids, start, spec, not inverse, heads_first))
        return *[None] * 6, *[next(found) if want else None for want in wanted]


def _differentiate(compute: Callable[..., list[Tensor]], tensors: list[Tensor], *others: Any) -> list[Tensor]:
    return list(_Rotate.apply(compute, *others, *tensors))


register(_library, "rotate", _call, _differentiate)


@torch.library.register_fake("inlay::rotate", lib=_library)
def _fake_rotate(tensors: list[Tensor], *others: Any) -> list[Tensor]:
    return [tensor.new_empty(tensor.shape) for tensor in tensors]


class Rotary(nn.Module):
    """Rotates queries and keys by their positions. Its arguments are those of inlay.Rotary.

    Call it with 1 to 8 tensors [batch, length, heads, columns] of the same tokens, or with heads_first [batch, heads,
    length, columns]. It returns new tensors: one, or a tuple of several. position_ids broadcast to [batch, length], or
    with several axes to [axes, batch, length]. inverse rotates back. It has no parameters and no state.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.spec = inlay.Rotary(*args, **options).spec
        self._json = json.dumps(self.spec)

    def extra_repr(self) -> str:
        return f"dim {self.spec['dim']}, {self.spec['layout']}"

    def forward(
        self,
        *tensors: Tensor,
        start: int = 0,
        position_ids: Optional[Tensor] = None,
        inverse: bool = False,
        heads_first: bool = False,
    ) -> Union[Tensor, tuple[Tensor, ...]]:
        for tensor in tensors:
            if not tensor.is_floating_point():
                raise TypeError(f"a tensor has elements of {tensor.dtype}: convert it to a floating-point type")
        if position_ids is not None and start:
            raise ValueError("give start or position_ids, not both")
        way = way_of(*tensors, position_ids)
        if way == TORCH or any(tensor.dtype not in _TYPES for tensor in tensors):
            rotated = [self._reference(x, start, position_ids, inverse, heads_first) for x in tensors]
        else:
            values = (list(tensors), position_ids, start, self._json, inverse, heads_first)
            if way == OPERATOR:
                rotated = torch.ops.inlay.rotate(*values)
            elif torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
                rotated = _differentiate(_call, *values)
            else:
                rotated = _call(*values)
        return rotated[0] if len(tensors) == 1 else tuple(rotated)

    def _reference(
        self, x: Tensor, start: int, position_ids: Optional[Tensor], inverse: bool, heads_first: bool
    ) -> Tensor:
        """Rotates a tensor with PyTorch's operators, with angles in float64."""
        spec, dim = self.spec, self.spec["dim"]
        if x.shape[-1] < dim:
            raise ValueError(f"a tensor has {x.shape[-1]} columns, and {dim} of them rotate")
        length = x.shape[-2 if heads_first else -3]
        if position_ids is None:
            if start < 0 or start + length > 2**31:
                if x.numel():
                    raise IndexError(f"positions {start} to {start + length - 1} are not in [0, 2147483648)")
                start = 0
            at = torch.arange(start, start + length, device=x.device)[..., None]
        else:
            axes = [spec["axes"]] if spec["axes"] > 1 else []
            at = _checked_positions(position_ids).broadcast_to((*axes, *x.shape[:-3], length))
            at = at.movedim(0, -1)[..., list(spec["pair_axes"])] if axes else at[..., None]
        exponents = torch.arange(0, -dim, -2, dtype=torch.float64, device=x.device) / dim
        own = spec["inv_freq"]
        inv_freq = spec["base"] ** exponents if own is None else torch.tensor(own, dtype=torch.float64, device=x.device)
        angles = torch.float32 if spec["float_angles"] else torch.float64
        angle = (at.to(angles) * inv_freq.to(angles)).double().unsqueeze(-3 if heads_first else -2)
        attention = 1.0 if own is None else spec["attention_factor"]
        exact = torch.float64 if x.dtype == torch.float64 else torch.float32
        cos, sin = (angle.cos() * attention).to(exact), (angle.sin() * (-attention if inverse else attention)).to(exact)
        rotating = x[..., :dim].to(exact)
        if spec["layout"] == "halves":
            first, second = rotating.chunk(2, -1)
            rotated = torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
        else:
            first, second = rotating[..., ::2], rotating[..., 1::2]
            rotated = torch.stack([first * cos - second * sin, second * cos + first * sin], -1).flatten(-2)
        return torch.cat([rotated.to(x.dtype), x[..., dim:]], -1)
