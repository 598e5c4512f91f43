"""All ops by their names. `ops/registry.py` fills it; histories look up the ops of views in it."""
from typing import Any

REGISTRY: dict[str, Any] = {}
