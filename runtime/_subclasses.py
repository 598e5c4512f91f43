"""What programs ask of PyTorch's tensors without elements by their inner name,
`whet._subclasses.fake_tensor`."""
import sys
from types import ModuleType

fake_tensor = sys.modules[f"{__name__}.fake_tensor"] = ModuleType(f"{__name__}.fake_tensor")


def is_fake(x):
    """False: a recording is of a run with real tensors."""
    return False


vars(fake_tensor)["is_fake"] = is_fake
