"""Where processes of a group leave values for each other. A group has one here, and so has a
store."""
import datetime
import threading

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "HashStore",
           "PrefixStore", "Store"]


class DistError(RuntimeError):
    """An error of a group of processes.

    >>> import whet
    >>> issubclass(whet.distributed.DistError, RuntimeError)
    True
    """


class DistBackendError(DistError):
    """An error of what a group communicates by.

    >>> import whet
    >>> issubclass(whet.distributed.DistBackendError, whet.distributed.DistError)
    True
    """


class DistNetworkError(DistError):
    """An error of a network.

    >>> import whet
    >>> issubclass(whet.distributed.DistNetworkError, whet.distributed.DistError)
    True
    """


class DistStoreError(DistError):
    """An error of a store: a value was not set in time.

    >>> import whet
    >>> issubclass(whet.distributed.DistStoreError, whet.distributed.DistError)
    True
    """


def _bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Values by name, which are bytes. Who asks for one that is not there waits for it.

    >>> import whet
    >>> isinstance(whet.distributed.HashStore(), whet.distributed.Store)
    True
    """

    def __init__(self):
        self.timeout = datetime.timedelta(minutes=5)

    def set_timeout(self, timeout):
        """Wait so long at most."""
        self.timeout = timeout


class HashStore(Store):
    """A store in the memory of this process, for all its threads.

    >>> import whet
    >>> store = whet.distributed.HashStore()
    >>> store.set("name", "value")
    >>> store.get("name"), store.add("count", 2), store.add("count", 3)
    (b'value', 2, 5)
    """

    def __init__(self):
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def set(self, key, value):
        """Set a value."""
        with self._changed:
            self._values[key] = _bytes(value)
            self._changed.notify_all()

    def get(self, key):
        """A value, once it is there."""
        self.wait([key])
        return self._values[key]

    def add(self, key, amount):
        """Add to a number, 0 at first, and give the sum."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self.set(key, str(total))
        return total

    def append(self, key, value):
        """Add to the end of a value, which is empty at first."""
        with self._changed:
            self.set(key, self._values.get(key, b"") + _bytes(value))

    def compare_set(self, key, expected_value, desired_value):
        """Set a value where it is the expected one, or where there is none and none is expected;
        gives the value that is there then."""
        with self._changed:
            if self._values.get(key, b"") == _bytes(expected_value):
                self.set(key, desired_value)
            return self._values.get(key, _bytes(expected_value))

    def check(self, keys):
        """Are all of these values there?"""
        return all(key in self._values for key in keys)

    def wait(self, keys, timeout=None):
        """Wait until all of these values are there."""
        seconds = (timeout or self.timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), seconds):
                raise DistStoreError("Wait timeout")

    def delete_key(self, key):
        """Remove a value. Was it there?"""
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self):
        """How many values there are."""
        return len(self._values)

    def multi_get(self, keys):
        """Several values."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values):
        """Set several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)


class PrefixStore(Store):
    """A store whose names begin, in another store, with a prefix.

    >>> import whet
    >>> store = whet.distributed.HashStore()
    >>> whet.distributed.PrefixStore("step 1", store).set("ready", "yes")
    >>> whet.distributed.PrefixStore("step 1", store).get("ready")
    b'yes'
    """

    def __init__(self, prefix, store):
        super().__init__()
        self.prefix, self.underlying_store = prefix, store

    def _named(self, key):
        return f"{self.prefix}/{key}"

    def set(self, key, value):
        """Set a value."""
        self.underlying_store.set(self._named(key), value)

    def get(self, key):
        """A value, once it is there."""
        return self.underlying_store.get(self._named(key))

    def add(self, key, amount):
        """Add to a number, and give the sum."""
        return self.underlying_store.add(self._named(key), amount)

    def compare_set(self, key, expected_value, desired_value):
        """Set a value where it is the expected one."""
        return self.underlying_store.compare_set(self._named(key), expected_value, desired_value)

    def check(self, keys):
        """Are all of these values there?"""
        return self.underlying_store.check([*map(self._named, keys)])

    def wait(self, keys, timeout=None):
        """Wait until all of these values are there."""
        self.underlying_store.wait([*map(self._named, keys)], timeout)

    def delete_key(self, key):
        """Remove a value. Was it there?"""
        return self.underlying_store.delete_key(self._named(key))

    def num_keys(self):
        """How many values the other store has."""
        return self.underlying_store.num_keys()
