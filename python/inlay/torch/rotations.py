# SPDX-License-Identifier: MIT
"""The part of convert() that rotates queries and keys of transformers models.

Each file of a model defines or imports the function apply_rotary_pos_emb(q, k, cos, sin), or one for images. If its
instructions are those of a known form, convert() replaces it with a function that rotates with inlay, by the given
cosines and sines. The replacement calls the original if anything is unusual. It stays while a converted module that
calls it is alive.
"""

import dis
import functools
import inspect
import os
import sys
import threading
import types
import weakref
from typing import Any, Iterable, Optional, Union

import torch
from torch import Tensor, nn

from inlay import _core

from .encoders import ERRORS
from .operators import DIRECT, way_of
from .rotation_forms import FORMS, Form

NAMES = ("apply_rotary_pos_emb", "apply_rotary_pos_emb_vision")
_TYPES = (torch.float32, torch.float16, torch.bfloat16)

_CAUGHT = (*ERRORS, MemoryError)  # the original may need less memory

_lock = threading.RLock()  # finalizers may run while this thread holds it


def _renew_lock() -> None:
    """Another thread may have held the lock when the process forked."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


# ---- Known functions


def _instructions(function: Any) -> list[Any]:
    """Returns the instructions of a function, which don't depend on its docstring and line numbers."""
    return [(one.opname, one.argval) for one in dis.get_instructions(function) if one.opname != "NOP"]


@functools.cache
def _instructions_of_form(form: Form) -> tuple[list[Any], list[Any]]:
    return _instructions(form.function), _instructions(form.half)


def _parameters(function: Any) -> list[inspect.Parameter]:
    return [one.replace(annotation=one.empty) for one in inspect.signature(function).parameters.values()]


def _form_of(function: Any) -> Optional[Form]:
    """Returns the form of a function, or None if its form isn't known."""
    half = function.__globals__.get("rotate_half") if type(function) is types.FunctionType else None
    if type(half) is not types.FunctionType or hasattr(function, "__wrapped__") or hasattr(half, "__wrapped__"):
        return None
    if function.__globals__.get("torch") is not torch or half.__globals__.get("torch") is not torch:
        return None
    # In transformers 4, functions have an argument position_ids that they don't use.
    parameters = [one for one in _parameters(function) if (one.name, one.default) != ("position_ids", None)]
    for form in FORMS:
        if parameters == _parameters(form.function) and _parameters(half) == _parameters(form.half):
            if (_instructions(function), _instructions(half)) == _instructions_of_form(form):
                return form
    return None


# ---- Replaced functions


