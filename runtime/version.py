"""`whet.version`: this version, and what it was built for: no other library."""
from . import __version__

cuda = hip = xpu = git_version = None
debug = False
__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
