"""The state of modules: names and tensors out and in."""
import functools
from collections import OrderedDict, namedtuple

import whet

from ..autograd import modes
from ..tensor import Tensor
from . import conversion, hooks
from .parameter import Parameter, is_lazy


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` found wrong with the keys."""

    def __repr__(self):
        return (super().__repr__()
                if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>")

    __str__ = __repr__


class StateDict(OrderedDict):
    """An ordered dict that carries `_metadata` (the modules' versions), and is shown as one."""

    def __repr__(self):
        return repr(OrderedDict(self))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take a prefix off the names of a state dict, in place: `module.`, which a model has in the
    checkpoints of a wrapper around it.

    >>> import whet
    >>> from whet.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = whet.nn.Sequential(whet.nn.Linear(1, 1, bias=False)).state_dict()
    >>> consume_prefix_in_state_dict_if_present(state, "0.")
    >>> list(state)
    ['weight']
    """
    for name in [n for n in state_dict if n.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    metadata = getattr(state_dict, "_metadata", {})
    for name in [n for n in metadata if n and f"{n}.".startswith(prefix)]:
        metadata[name[len(prefix):]] = metadata.pop(name)


class Stateful:
    """The part of Module that saves and loads."""
    _version = 1

    def get_extra_state(self):
        """Override (with `set_extra_state`) to keep more than tensors in the state_dict."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state):
        """The counterpart of `get_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called.")

    def _overrides(self, method):
        """Has the module's class a method of its own?"""
        return getattr(type(self), method) is not getattr(Stateful, method)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        attrs = self.__dict__
        saved = [*attrs["_parameter_names"],
                 *(name for name in attrs["_buffer_names"]
                   if name not in attrs["_transient_names"])]
        for name in saved:
            t = attrs[name]
            if t is not None:
                destination[prefix + name] = t if keep_vars or is_lazy(t) else t.detach()
        if self._overrides("get_extra_state"):
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Name -> tensor for all parameters and persistent buffers, sharing memory with them
        (detached unless `keep_vars`)."""
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args):])
        if destination is None:
            destination = StateDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        own = self.__dict__.get("_hooks", hooks.none)
        for hook in list(own.state_dict_pre.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name in self.__dict__["_module_names"]:
            module = self.__dict__[name]
            if module is not None:
                module.state_dict(destination=destination,
                                  prefix=prefix + name + ".",
                                  keep_vars=keep_vars)
        for i, hook in list(own.state_dict.items()):
            changed = hook(self, destination, prefix, local_metadata)
            if changed is not None:
                if i in own.state_dict_in_place:
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys,
                              unexpected_keys, error_msgs):
        """Take this module's own tensors from `state_dict`; what fits is copied at the end, when
        nothing was wrong anywhere."""
        own = self.__dict__.get("_hooks", hooks.none)
        for i, hook in list(own.load_pre.items()):
            first = (self,) if i in own.load_pre_with_module else ()
            hook(*first, state_dict, prefix, local_metadata, strict, missing_keys,
                 unexpected_keys, error_msgs)
        attrs = self.__dict__
        assign = local_metadata.get("assign_to_params_buffers", False)
        later = local_metadata.get("later")
        names = ([*attrs["_parameter_names"]]
                 + [n for n in attrs["_buffer_names"] if n not in attrs["_transient_names"]])
        for name in names:
            mine, key = attrs[name], prefix + name
            if mine is None:
                continue
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            loaded = state_dict[key]
            if not isinstance(loaded, Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected whet.Tensor or '
                    'Tensor-like object from '
                    f"checkpoint but received {type(loaded)}")
                continue
            if not is_lazy(mine):
                if loaded.ndim == 1 and mine.ndim == 0 and loaded.shape[0] == 1:
                    # checkpoints of long ago have scalars of one element
                    loaded = loaded[0]
                if tuple(loaded.shape) != tuple(mine.shape):
                    error_msgs.append(
                        f"size mismatch for {key}: copying a param with shape {_size(loaded)} from "
                        f"checkpoint, the shape in current model is {_size(mine)}.")
                    continue
                if not assign and not _can_copy(key, loaded, mine, error_msgs):
                    continue
            take = functools.partial(self._take, name, loaded, assign)
            take() if later is None else later.append(take)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)

    def _load_extra_state(self, state_dict, prefix, strict, missing_keys, unexpected_keys):
        """Load what modules saved by `get_extra_state`, and note unexpected entries."""
        attrs = self.__dict__
        extra = prefix + "_extra_state"
        if self._overrides("set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            known = {*attrs["_parameter_names"], *attrs["_buffer_names"], "_extra_state"}
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, *below = key[len(prefix):].split(".")
                    if ((attrs.get(name) is None or name not in attrs["_module_names"])
                            if below else name not in known):
                        unexpected_keys.append(key)

    def _take(self, name, loaded, assign):
        mine = self.__dict__[name]
        with whet.no_grad():
            if conversion.settings.get_swap_module_params_on_conversion() and not is_lazy(mine):
                conversion.load(mine, loaded, assign)
                return
            if assign:
                if isinstance(mine, Parameter):
                    if not isinstance(loaded, Parameter):
                        loaded = Parameter(loaded, requires_grad=mine.requires_grad)
                    loaded.requires_grad_(mine.requires_grad)
                self.__dict__[name] = loaded
                return
            if is_lazy(mine):
                if is_lazy(loaded):
                    return
                mine.materialize(loaded.shape)
            mine.copy_(loaded)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy (or with `assign` put) the tensors of `state_dict` into this module; nothing is
        changed if anything is wrong."""
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors, later = [], [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)

        _load(self, state_dict, "", metadata, assign, later, missing, unexpected, errors)
        if strict:
            for what, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    names = ", ".join(f'"{k}"' for k in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {names}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(
                type(self).__name__, "\n\t".join(errors)))
        for take in later:
            take()
        return _IncompatibleKeys(missing, unexpected)


def _load(module, state, prefix, metadata, assign, later, missing, unexpected, errors):
    """A module's part of a state, and those of the modules in it. A function of its own: one that
    closes over itself is a cycle, which would keep the state until Python's collector comes."""
    # What a trace of a module runs.
    module = module.fn if hasattr(type(module), "_traces") else module
    local = dict({} if metadata is None else metadata.get(prefix[:-1], {}))
    local["assign_to_params_buffers"], local["later"] = assign, later
    module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
    for name in module.__dict__["_module_names"]:
        child = module.__dict__[name]
        if child is not None:
            below = prefix + name + "."
            _load(child, {k: v for k, v in state.items() if k.startswith(below)}, below, metadata,
                  assign, later, missing, unexpected, errors)
    own = module.__dict__.get("_hooks", hooks.none)
    for hook in list(own.load_post.values()):
        if hook(module, _IncompatibleKeys(missing, unexpected)) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace.")


def _can_copy(key, loaded, mine, error_msgs):
    """Has a tensor that is loaded elements? A warning, where the module's own has none."""
    if loaded.is_meta and not mine.is_meta:
        error_msgs.append(f'While copying the parameter named "{key}": it is on meta in the '
                          "checkpoint, where it has no data")
        return False
    if mine.is_meta and not loaded.is_meta:
        modes.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter "
            "in the current model, which is a no-op. (Did you mean to pass `assign=True` to assign "
            "items in the state dictionary to their corresponding key in the module instead of "
            "copying them in place?)", UserWarning, 2)
    return True


def _size(t):
    return f"whet.Size({list(t.shape)})"
