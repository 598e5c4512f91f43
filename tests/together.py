"""A traced function beside the function itself."""
import threading
import warnings

import whet
from whet.ir.parse import parse


def bits(x):
    """All that is compared of a tensor."""
    return x.dtype, tuple(x.shape), x.detach().numpy().tobytes()


def each(result):
    """The tensors of a result."""
    return result if type(result) is tuple else (result,)


def traced(fn, *args, calls=3):
    """The traced function, after calls that were compared with eager's, to the bit, operands
    included. Its graph is read as it is printed."""
    f = whet.jit.trace(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(calls):
            xs, ys = ([x + k if x.is_floating_point() else x.clone() for x in args]
                      for _ in range(2))
            got, want = f(*xs), fn(*ys)
            for g, w in zip((*each(got), *xs), (*each(want), *ys), strict=True):
                assert bits(g) == bits(w)
    assert str(parse(str(f.graph))) == str(f.graph)
    return f


def path_of(fn, *args):
    """What `explain` says of the recording of such a function."""
    path = traced(fn, *args).explain(data=True)["paths"][0]
    assert path["calls"]
    return path


def in_threads(work, count=4):
    """Run `work(k)` on that many threads at once."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
