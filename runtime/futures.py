"""`whet.futures`: values that other code sets, as programs of many threads wait for them."""
import concurrent.futures
import types

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that is set later.

    >>> import whet
    >>> f = whet.futures.Future()
    >>> double = f.then(lambda f: f.value() * 2)
    >>> f.set_result(3)
    >>> double.wait()
    6
    """

    def __class_getitem__(cls, item):
        return types.GenericAlias(cls, item)     # Future[Tensor], as annotations say

    def __init__(self, *, devices=None):
        self._future: concurrent.futures.Future = concurrent.futures.Future()

    def done(self):
        """Was it set?"""
        return self._future.done()

    def wait(self):
        """The value, once it is set."""
        return self._future.result()

    def value(self):
        """The value, which must be set."""
        if not self.done():
            raise RuntimeError("the future has no value yet")
        return self._future.result()

    def set_result(self, result):
        """Set the value, once."""
        self._set(lambda: self._future.set_result(result))

    def set_exception(self, result):
        """Let those who wait meet an error."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._set(lambda: self._future.set_exception(result))

    def _set(self, how):
        try:
            how()
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future can only be set once.") from None

    def add_done_callback(self, callback):
        """Call a function with this future when it is set."""
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback):
        """The future of what a function makes of this one."""
        made = Future()

        def follow(_):
            try:
                result = callback(self)
            except Exception as error:
                made.set_exception(error)
            else:
                made.set_result(result)
        self._future.add_done_callback(follow)
        return made


def collect_all(futures):
    """The future of a list of futures, set when all are.

    >>> import whet
    >>> f = whet.futures.Future()
    >>> both = whet.futures.collect_all([f, f])
    >>> f.set_result(1)
    >>> [g.wait() for g in both.wait()]
    [1, 1]
    """
    futures = list(futures)
    made, left = Future(), [len(futures)]

    def one_more(_):
        left[0] -= 1
        if not left[0]:
            made.set_result(futures)
    for f in futures:
        f.add_done_callback(one_more)
    if not futures:
        made.set_result(futures)
    return made


def wait_all(futures):
    """The values of futures, once all are set."""
    return [f.wait() for f in collect_all(futures).wait()]
