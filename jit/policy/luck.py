"""Whether Python asks a recording if it fits a call, after machine code has found that its table
does not.

Asking takes as long as a short eager call does, and a recording that has not fitted for long
rarely fits again: its table is looked at all the same. After n misses in a row it fits with a
chance of about one in n + 1, so it is asked as often as that pays: the tries of a recording that
never fits again become rarer by the same factor each time.
"""
LONGEST = 1 << 12                # calls of which one is tried at least
LEAST_GAIN = 0.01                # of what a try takes: what a replay brings in at least


class Luck:
    """Of one recording. `misses`: in a row; `passed`: the calls since the last try, `seconds`: what
    that took."""
    __slots__ = ("misses", "passed", "seconds")

    def __init__(self) -> None:
        self.misses, self.passed, self.seconds = 0, 0, 0.0

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

    def missed(self, seconds: float) -> None:
        """It did not fit, which took so long to find out."""
        self.misses, self.passed, self.seconds = self.misses + 1, 0, seconds

    def fitted(self) -> None:
        """It fits again."""
        self.misses = self.passed = 0
