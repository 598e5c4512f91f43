"""Side-by-side measurements with whatever peers are installed.

Run them by `python -m benchmarks.run [name ...]`.
"""
