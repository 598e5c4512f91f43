"""Modules whose sizes are decided by their first input."""
import itertools

from .parameter import is_lazy


class LazyModuleMixin:
    """Holds uninitialised parameters until the first call, which runs `initialize_parameters` and
    turns the module into `cls_to_become`."""
    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._before_loading = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._before_first_call = self.register_forward_pre_hook(
            _infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys,
                        unexpected_keys, error_msgs):
        """Give uninitialised tensors the shapes of the loaded ones."""
        for name, mine in itertools.chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if is_lazy(mine) and loaded is not None and not is_lazy(loaded):
                mine.materialize(loaded.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Override: make the parameters, given the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Is any parameter or buffer without a shape?"""
        return any(map(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values())))

    _sets_up = has_uninitialized_params      # traces wait for the call that gives them shapes


def _infer_parameters(module, args, kwargs):
    """The hook of the first call."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._before_first_call.remove()
    module._before_loading.remove()
    del module._before_first_call, module._before_loading
    if not any(len(getattr(module._hooks, kind)) for kind in module._hooks.__slots__):
        del module.__dict__["_hooks"]
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become
