"""What the rows of a table are gathered in, and the order in which machine code hands over what a
recording is given."""
ANY = object()


class No(Exception):
    """This cannot be in a table."""


class Rows:
    """Sections of a table under construction."""

    def __init__(self):
        self.owned, self.sections = [], {}

    def __getitem__(self, name):
        return self.sections.setdefault(name, [])

    def forget(self, *names):
        """These sections are empty."""
        for name in names:
            self.sections.pop(name, None)

    def id(self, x):
        """The address of an object that lives as long as the table."""
        self.owned.append(x)
        return id(x)


class Leaves:
    """What a recording is given, in the order in which machine code hands it over: the tensors,
    then the numbers that may be any. `leaf`: an object -> which of the recording's leaves it is,
    `place`: where machine code puts it."""

    def __init__(self, leaves, slots, numbers):
        self.slots = slots
        self.number = [id(x) in numbers for x in leaves]
        self.order = sorted(range(len(leaves)), key=self.number.__getitem__)
        self.tensors = len(leaves) - len(numbers)
        self.leaf = {id(x): i for i, x in enumerate(leaves)}
        self.place = {id(leaves[i]): k for k, i in enumerate(self.order)}
