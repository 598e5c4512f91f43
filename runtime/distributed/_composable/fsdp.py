"""An older place of `whet.distributed.fsdp`."""
from ..fsdp import *  # noqa: F403
