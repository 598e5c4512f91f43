"""Compiles IR texts for several kinds of processors into one object file that exports only some
names.

Each function is compiled for the processor that its text is for: LLVM takes that from attributes.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from .compile import SUPPORT, SUPPORT_NAMES, _llvm


class Machine(NamedTuple):
    """What an object file is for: LLVM's triple, and the least processor that it runs on."""

    triple: str
    cpu: str


class Texts(NamedTuple):
    """The texts for one kind of processor, `cpu` in LLVM. They may call each other; `tag`
    distinguishes their names from those of other kinds."""

    tag: str
    cpu: str
    texts: Sequence[str]

    def name(self, number: int, function: str) -> str:
        """What a function of text `number` is called in the object."""
        return f"{self.tag}.{number}.{function}"

    def renamed(self) -> Iterable[str]:
        """The texts with the names that they have in the object, for their processor."""
        own = [exported(text) for text in self.texts]
        for i, text in enumerate(self.texts):
            names = {s: self.name(j, s) for j, found in enumerate(own) for s in found}
            names |= {s: self.name(i, s) for s in own[i]}
            changed = _renamed(text, names)
            yield re.sub(r"^(define .*?) *\{$", rf'\1 "target-cpu"="{self.cpu}" {{', changed,
                         flags=re.M)


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"@([\w.$]+)", lambda m: "@" + names.get(m[1], m[1]), text)


def exported(text: str) -> list[str]:
    """The functions that a text defines for others."""
    return re.findall(r"^define (?!internal|private).*?@([\w.$]+)\(", text, flags=re.M)


def one_object(machine: Machine, main: str, kinds: Sequence[Texts],
               public: Collection[str]) -> bytes:
    """The object file of a main text and of texts for kinds of processors. Only the functions in
    `public` are seen from outside."""
    llvm = _llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    code = llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, opt=2, reloc="pic", codemodel="small")
    module = llvm.parse_assembly(f'target triple = "{machine.triple}"\n{main}')
    for kind in kinds:
        for text in kind.renamed():
            module.link_in(llvm.parse_assembly(text))
    for f in module.functions:
        if not f.is_declaration and f.name not in public:
            f.linkage = "internal"
    _add_support(llvm, module)
    module.triple, module.data_layout = machine.triple, str(code.target_data)
    module.verify()
    return bytes(code.emit_object(module))


def _add_support(llvm: Any, module: Any) -> None:
    """What code generation may call by name, and the C library may not have."""
    module.link_in(llvm.parse_assembly(SUPPORT))
    for f in module.functions:
        if f.name in SUPPORT_NAMES:
            f.linkage, f.visibility = "weak_odr", "hidden"
