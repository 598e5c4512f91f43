"""Stubs of the public surface: `python -m stubs` writes `stubs/whet/`, which is installed as the
package `whet-stubs`.

In come the live modules: names, signatures as `inspect` has them, first lines of docstrings.
`vocabulary.py` and `results.py` say what types the names of parameters mean and what functions
return. Out come `.pyi` files. It gives up where a parameter or a result has no type: a new public
function states what it takes and returns, or the command fails.
"""
