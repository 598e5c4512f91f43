"""From an op to what users call: functions with real signatures, methods, in-place methods,
aliases.

`FUNCTIONS` (whet.NAME), `METHODS` (Tensor.NAME) are filled here and published once, in
`whet/__init__` and `ops/__init__`.
"""
import functools
import inspect
import sys
import types

import numpy as np

from .. import declarations, function_protocol
from ..function_protocol import MINE, speakers
from . import known_calls, pointwise_family, registry
from .argument_errors import name_argument, name_dtype, name_kind, name_text
from .pointwise_family import PointwiseOp

FUNCTIONS: dict = {}
METHODS: dict = {}
# name of a function of single elements -> (op, operands) of its arguments
ELEMENTWISE: dict = {}
# a function behind another one, or behind an entry of machine code -> what users call
PUBLIC: dict = {}


def _doc(name, op):
    return op.doc or f"Elementwise {name.replace('_', ' ')}. See also the method of the same name."


@functools.lru_cache(None)
def _compiled(source):
    return compile(source, "<whet>", "exec")


def compile_function(name, source, env):
    """A function from a line of source: called as directly as a hand-written one. (Most ops
    share their lines: compiled once.) Those that have a say are asked first; what it cannot take it
    hands over to operands that can."""
    source = _with_overrides(source.replace(f"def {name}(", "def _f(", 1))
    names = {**env, "speakers": speakers, "hand_over": _hand_over,
             "asks": functools.partial(_arguments_if, function_protocol.is_to_ask),
             "foreign": functools.partial(_arguments_if, function_protocol.foreign)}
    fn = names["me"] = declarations.run(_compiled(source), names)["_f"]
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


def _hand_over(fn, args, kwargs):
    """What the operands of a call say that a function is of them: the public one, in front of which
    there may be machine code."""
    while fn in PUBLIC:
        fn = PUBLIC[fn]
    return function_protocol.hand_over(fn, args, kwargs)


def asked(fn, args, kwargs):
    """What those say that have a say in a call of a function, before the function looks at its
    arguments; MINE where there are none. To be called while there are `speakers`."""
    return _hand_over(fn, args, kwargs) if function_protocol.is_to_ask(args, kwargs) else MINE


def signature(fn):
    """The signature of a plain function as text: `(input, other, *, out=None)`."""
    takes_out = getattr(fn, "adds_out", False)              # by `with_out`
    fn = inspect.unwrap(fn)
    code, n = fn.__code__, fn.__code__.co_argcount
    names, defaults = code.co_varnames, fn.__defaults__ or ()
    out = [
        a if i < n - len(defaults) else f"{a}={defaults[i - n + len(defaults)]!r}"
        for i, a in enumerate(names[:n])]
    if code.co_flags & 4:
        out.append("*" + names[n + code.co_kwonlyargcount])
    elif code.co_kwonlyargcount:
        out.append("*")
    kw = fn.__kwdefaults__ or {}
    out += [f"{a}={kw[a]!r}" if a in kw else a for a in names[n:n + code.co_kwonlyargcount]]
    if takes_out:
        out += ["out=None"] if code.co_kwonlyargcount or code.co_flags & 4 else ["*", "out=None"]
    if code.co_flags & 8:
        out.append("**" + names[n + code.co_kwonlyargcount + (1 if code.co_flags & 4 else 0)])
    return f"({', '.join(out)})"


def pointwise_function(name, fn, *, alias=(), method=True, inplace=True, **kw):
    """Define a pointwise op and its function, method and in-place method; returns the function."""
    op = PointwiseOp(name, fn, **kw)
    ps = list(inspect.signature(fn).parameters.values())
    head, star = [], False
    for p in ps:
        if p.kind is p.KEYWORD_ONLY and not star:
            head.append("*")
            star = True
        head.append(p.name if p.default is p.empty else f"{p.name}={p.default!r}")
    names = ", ".join(p.name for p in ps)
    sep = "" if star else ", *"
    env = {
        "op": op, "apply": registry.apply, "write_out": pointwise_family.write_out,
        "inplace": pointwise_family.inplace}
    call = compile_function(name, f"def {name}({', '.join(head)}{sep}, out=None):\n"
                            f"    if out is None: return apply(op, ({names},), {{}})\n"
                            f"    return write_out(op, ({names},), out)\n", env)
    call.__doc__ = _doc(name, op)
    call.op = op
    chosen = functools.partial(_operands, op)
    for n in (name, *alias):
        FUNCTIONS[n] = call
        ELEMENTWISE[n] = chosen
    if method:
        rest = ", ".join(["self", *head[1:]])
        m_names = ", ".join(["self", *(p.name for p in ps[1:])])
        m = compile_function(name, f"def {name}({rest}): return apply(op, ({m_names},), {{}})", env)
        m.__doc__ = f"See `whet.{name}`."
        for n in (name, *alias):
            METHODS[n] = m
    if inplace:
        tail = "".join(f"{p.name}, " for p in ps[1:])
        m = compile_function(f"{name}_", f"def {name}_({', '.join(head)}): "
                                         f"return inplace(op, {ps[0].name}, ({tail}))", env)
        m.__doc__ = f"`{name}`, in place."
        for n in (name, *alias):
            (METHODS if method else FUNCTIONS)[f"{n}_"] = m
        FUNCTIONS.setdefault(f"{name}_", m)
    return call


