"""Functions as users call them. Overrides are called first (see `function_protocol.py`). If a
function cannot take its operands, overrides of these are called.
"""
import functools

from .. import declared_for_tracing, function_protocol
from ..function_protocol import MINE, speakers

# a function behind another one, or behind an entry of machine code -> what users call
PUBLIC: dict = {}


@functools.lru_cache(None)
def _compiled(source):
    return compile(source, "<whet>", "exec")


def compile_function(name, source, env):
    """A function from a line of source: called as directly as a hand-written one. Most ops share
    their lines, which are compiled once. Overrides are called before it, and those of operands
    after it if it cannot take these."""
    source = _with_overrides(source.replace(f"def {name}(", "def _f(", 1))
    names = {**env, "speakers": speakers, "hand_over": hand_over,
             "asks": functools.partial(_arguments_if, function_protocol.is_to_ask),
             "foreign": functools.partial(_arguments_if, function_protocol.foreign)}
    fn = names["me"] = declared_for_tracing.run(_compiled(source), names)["_f"]
    fn.__module__, fn.__name__, fn.__qualname__ = "whet", name, name
    return fn


def _with_overrides(source):
    head, body = source.split("):", 1)
    lines = [f"        {line.strip()}" for line in body.strip().splitlines()]
    return "\n".join([f"{head}):",
                      "    if speakers and (operands := asks(me, locals())):",
                      "        return hand_over(me, *operands)",
                      "    try:", *lines, "    except Exception:",
                      "        operands = foreign(me, locals())", "        if not operands: raise",
                      "    return hand_over(me, *operands)", ""])


def _arguments_if(is_wanted, fn, names):
    """What a call of a compiled function was given, by its local names; None where it is not
    `is_wanted(args, kwargs)`."""
    code, n = fn.__code__, fn.__code__.co_argcount
    by_position = [names[k] for k in code.co_varnames[:n]]
    defaults = (fn.__defaults__ or ())
    while defaults and by_position[-1] is defaults[-1]:
        by_position.pop()
        defaults = defaults[:-1]
    by_name = {k: names[k] for k in code.co_varnames[n:n + code.co_kwonlyargcount]
               if names[k] is not (fn.__kwdefaults__ or {}).get(k, by_position)}
    return (tuple(by_position), by_name) if is_wanted(by_position, by_name) else None


def hand_over(fn, args, kwargs):
    """Call the overrides of a function: of the public one, in front of which there may be machine
    code."""
    while fn in PUBLIC:
        fn = PUBLIC[fn]
    return function_protocol.hand_over(fn, args, kwargs)


def asked(fn, args, kwargs):
    """The result of an override that is called before a function looks at its arguments; MINE if
    none is. To be called while there are `speakers`."""
    return hand_over(fn, args, kwargs) if function_protocol.is_to_ask(args, kwargs) else MINE
