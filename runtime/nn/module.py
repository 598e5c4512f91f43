"""Module: a function with state. Parameters, buffers and submodules are ordinary instance
attributes (so that reading one costs an attribute lookup and no more); three ordered sets of names
say which attributes are which."""
import warnings

import whet

from .. import declared_for_tracing
from ..autograd.accumulate import clear_gradients
from ..ops.argument_errors import name_argument
from ..ops.argument_guards import guard
from ..tensor import Tensor
from ..utils.hooks import RemovableHandle
from . import conversion, hooks
from .attribute_names import _Members, asking_for_members, is_member, not_assigned, type_name
from .parameter import Buffer, Parameter
from .state import Stateful, _IncompatibleKeys  # noqa: F401 (libraries look for it here)

__all__ = [
    "Module", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook"]


class Module(hooks.Hooked, Stateful):
    """Base class of all layers and models: assign Parameters, buffers and Modules as attributes,
    and define `forward`.

    >>> import whet
    >>> class Scale(whet.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = whet.nn.Parameter(whet.tensor(2.))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(whet.ones(2)).detach()
    tensor([2., 2.])
    """

    training: bool
    dump_patches = False
    # a hooks.ModuleHooks once this module has a hook, or, of the class, there is a global one
    _hooks = None
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            unexpected = f"'{next(iter(kwargs))}'" if kwargs else f"{len(args)} positional"
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected argument: {unexpected}")
        attrs = self.__dict__
        attrs["training"] = True
        attrs["_parameter_names"], attrs["_buffer_names"], attrs["_module_names"] = {}, {}, {}
        attrs["_transient_names"] = set()          # buffers that are no part of the state_dict
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith("whet.nn."):
            # names an argument that should have been something else
            cls.__init__ = guard(cls.__init__, asks=False)
        own = cls.__getattr__ is not Module.__getattr__
        if own and cls.__getattribute__ is object.__getattribute__:
            cls.__getattribute__ = asking_for_members

    # ---- calling ---------------------------------------------------------------------------------
    def __call__(self, *args, **kwargs):
        try:
            if self._hooks is None:
                return self.forward(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)
        except AttributeError as e:
            if type(self).forward.__module__.startswith("whet.nn"):      # others may mean it
                name_argument(type(self).forward, e, (self, *args), kwargs)
            raise

    def compile(self, *args, **kwargs):
        """Let `whet.compile`, with these arguments, make the module's `forward`. Hooks are called
        around it; copies of the module compile their own."""
        self.__dict__["forward"] = whet.compiler.CompiledForward(self, args, kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function')

    def _call_with_hooks(self, args, kwargs):
        mine = self.__dict__.get("_hooks", hooks.none)
        if not hooks.for_all:
            Module._hooks = None                # again as if there had never been a global hook
            if not mine:
                return self.forward(*args, **kwargs)
        result, done = None, set()
        try:
            for i, hook in [*hooks.for_all.forward_pre.items(), *mine.forward_pre.items()]:
                if i in mine.forward_pre_with_kwargs:
                    changed = hook(self, args, kwargs)
                    if changed is not None:
                        if not (isinstance(changed, tuple) and len(changed) == 2):
                            raise RuntimeError(
                                "forward pre-hook must return None or a tuple of (new_args, "
                                f"new_kwargs), but got {changed}.")
                        args, kwargs = changed
                else:
                    changed = hook(self, args)
                    if changed is not None:
                        args = changed if isinstance(changed, tuple) else (changed,)
            of_nodes, backward = hooks.of_backward(self, mine)
            if backward is not None:
                args = backward.inputs(args)
            result = self.forward(*args, **kwargs)
            for i, hook in [*hooks.for_all.forward.items(), *mine.forward.items()]:
                done.add(i)
                result = self._run_forward_hook(hook, i, mine, args, kwargs, result)
            if of_nodes:
                hooks.register_at_node(self, of_nodes, result)
            return result if backward is None else backward.outputs(result)
        except Exception:
            for i, hook in [*hooks.for_all.forward.items(), *mine.forward.items()]:
                always = mine.forward_always_called, hooks.for_all.forward_always_called
                if i not in done and any(i in hooked for hooked in always):
                    try:
                        result = self._run_forward_hook(hook, i, mine, args, kwargs, result)
                    except Exception as e:
                        # the error that a user wants to see is the module's
                        warnings.warn("forward hook with ``always_call=True`` raised an exception "
                                      "that was silenced as another error was raised in forward: "
                                      f"{e}", stacklevel=2)
            raise

    def _run_forward_hook(self, hook, i, mine, args, kwargs, result):
        if i in mine.forward_with_kwargs or i in hooks.for_all.forward_with_kwargs:
            changed = hook(self, args, kwargs, result)
        else:
            changed = hook(self, args, result)
        return result if changed is None else changed

    # ---- attributes ------------------------------------------------------------------------------
    @property
    def _parameters(self):
        return _Members(self.__dict__["_parameter_names"], self.__dict__)

    @property
    def _buffers(self):
        return _Members(self.__dict__["_buffer_names"], self.__dict__)

    @property
    def _modules(self):
        return _Members(self.__dict__["_module_names"], self.__dict__)

    @property
    def _non_persistent_buffers_set(self):
        return self.__dict__["_transient_names"]

    def __setattr__(self, name, value):
        attrs = self.__dict__
        params = attrs.get("_parameter_names")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, keep=params)
            self.register_parameter(name, value)
        elif params is None:
            if isinstance(value, Module):
                raise AttributeError("cannot assign module before Module.__init__() call")
            if isinstance(value, Buffer):
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            object.__setattr__(self, name, value)
        elif name in params:
            if value is not None:
                raise not_assigned(value, f"as parameter '{name}' (nn.Parameter or None expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._forget(name, keep=attrs["_module_names"])
            self._modules[name] = hooks.registered("module", self, name, value)
        elif name in attrs["_module_names"]:
            if value is not None:
                raise not_assigned(value, f"as child module '{name}' (nn.Module or None expected)")
            attrs[name] = None
        elif isinstance(value, Buffer) and name not in attrs["_buffer_names"]:
            self._forget(name, keep=attrs["_buffer_names"])
            self.register_buffer(name, value, getattr(value, "persistent", True))
        elif name in attrs["_buffer_names"]:
            if value is not None and not isinstance(value, Tensor):
                raise not_assigned(
                    value, f"as buffer '{name}' (whet.Tensor, nn.Buffer or None expected)")
            if isinstance(value, Buffer):
                self.register_buffer(name, value, getattr(value, "persistent", True))
            else:
                attrs[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if is_member(self, name):
            return self.__dict__[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        attrs = self.__dict__
        for kind in ("_parameter_names", "_buffer_names", "_module_names"):
            if name in attrs.get(kind, ()):
                del attrs[kind][name]
                attrs["_transient_names"].discard(name)
                attrs.pop(name, None)
                return
        object.__delattr__(self, name)

    def _forget(self, name, keep):
        """Make room for a member of another kind (or a plain attribute) called `name`."""
        attrs = self.__dict__
        if name in keep:
            return
        attrs.pop(name, None)
        attrs["_parameter_names"].pop(name, None)
        attrs["_buffer_names"].pop(name, None)
        attrs["_module_names"].pop(name, None)
        attrs["_transient_names"].discard(name)

    def _check_name(self, what, name, kind):
        if "_parameter_names" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in self.__dict__[kind] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Add a parameter (or None: a place for one)."""
        self._check_name("parameter", name, "_parameter_names")
        if param is not None:
            if not isinstance(param, Parameter):
                raise not_assigned(
                    param, f"object to parameter '{name}' (nn.Parameter or None required)")
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method.")
        self.__dict__["_parameter_names"][name] = None
        self.__dict__[name] = hooks.registered("parameter", self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but not trained; `persistent=False` keeps it out of the
        state_dict."""
        self._check_name("buffer", name, "_buffer_names")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise not_assigned(
                tensor, f"object to buffer '{name}' (whet Tensor or None required)")
        self.__dict__["_buffer_names"][name] = None
        self.__dict__[name] = hooks.registered("buffer", self, name, tensor)
        if persistent:
            self.__dict__["_transient_names"].discard(name)
        else:
            self.__dict__["_transient_names"].add(name)

    def register_module(self, name, module):
        """Add a submodule (or None)."""
        self.add_module(name, module)

    def add_module(self, name, module):
        """Add a submodule (or None)."""
        self._check_name("module", name, "_module_names")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self.__dict__["_module_names"][name] = None
        self.__dict__[name] = hooks.registered("module", self, name, module)

    def __dir__(self):
        return sorted(name for name in {*object.__dir__(self)} if not name[:1].isdigit())

    # ---- looking things up by name ---------------------------------------------------------------
    def get_submodule(self, target):
        """The submodule at a dotted path, e.g. `"encoder.layers.0"`."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put a module at a dotted path."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter at a dotted path."""
        return self._get_member(target, "_parameter_names", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer at a dotted path."""
        return self._get_member(target, "_buffer_names", "a buffer")

    def _get_member(self, target, kind, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module.__dict__[kind]:
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    # ---- iterating -------------------------------------------------------------------------------
    @declared_for_tracing.goes_by_no_size
    def _named_members(self, get, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, value in get(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs of (dotted name, parameter)."""
        return self._named_members(_own_parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs of (dotted name, buffer)."""
        return self._named_members(_own_buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    @declared_for_tracing.goes_by_no_size
    def named_children(self):
        """Pairs of (name, direct submodule), each submodule once."""
        seen = set()
        for name in self.__dict__["_module_names"]:
            module = self.__dict__[name]
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self):
        """The direct submodules, each once."""
        return (m for _, m in self.named_children())

    @declared_for_tracing.goes_by_no_size
    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Pairs of (dotted name, module), this module first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name in self.__dict__["_module_names"]:
            module = self.__dict__[name]
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """This module and all below it, each once, unless `remove_duplicate` is False."""
        return (m for _, m in self.named_modules(remove_duplicate=remove_duplicate))

    # ---- changing everything ---------------------------------------------------------------------
    def apply(self, fn):
        """Call `fn(module)` on every submodule, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Put `fn` of it in the place of every parameter, gradient and buffer; parameters stay the
        same objects, unless `whet.__future__` was told otherwise."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        conversion.convert(self, fn)
        return self

    def to(self, *args, **kwargs):
        """Move and/or convert: `to(device)`, `to(dtype)`, `to(tensor)`, `to(device, dtype)`;
        integer tensors keep their type."""
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        other = kwargs.pop("tensor", None)
        non_blocking = kwargs.pop("non_blocking", False)
        kwargs.pop("memory_format", None)
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
        for a in args:
            if isinstance(a, Tensor):
                other = a
            elif isinstance(a, whet.dtype):
                dtype = a
            elif isinstance(a, bool):
                non_blocking = a
            else:
                device = a
        if other is not None:
            device, dtype = other.device, other.dtype
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}")

        def convert(t):
            converts = t.is_floating_point() or t.is_complex()
            if t.is_meta and device is not None and whet.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use "
                    "whet.nn.Module.to_empty() instead of whet.nn.Module.to() when moving module "
                    "from meta to a different device.")
            return t.to(device=device, dtype=dtype if converts else None, non_blocking=non_blocking)
        return self._apply(convert)

    def _cast(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Floating-point parameters and buffers to float32."""
        return self._cast(whet.float32)

    def double(self):
        """Floating-point parameters and buffers to float64."""
        return self._cast(whet.float64)

    def half(self):
        """Floating-point parameters and buffers to float16."""
        return self._cast(whet.float16)

    def bfloat16(self):
        """Floating-point parameters and buffers to bfloat16."""
        return self._cast(whet.bfloat16)

    def type(self, dst_type):
        """All parameters and buffers to one dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self):
        """Everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Everything to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device, recurse=True):
        """Everything to a device, with uninitialised memory."""
        return self._apply(lambda t: whet.empty_like(t, device=device), recurse=recurse)

    def share_memory(self):
        """Everything to memory that other processes can see."""
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode=True):
        """Training mode on or off, here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        """Training mode off."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Whether autograd records operations on the parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop (or zero) the parameters' gradients."""
        clear_gradients(self.parameters(), set_to_none)

    # ---- printing --------------------------------------------------------------------------------
    def _get_name(self):
        return type(self).__name__

    def show(self, *args, path=None, **kwargs):
        """Write a page with the graph of a call with these arguments; gives the path, of a new file
        where none is given. See `whet.export`, which makes the graph."""
        return whet.export(self, *args, **kwargs).show(path)

    def extra_repr(self):
        """What stands between the parentheses when the module is printed."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        head = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(self.__dict__[name]).replace("\n", "\n  ")
                    for name in self.__dict__["_module_names"]]
        if not children and len(head) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(head + children) + "\n)"

    def _repr_html_(self):
        from .module_html import module_html
        return module_html(self)

    def __copy__(self):
        """The same members in a module of its own: adding to one, or taking away, does not change
        the other."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        for kind in ("_parameter_names", "_buffer_names", "_module_names", "_transient_names"):
            made.__dict__[kind] = made.__dict__[kind].copy()
        return made

    def __setstate__(self, state):
        self.__dict__.update(state)


def _own_parameters(module):
    return [(n, module.__dict__[n]) for n in module.__dict__["_parameter_names"]]


def _own_buffers(module):
    return [(n, module.__dict__[n]) for n in module.__dict__["_buffer_names"]]


def _register_global(kind, hook, with_kwargs=False, always=False):
    # seen by every module that has none of its own: calls then look at the global hooks too
    Module._hooks = hooks.none
    return _HandleOfAll(
        hooks.register(hooks.for_all, kind, hook, with_kwargs=with_kwargs, always=always))


class _HandleOfAll(RemovableHandle):
    """The handle of a hook of every module. Once there is none any more, no call looks for them."""

    def __init__(self, handle):
        self.__dict__.update(handle.__dict__)

    def remove(self):
        super().remove()
        if not hooks.for_all:
            Module._hooks = None


def register_module_forward_pre_hook(hook) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module."""
    return _register_global("forward_pre", hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module."""
    return _register_global("forward", hook, with_kwargs, always_call)


def register_module_full_backward_pre_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return _register_global("backward_pre", hook)


def register_module_full_backward_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return _register_global("backward", hook)


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, param)` for each parameter that any module gets; it may return
    another one."""
    return hooks.register(hooks.for_all, "parameter", hook)


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` for each buffer that any module gets; it may return
    another one."""
    return hooks.register(hooks.for_all, "buffer", hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` for each submodule that any module gets; it may return
    another one."""
    return hooks.register(hooks.for_all, "module", hook)
