"""Layers, losses and models: `whet.nn`."""
# ruff: noqa: F401, F403
from .. import declared_for_tracing
from . import attention, functional, grad, init, modules, parallel, utils
from .activation import *
from .adaptive import *
from .containers import *
from .conv import *
from .dropout import *
from .factory_arguments import factory_kwargs
from .linear import *
from .linear_cross_entropy import LinearCrossEntropyOptions
from .loss import *
from .module import Module
from .norm import *
from .padding import *
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .pooling import *
from .rnn import *
from .shape import *
from .sparse import *
from .transformer import *

declared_for_tracing.only_computes(globals())
