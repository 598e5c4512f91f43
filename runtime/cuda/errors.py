"""What a family says where it has no kernel."""
from __future__ import annotations


class NoForm(NotImplementedError):
    """There is no kernel for this: the CPU computes it, with a warning."""
