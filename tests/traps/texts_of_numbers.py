"""Numbers in texts by templates: `%` and `format`, printed, kept, decided by."""
from tests.traps.harness import Box, outcome, ramp, trap


@trap
def templates_are_filled_and_printed():
    """By %, by format, with numbers of many kinds, beside what is known, in loops and branches."""
    o = Box(epoch=1, epochs=20)
    def f(i, x):
        loss = x.sum().item()
        print("[%d/%d][%d] loss: %.4f %8.2e|%-7d|%05d|%+d|%s|%r%%" % (
            o.epoch, o.epochs, i, loss, loss, i, i, i, loss, i))
        print("{} {:.3f} {:>9} {:5d}|".format(o.epoch, loss, i, i))
        print("Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(
            o.epoch, i * len(x), 40, 100. * i / 40, loss))
        print("%.1f" % loss, "%d" % i, "a%db" % (i,), sep="\t")
        if loss > 20:
            print("{1} then {0}, {1}".format(i, loss))
        for k in range(2):
            print("%d: %g" % (k, loss * k))
    def calls(f):
        for i in range(1, 9):
            o.epoch = 1 + i // 5
            yield f(i, ramp(4) * i)
        yield f(20, ramp(4) * float("inf"))
        yield f(1, ramp(4) * -3)
    return f, calls


@trap
def templates_that_are_not_printed():
    """A text that decides, that is kept, returned, measured; and one that an own function gets."""
    kept = []
    def f(i, x, to):
        n = x.sum().item()
        for way in to:
            (print if way == "print" else kept.append)("%d of %d" % (i, 10))
        text = "%d" % n
        if text == "6":
            return x * 2
        return x * len("{}".format(i)) + ("%d %d" % (i, n)).count("1")
    def calls(f):
        for i in (1, 2, 3, 4, 10, 11, 12, 10, 100):
            for to in (("print",), ("keep", "print"), ("print", "keep", "print")):
                yield f(i, ramp(3) * i / 3, to), list(kept)
    return f, calls


@trap
def templates_that_numbers_do_not_fit():
    """%d of a float, too few values, a number for a text, errors midway."""
    class Refuses:
        def __str__(self): raise ValueError("no text")
    refuses = Refuses()
    def f(i, x, way):
        n = x.mean().item()
        if way == 0:
            print("%d" % n)
        elif way == 1:
            print("%d %d" % (i,))
        elif way == 2:
            print("{:d}".format(n))
        elif way == 3:
            print("%s %s %d" % (i, refuses, n))
        elif way == 4:
            print("%d %s" % (i, refuses if i == 3 else i))
        elif way == 5:
            print("%(a)d" % {"a": i}, "{a:.2f}".format(a=n), "%*d" % (5, i), "%.3d" % i)
        else:
            print("%x %o %c" % (i, i, i), "{!r:>5}".format(i), "{0.real}".format(i))
        return x * 2
    def calls(f):
        for way in range(7):
            for i in (1, 2, 3, 4, 5):
                yield outcome(lambda i=i, way=way: f(i, ramp(3) * i, way))
    return f, calls


@trap
def tuples_that_fill_templates():
    """One that the user made, that is used twice, that lies elsewhere, too; nested formats."""
    kept = []
    def f(i, x):
        n = x.sum().item()
        both = (i, n)
        kept[:] = [both]
        print("%d %.3f" % both)
        print("%s %s" % both, "{} {}".format(*both))
        print("%s" % (both,))
        print("<%s>" % ("%d!" % i), "[" + "%d" % i + "]")
        print("%s and %s" % (i, i), "%s %s" % (i, "%s"))
        return x * n
    def calls(f):
        for i in (1, 2, 3, 3, 4, 7):
            yield f(i, ramp(2) * i), list(kept)
    return f, calls
