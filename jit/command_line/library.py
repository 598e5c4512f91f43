"""`whet compile`: an archive becomes a library."""

from __future__ import annotations

import argparse
import os

from .sources import opened


def compile(given: argparse.Namespace) -> None:
    """Make a library of an archive, and say what was written."""
    made = opened(given.model).compile(
        given.output,
        target=given.target or "host",
        weights="beside" if given.beside else "inside",
        name=given.name,
        threads=given.threads,
    )
    for path in made:
        print(f"{path}: {os.path.getsize(path):,} bytes")
