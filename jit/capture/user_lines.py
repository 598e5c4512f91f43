"""The line of the user's code that runs now."""
import sys


def user():
    """The user's frame that runs now."""
    from .purity import own_file
    f = sys._getframe(1)
    while f is not None and own_file(f.f_code.co_filename):
        f = f.f_back
    return f


def where():
    """The user's line that runs now: neither ours nor the standard library's."""
    from .purity import library_file, own_file, short
    f = user()
    while f is not None and (library_file(f.f_code.co_filename) or own_file(f.f_code.co_filename)):
        f = f.f_back
    return "" if f is None else f"{short(f.f_code.co_filename)}:{f.f_lineno}"
