"""The end of a gradient's way: a leaf's `.grad`."""


class AccumulateGrad:
    """Stands for a leaf in `next_functions`; two of the same leaf are equal."""
    __slots__ = ("variable",)

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        return "struct whet::autograd::AccumulateGrad"

    @property
    def next_functions(self):
        return ()

    def __eq__(self, other):
        return type(other) is AccumulateGrad and other.variable is self.variable

    def __hash__(self):
        return id(self.variable)

    def __repr__(self):
        return f"<AccumulateGrad object at {id(self.variable):#x}>"
