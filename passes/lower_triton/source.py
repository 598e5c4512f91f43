"""What a lowering gives: the text of a kernel and what its parameters are."""
import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One kernel. `parameters` are (name, type) in order: a type is a pointer (`*fp32`) or `i32`,
    `i64`, `fp32`, `fp64`. Sizes of blocks are part of the text."""
    name: str
    text: str
    parameters: tuple
    grid: str               # the number of programs, as an expression of the parameters
    warps: int = 4
    stages: int = 2         # of loads under way, in loops around products of matrices

    @property
    def key(self):
        """Names the text, for caches."""
        return f"{self.name}-{hashlib.sha256(self.text.encode()).hexdigest()[:16]}"

    def programs(self, numbers):
        """How many programs to launch for these values of the parameters, by name."""
        return max(1, eval(self.grid, {"cdiv": lambda a, b: -(-a // b)}, dict(numbers)))


def source(name, module, parameters, lines, grid, **options):
    """The helpers of a module and a kernel of these lines as one Source."""
    head = f"@triton.jit\ndef {name}({', '.join(n for n, _ in parameters)}):\n"
    helpers = module.text()
    return Source(name, (helpers + "\n\n" if helpers else "") + head + "\n".join(lines) + "\n",
                  tuple(parameters), grid, **options)