def _operands(op, *args, **kwargs):
    """The op, and its operands of the arguments of a call."""
    found = inspect.Signature(op.params).bind(*args, **kwargs)
    found.apply_defaults()
    return op, tuple(found.arguments.values())


def function(*names, method=True, out=False, out_casts=True):
    """Publish a function under its name (and others) as `whet.NAME` and, where it takes a tensor
    first, as a method.

    `out=True` adds the `out=` form by copying into it. Without `out_casts` that has the result's
    type.
    """
    def publish(fn):
        shown = with_out(fn, casts=out_casts) if out else fn
        fn.__module__ = "whet"
        for n in (fn.__name__.rstrip("_") if fn.__name__.endswith("__") else fn.__name__, *names):
            FUNCTIONS[n] = shown
            if method:
                METHODS[n] = fn
        return shown
    return publish


def method(*names):
    """Publish a function as a Tensor method only."""
    def publish(fn):
        for n in (fn.__name__, *names):
            METHODS[n] = fn
        return fn
    return publish


class Declared:
    """What `inspect` finds beneath a function that takes other parameters than it is written with.

    The signature is made when somebody asks for it, so it costs neither the import nor a call
    anything. `change` makes the true parameters of those of `fn`.
    """

    def __init__(self, fn, change):
        self.__wrapped__, self.change = fn, change

    @property
    def __signature__(self):
        own = inspect.signature(self.__wrapped__)
        return own.replace(parameters=self.change(list(own.parameters.values())))


def declare(call, fn, change):
    """Let `help()` and `inspect.signature` show `call` with the parameters of `fn`, changed;
    returns `call`."""
    call.__wrapped__ = Declared(fn, change)
    return call