class Site:
    """A function in the namespace of a file, and its replacement while there are users: ids of converted modules, and
    their finalizers."""

    def __init__(self, file: dict[str, Any], name: str, original: Any, form: Form) -> None:
        self.file, self.name, self.original, self.form = file, name, original, form
        self.parameters = list(inspect.signature(original).parameters)
        self.names = self.parameters[: self.parameters.index("sin") + 1]
        self.at = 1 if "unsqueeze_dim" in self.parameters else -2
        self.memory_format = torch.contiguous_format if form.partial else torch.preserve_format
        self.facts = self._facts()
        self.users: dict[int, weakref.finalize[Any, Any]] = {}

        @functools.wraps(original)
        def replacement(*arguments: Any, **named: Any) -> Any:
            if not torch.compiler.is_compiling() and self.users and self.facts == self._facts():
                rotated = self.rotate(arguments, named)
                if rotated is not None:
                    return rotated
            return original(*arguments, **named)

        self.replacement = replacement

    def _facts(self) -> tuple[Any, ...]:
        """Returns everything that an application may patch to change the original function."""
        names = self.original.__globals__
        half = names.get("rotate_half")
        code = self.original.__code__, getattr(half, "__code__", None)
        return *code, self.original.__defaults__, half, names.get("torch")

    def rotate(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Returns the results of the original function, or None if it must compute them."""
        given, at = arguments, self.at
        if named or len(arguments) != len(self.names):
            values = dict(zip(self.parameters, arguments))
            if len(arguments) > len(self.parameters) or not named.keys() <= set(self.parameters[len(arguments) :]):
                return None
            values.update(named)
            given, at = [values.get(name) for name in self.names], values.get("unsqueeze_dim", at)
        if torch._C._len_torch_function_stack() or torch._C._is_any_autocast_enabled() or way_of(*given) != DIRECT:
            return None
        for tensor in given:
            if tensor is None or tensor.requires_grad or tensor.layout is not torch.strided:
                return None
        *tensors, cos, sin = given
        dims, dtype, columns, partial = tensors[0].dim(), tensors[0].dtype, cos.shape[-1], self.form.partial
        if type(at) is not int:
            return None
        heads = at if at < 0 else at - cos.dim() - 1  # the dimension of heads, from the last
        if heads not in (-2, -3) or dims not in (3, 4) or not 2 <= cos.dim() < dims or dtype not in _TYPES:
            return None
        if cos.dtype != dtype and not (self.form.mixed and cos.dtype == torch.float32):
            return None
        for tensor in tensors:
            shape = tensor.shape
            if tensor.dtype != dtype or len(shape) != dims or 0 in shape:
                return None
            if shape[-1] != columns and not (partial and shape[-1] > columns):
                return None
        out = tuple([torch.empty_like(tensor, memory_format=self.memory_format) for tensor in tensors])
        try:
            return _core.rotate_given(cos, sin, self.form.columns, heads == -3, out, *tensors)
        except _CAUGHT as error:
            if type(error) not in _CAUGHT:
                raise
        return None  # e.g. strides that inlay doesn't read

    # ---- Users

    def add(self, module: nn.Module) -> None:
        """Adds a user, and puts the replacement in place."""
        key = id(module)
        if key not in self.users:
            self.users[key] = finalizer = weakref.finalize(module, self.remove, key)
            finalizer.atexit = False
        self.file[self.name] = self.replacement

    def remove(self, key: int) -> None:
        """Removes a user, if it is one. Without users, puts the original back unless the application has replaced it."""
        with _lock:
            finalizer = self.users.pop(key, None)
            if not self.users and self.file.get(self.name) is self.replacement:
                self.file[self.name] = self.original
            if finalizer is not None:
                finalizer.detach()

    # ---- Verification

    def verify(self) -> None:
        """Raises ValueError if the replacement and the original disagree for random numbers."""
        if torch._C._len_torch_function_stack():
            raise ValueError("a mode of PyTorch is active, e.g. since torch.set_default_device()")
        generator = torch.Generator("cpu").manual_seed(0)
        draw = functools.partial(torch.randn, generator=generator, dtype=torch.float32, device="cpu")
        for dtype in (torch.float32, torch.bfloat16):
            for at in (-2,) if self.at == -2 else (1, 2):
                half = draw((7, 8) if at == -2 else (2, 7, 8))
                angles = torch.cat([half, half], -1)
                if self.form.columns == "interleaved":
                    angles = half.repeat_interleave(2, -1)
                shape = {-2: (7, 3), 1: (2, 3, 7), 2: (2, 7, 3)}[at]
                tensors = [draw((*shape, 20 if self.form.partial else 16)).to(dtype) for _ in self.names[:-2]]
                given = (*tensors, angles.cos().to(dtype), angles.sin().to(dtype))
                named = {} if at == -2 else {"unsqueeze_dim": at}
                ours, theirs = self.rotate(given, named), self.original(*given, **named)
                if ours is None:
                    raise ValueError("inlay must rotate random numbers")
                for one, other in [(ours, theirs)] if isinstance(ours, Tensor) else zip(ours, theirs):
                    bound = 0.0 if dtype == torch.float32 else 2 * torch.finfo(dtype).eps
                    limits = bound * other.abs().amax(-1, keepdim=True)
                    same_kind = one.shape == other.shape and one.dtype == other.dtype
                    if not same_kind or bool(((one - other).abs() > limits).any()):
                        raise ValueError("both functions must have the same results")


_sites: list[Site] = []


@functools.cache
def _called_by(kind: type) -> list[str]:
    """Returns the known names that the methods of a class call."""
    methods = [inspect.unwrap(one) for one in vars(kind).values() if type(one) is types.FunctionType]
    called = {name for one in methods if type(one) is types.FunctionType for name in one.__code__.co_names}
    return [name for name in NAMES if name in called]


def _users(model: nn.Module) -> Iterable[tuple[nn.Module, str, str]]:
    for module in model.modules():
        for kind in type(module).__mro__:
            file = str(kind.__module__)
            if file.startswith("transformers.models.") and isinstance(sys.modules.get(file), types.ModuleType):
                for name in _called_by(kind):
                    yield module, file, name


def _site_of(file: str, name: str) -> Union[Site, str]:
    """Returns a verified site, or the reason to skip a function."""
    namespace = vars(sys.modules[file])
    current = namespace.get(name)
    for site in _sites:
        if site.file is namespace and site.name == name and current in (site.original, site.replacement):
            if site.facts == site._facts():
                return site
            current = site.original
    try:
        form = _form_of(current)
        if form is None:
            return "it has no known form"
        site = Site(namespace, name, current, form)
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            site.verify()
    except _CAUGHT as error:
        if type(error) not in _CAUGHT:
            raise
        return str(error) or type(error).__name__
    _sites.append(site)
    return site


def convert(model: nn.Module) -> dict[str, str]:
    """Replaces the functions that a model calls. Returns the layout that each rotates, or the reason to skip it."""
    found: dict[str, str] = {}
    with _lock:
        sites: dict[tuple[str, str], Union[Site, str]] = {}
        for module, file, name in list(_users(model)):
            site = sites.get((file, name))
            if site is None:
                site = sites[file, name] = _site_of(file, name)
                found[f"{file}.{name}"] = f"skipped, {site}" if isinstance(site, str) else site.form.columns
            if not isinstance(site, str):
                site.add(module)
    return found


def restore(model: nn.Module) -> None:
    """Undoes convert() for the modules of a model."""
    with _lock:
        for module in model.modules():
            for site in _sites:
                site.remove(id(module))
