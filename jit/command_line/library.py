"""`whet compile`: an archive becomes a library."""

from __future__ import annotations

import argparse
import os

from .sources import opened


def compile(options: argparse.Namespace) -> None:
    """Make a library of an archive, and say what was written."""
    made = opened(options.model).compile(
        options.output,
        target=options.target or "host",
        weights="beside" if options.beside else "inside",
        name=options.name,
        threads=options.threads,
    )
    for path in made:
        print(f"{path}: {os.path.getsize(path):,} bytes")
