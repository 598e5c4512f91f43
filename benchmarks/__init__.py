"""Side-by-side measurements with whatever peers are installed: `python -m benchmarks.run [name ...]`."""
