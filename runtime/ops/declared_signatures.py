"""What `help()` and `inspect.signature` show of functions that take other parameters than they are
written with, and signatures as text."""
import inspect


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
