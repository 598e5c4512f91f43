"""Modules in the words of TorchScript."""
from __future__ import annotations

from whet.nn.module import Module


class ScriptModule(Module):
    """A module, for code that inherits from it. Nothing is scripted, so no other module is one.

    >>> import whet
    >>> class Double(whet.jit.ScriptModule):
    ...     @whet.jit.script_method
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(whet.ones(2))
    tensor([2., 2.])
    """


RecursiveScriptModule = TopLevelTracedModule = TracedModule = ScriptModule
