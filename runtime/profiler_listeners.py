"""Who takes part where a profiler listens: each room says how its own work is noted.

A room registers `attach(listener)`, which begins and returns what ends it. It registers when it is
loaded, which may be while somebody listens; the profiler itself is loaded when it is first used.
"""
_attach: list = []
active = None                    # the one that listens: see profiler/hooks.py


def register(attach):
    """Let a room take part from now on."""
    _attach.append(attach)
    if active is not None:
        active.undo.append(attach(active))


def begin(listener):
    """Let all rooms note their work for a listener."""
    global active
    if active is not None:
        raise RuntimeError("profile(): a profiler is on already, and there can be one at a time")
    active = listener
    for attach in _attach:
        listener.undo.append(attach(listener))


def end():
    """Remove the listener."""
    global active
    active = None