def keyword(name, default=None):
    """A parameter that is given by name."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def and_keyword(name, default=None):
    """The change of parameters that adds one which is given by name, where it is not there yet."""
    def change(parameters):
        if any(p.name == name for p in parameters):
            return parameters
        last = (len(parameters) -
                (bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD))
        return [*parameters[:last], keyword(name, default), *parameters[last:]]
    return change


def guarded(namespace, module, leads_to_ops=True):
    """Names of a module, each hand-written function among them naming the argument that should
    have been a tensor."""
    def plain(n, fn):
        return (not n.startswith("_") and inspect.isfunction(fn) and not hasattr(fn, "guarded")
                and fn.__code__.co_filename != "<whet>")
    return named({n: guard(fn, leads_to_ops) if plain(n, fn) else fn
                  for n, fn in namespace.items()}, module)


def named(namespace, module):
    """A module's names. Functions among them that pickles would not find by what they say of
    themselves (they are made by others, or stand before them) say that they are these."""
    def found(fn):
        there = sys.modules.get(fn.__module__)
        return fn is (namespace if fn.__module__ == module else vars(there) if there else {}).get(
            fn.__qualname__)

    functions = [(n, fn) for n, fn in namespace.items()
                 if type(fn) is types.FunctionType and not n.startswith("_")]
    # a function of several names is found by its own
    for n, fn in sorted(functions, key=lambda pair: pair[0] != pair[1].__name__):
        if not found(fn) and fn.__module__.partition(".")[0] == "whet":
            fn.__module__, fn.__qualname__ = module, n
    return namespace


def guard(fn, leads_to_ops=True, asks=True):
    """A function that names an argument which should have been a tensor, where it would have spoken
    of a missing attribute. `leads_to_ops`: mostly it does nothing but call ops, and others may
    call these in its place (see `known_calls.py`). `asks`: is it for tensors and modes to say what
    it is?

    The functions are written against the tensor's own methods; what they trip over when handed
    something else is that something itself, which is how the argument is found again. A call that
    goes well pays for a frame alone.
    """
    flags = _flags(fn)
    first = min(flags.values(), default=LAST)
    # NumPy's names of arguments -> ours, once they came
    known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def check(args, kwargs):
        for name in kwargs:
            if name in flags and type(kwargs[name]) is not bool:
                check_flag(fn.__name__, name, kwargs[name])
        if len(args) > first:
            _check_positions(fn, flags, args)

    leads_to_ops = leads_to_ops and not fn.__name__.endswith("__")
    calls = known_calls.calls_of(fn, check) if leads_to_ops else None

    @functools.wraps(fn)
    @declarations.stands_for("fn")
    def call(*args, **kwargs):
        if calls is not None and (out := calls(args, kwargs)) is not known_calls.MISSED:
            return out
        if asks and speakers and (out := asked(call, args, kwargs)) is not MINE:
            return out
        ours = kwargs
        if known and (names := known.get(tuple(kwargs))):
            ours = dict(zip(names, kwargs.values()))
        if flags:
            check(args, ours)
        try:
            return fn(*args, **ours)
        except Exception as e:
            if not function_protocol.foreign(args, kwargs):
                renamed = _renamed_after(fn, e, args, ours)
                if renamed is None:
                    raise
                known[tuple(kwargs)] = tuple(renamed)
        if function_protocol.foreign(args, kwargs):
            return _hand_over(call, args, kwargs)
        return fn(*args, **renamed)
    call.guarded = True
    return call


def _flags(fn):
    """name -> position of the flags of a function: the parameters that are bool by default. The
    arguments of layers may be anything."""
    fn = inspect.unwrap(fn)
    code, defaults = fn.__code__, fn.__defaults__ or ()
    n, named = code.co_argcount, fn.__kwdefaults__ or {}
    if fn.__name__ in ("__init__", "forward"):
        return {}
    found = {code.co_varnames[i]: i for i, v in enumerate(defaults, n - len(defaults))
             if type(v) is bool}
    found |= {k: LAST for k, v in named.items() if type(v) is bool}
    return {name: i for name, i in found.items() if name not in BY_TRUTH}


LAST = sys.maxsize                  # the position of what is given by name alone
# flags of which PyTorch, too, asks no more than their truth
BY_TRUTH = frozenset(("inplace", "return_indices", "get_infos"))


def _check_positions(fn, flags, args):
    for name, i in flags.items():
        if i < len(args) and type(args[i]) is not bool:
            check_flag(fn.__name__, name, args[i])


def check_flag(name, argument, v):
    """Raise TypeError where a flag is neither a bool nor a whole number."""
    if registry.is_tensor(v) or not hasattr(v, "__index__") and not isinstance(v, np.bool_):
        raise TypeError(f"{name}(): argument '{argument}' must be bool, not {v.__class__.__name__}")


def check_text(name, argument, v):
    """Raise TypeError where one of some words is wanted, and this is no text."""
    if not isinstance(v, str):
        raise TypeError(f"{name}(): argument '{argument}' must be str, not {v.__class__.__name__}")


def _renamed_after(fn, e, args, kwargs):
    """The arguments by our names, where an error came of those by others'; None where it is another
    one. Raises a better one where it can."""
    if isinstance(e, AttributeError):
        name_argument(fn, e, args, kwargs)
    elif isinstance(e, KeyError):
        name_dtype(fn, e)
    elif isinstance(e, TypeError):
        renamed = _by_our_names(fn, kwargs)
        if renamed is None and "argument '" not in str(e):
            name_kind(fn, args, kwargs)
        return renamed
    elif isinstance(e, ValueError | RuntimeError | IndexError):
        name_text(fn, e, args, kwargs)
        name_kind(fn, args, kwargs)
    return None


# what NumPy, or another overload in PyTorch, calls a parameter -> our names for it
OTHER_NAMES = {"axis": ("dim", "dims"), "axes": ("dim", "dims"), "keepdims": ("keepdim",),
               "x": ("input", "self"), "a": ("input", "self"),
               # (the last: of the method)
               "shape": ("size",),
               "x1": ("input", "self"), "x2": ("other",), "split_size": ("split_size_or_sections",),
               "sections": ("indices_or_sections",), "indices": ("indices_or_sections",),
               "input": ("self", "A", "x", "tensor"), "input2": ("L", "tau"), "input3": ("other",),
               "the_template": ("other",),
               "tensor": ("other",)}


def _by_our_names(fn, kwargs):
    """The arguments of a call that was refused because it names some as others do; None where that
    is not why."""
    names = inspect.signature(fn).parameters
    if any(p.kind is p.VAR_KEYWORD for p in names.values()):
        return None
    renamed = {
        next((n for n in OTHER_NAMES.get(k, ()) if k not in names and n in names), k): v
        for k, v in kwargs.items()}
    return (renamed if len(renamed) == len(kwargs) and renamed.keys() != kwargs.keys()
            and renamed.keys() <= names.keys() else None)


# what a method calls its dimensions, which callers may name as NumPy does, what else has other
# names, and those of its operands that must be tensors
RENAMED = frozenset(("indices_or_sections", "split_size_or_sections", "L", "tau"))
DIMS = frozenset(("dim", "dims"))
OPERANDS = frozenset("""other mat1 mat2 mat vec vec1 vec2 tensor tensor1 tensor2 tensors src source
                        value values index indices mask x y q weight weights bias bins target min
                        max end batch1 batch2 input2 input3""".split())


def overridable(fn):
    """A function that hands over to its operands what it cannot take."""
    ready = hasattr(fn, "guarded") or fn.__code__.co_filename == "<whet>"
    return fn if ready else guard(fn)


def guarded_method(name, fn):
    """A method as users call it."""
    in_place = name.endswith("_") and not name.endswith("__")
    return guard(fn, in_place or name in FUNCTIONS) if needs_guard(fn) else fn


def needs_guard(fn):
    """Is it a hand-written method with arguments to name, of a dimension or of another tensor, with
    some that have other names, or with flags?"""
    if not inspect.isfunction(fn) or hasattr(fn, "guarded"):
        return False
    code = inspect.unwrap(fn).__code__
    return (not (DIMS | OPERANDS | RENAMED).isdisjoint(code.co_varnames[:code.co_argcount])
            or bool(_flags(fn)))


def with_out(fn, name=None, casts=True):
    """A function that takes `out=` too: the result, or each of several, is put there, in its own
    type where it `casts`."""
    inner, name = guard(fn), name or fn.__name__

    @functools.wraps(fn)
    def call(*args, out=None, **kwargs):
        if speakers and out is not None:
            said = asked(call, args, {**kwargs, "out": out})
            if said is not MINE:
                return said
        r = inner(*args, **kwargs)
        if out is None:
            return r
        if not casts:
            check_out_types(r, out)
        return give_out(name, r, out)
    call.guarded = True
    PUBLIC[inner] = call
    call.adds_out = True
    return declare(call, fn, and_keyword("out"))


def check_out_types(r, out):
    """Raise where a result, or one of several, is of another type than its `out=`."""
    for a, b in zip(r, out) if isinstance(r, tuple) else [(r, out)]:
        if registry.is_tensor(b) and a.dtype is not b.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {a.dtype.letter}, but got {b.dtype.letter} "
                "instead")


_NO_HISTORY = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad.")


def give_out(name, r, out, warn=True):
    """Put a result (or a tuple of results) into `out=`."""
    if isinstance(r, tuple):
        if not isinstance(out, tuple | list) or len(out) != len(r):
            raise TypeError(
                f"{name}(): argument 'out' must be tuple of {len(r)} Tensors, not "
                f"{out.__class__.__name__}")
        if not all(map(registry.is_tensor, out)):
            raise TypeError(
                f"{name}(): argument 'out' must be tuple of {len(r)} Tensors, not of "
                f"{[x.__class__.__name__ for x in out]}")
        if any(x.requires_grad for x in (*r, *out)):
            raise RuntimeError(_NO_HISTORY.format(name))
        for a, b in zip(r, out):
            pointwise_family.put_out(name, a, b)
        return type(r)(*out) if hasattr(r, "_fields") else tuple(out)
    if not registry.is_tensor(out):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {out.__class__.__name__}")
    if r.requires_grad or out.requires_grad:
        raise RuntimeError(_NO_HISTORY.format(name))
    return pointwise_family.put_out(name, r, out, warn)
