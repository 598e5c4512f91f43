"""Whether Python asks a recording if it fits a call, after machine code has found that its table
does not.

Asking takes as long as a short eager call does, and a recording that has not fitted for long
rarely fits again. Its table is still compared. After n misses in a row it fits with a probability
of about 1 / (n + 1), so it is asked as often as that pays. The tries of a recording that never fits
again become rarer by the same factor each time.

Comparing by a table costs next to nothing. But a table whose program may find midway that a value
has changed has run the program by then. So after some misses in a row it is closed: only Python
tries it, by the same rule, until it fits again.
"""
UNLUCKY = 4                      # misses in a row, until a table that is costly to try is closed
LONGEST = 1 << 12                # calls of which one is tried at least
LEAST_GAIN = 0.01                # of what a try takes: what a replay brings in at least


class SecondLook:
    """How often one recording is asked. `misses`: how many in a row. `passed`: the calls since the
    last try. `seconds`: what that try took. `calls`: the calls that it fitted, those of machine
    code among them."""
    __slots__ = ("calls", "misses", "passed", "seconds")

    def __init__(self) -> None:
        self.calls, self.misses, self.passed, self.seconds = 0, 0, 0, 0.0

    def known(self, calls: int) -> None:
        """It has fitted so many calls by now: machine code does not report those that it makes."""
        if calls > self.calls:
            self.calls = calls
            self.fitted()

    def pays(self, gain: float) -> bool:
        """Is the recording to be asked about the next call, where a replay brings in so many
        seconds?"""
        if not self.misses:
            return True
        distance = self.misses * self.seconds / max(gain, LEAST_GAIN * self.seconds, 1e-9)
        if self.passed >= int(min(distance, LONGEST)):
            return True
        self.passed += 1
        return False

    @property
    def is_out(self) -> bool:
        """Has it missed so often that a table which is costly to try should be closed?"""
        return self.misses >= UNLUCKY

    def missed(self, seconds: float) -> None:
        """It did not fit, which took so long to find out."""
        self.misses, self.passed, self.seconds = self.misses + 1, 0, seconds

    def fitted(self) -> None:
        """It fits again."""
        self.misses = self.passed = 0
