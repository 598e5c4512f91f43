"""What a lowering gives: the text of a kernel and what its parameters are."""
from __future__ import annotations

import hashlib
import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

Programs = int | tuple[int, int, int]    # how many there are of a launch, by dimension

if TYPE_CHECKING:
    from .builder import Module


@dataclass(frozen=True)
class Source:
    """One kernel. `parameters` are (name, type) in order: a type is a pointer (`*fp32`) or `i32`,
    `i64`, `fp32`, `fp64`. Sizes of blocks are part of the text."""
    name: str
    text: str
    parameters: tuple[tuple[str, str], ...]
    grid: str               # the number of programs, as an expression of the parameters
    warps: int = 4
    stages: int = 2         # of loads under way, in loops around products of matrices

    @property
    def key(self) -> str:
        """Names the text, for caches."""
        return f"{self.name}-{hashlib.sha256(self.text.encode()).hexdigest()[:16]}"

    def programs(self, numbers: Mapping[str, float]) -> int:
        """How many programs to launch for these values of the parameters, by name."""
        count: int = eval(self.grid, {"cdiv": lambda a, b: -(-a // b)}, dict(numbers))
        return max(1, count)

    # ---- what Triton gets ----
    def function(self) -> Any:
        """The Triton function. Its text is found by the name of a file that there is not."""
        import triton
        import triton.language as tl
        file = f"<whet:{self.key}>"
        linecache.cache[file] = len(self.text), None, self.text.splitlines(True), file
        names = {"tl": tl, "triton": triton, "__name__": "whet.generated"}
        exec(compile(self.text, file, "exec"), names)
        return names[self.name]

    def constants(self) -> dict[str, Any]:
        """The parameters whose values are known when it is compiled."""
        return {}

    def options(self) -> dict[str, Any]:
        """The compiler's options besides the text: products and sums are never contracted."""
        return {"num_warps": self.warps, "num_stages": self.stages, "enable_fp_fusion": False,
                "enable_reflect_ftz": False}


def source(name: str, module: Module, parameters: Sequence[tuple[str, str]], lines: Sequence[str],
           grid: str, **options: int) -> Source:
    """The helpers of a module and a kernel of these lines as one Source."""
    head = f"@triton.jit\ndef {name}({', '.join(n for n, _ in parameters)}):\n"
    helpers = module.text()
    return Source(name, (helpers + "\n\n" if helpers else "") + head + "\n".join(lines) + "\n",
                  tuple(parameters), grid, **options)
