"""The header of a library."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...guards.sizes import Dim
from ..dims import bounds
from ..unused_names import unused
from . import layout
from .data import Described, extent

KEYWORDS = frozenset(
    "alignof and asm auto bool break case catch char class const continue default delete do double "
    "else enum explicit export extern false float for friend goto if inline int long mutable "
    "namespace new not nullptr operator or private protected public register restrict return short "
    "signed sizeof static struct switch template this throw true try typedef typename union "
    "unsigned using virtual void volatile while xor".split())
TEXT = """\
/* {title}

   Inputs and results, by number; elements are in row-major order unless stated otherwise:
{buffers}

   A model is made once, a context for each thread that calls it; a call allocates nothing.
   Every function that gives an int gives {P}_OK, or a code that `{p}_message` has words for.
   After a code other than {P}_OK results hold anything. */
#ifndef {P}_H
#define {P}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {p}_model {p}_model;
typedef struct {p}_context {p}_context;

enum {{ /* the lowest eight bits of a code; those above count buffers, from 1 */
{codes}
}};
enum {{ {P}_INPUTS = {inputs}, {P}_RESULTS = {results} }};

/* An input or a result; `dtype` as NumPy has it, `strides` in bytes. */
typedef struct {{
  const char *name, *dtype;
  int64_t ndim;
  const int64_t *shape, *strides;
  int64_t bytes, alignment;
}} {p}_value;

/* What a call is given: where the elements are, and how many bytes. Inputs are only read. */
typedef struct {{
  void *data;
  int64_t bytes;
}} {p}_buffer;

{sizes}/* What a context computes with: `threads` threads of its own and the caller's one
   (0: as many as there are processors), or where `run` is set, an executor: `width(executor)`
   says how many parts it runs at a time, `run(executor, n, part, job)` calls part(job, 0) ...
   part(job, n - 1), in any order and in any threads, and comes back when all are done. */
typedef struct {{
  int64_t threads;
  void *executor;
  int64_t (*width)(void *executor);
  void (*run)(void *executor, int64_t n, void (*part)(void *job, int64_t i), void *job);
}} {p}_threads;

/* `weights`: {weights}. `level`: the processors whose code is to run, NULL: the best
   that this one can ({levels}). */
int {p}_model_create({p}_model **model, const char *weights, const char *level);
int {p}_model_destroy({p}_model *model); /* after its contexts; NULL is nothing */
const char *{p}_model_level(const {p}_model *model);

/* `threads`: NULL is one thread. */
int {p}_context_create({p}_context **context, {p}_model *model, const {p}_threads *threads);
int {p}_context_destroy({p}_context *context); /* ends its threads; NULL is nothing */

int {p}_run({p}_context *context, {sizes_argument}const {p}_buffer *inputs, int64_t n_inputs,
{indent}const {p}_buffer *results, int64_t n_results);
{prepare}
const {p}_value *{p}_input(int64_t i); /* NULL past the last */
const {p}_value *{p}_result(int64_t i);
const char *{p}_level(int64_t i);
const char *{p}_message(int code);

#ifdef __cplusplus
}}
#endif
#endif
"""

SIZES = """\
/* The sizes that differ from call to call; each within its bounds: {bounds}. */
typedef struct {{
{fields}
}} {p}_sizes;

typedef struct {{
  const char *name;
  int64_t least, most, multiple;
}} {p}_size_bounds;

"""
PREPARE = """
/* A call of other sizes than the last one of its context plans again, which takes microseconds and
   allocates nothing. This does so before a call, and then these tell the sizes of inputs and
   results, which {p}_input and {p}_result tell as -1 where they differ, with the most bytes. */
int {p}_prepare({p}_context *context, const {p}_sizes *sizes);
const {p}_value *{p}_context_input(const {p}_context *context, int64_t i);
const {p}_value *{p}_context_result(const {p}_context *context, int64_t i);
const {p}_size_bounds *{p}_size(int64_t i); /* NULL past the last */
"""
OF_SIZES = "prepare", "context_input", "context_result", "size"
FUNCTIONS = ("model_create", "model_destroy", "model_level", "context_create", "context_destroy",
             "run", "input", "result", "level", "message")


def functions(has_sizes: bool) -> tuple[str, ...]:
    """The functions of a library, without what their names begin with."""
    return (*FUNCTIONS, *OF_SIZES) if has_sizes else FUNCTIONS


def text(prefix: str, title: str, inputs: Sequence[Described], results: Sequence[Described],
         levels: Sequence[str], weights: str | None, dims: Sequence[Dim] = ()) -> str:
    """The header; `weights` is the name of the file beside, if there is one, `dims` are the sizes
    that differ."""
    lines = []
    for word, values in (("input ", inputs), ("result", results)):
        for i, d in enumerate(values):
            strides = "" if d.type.contiguous else f", strides {d.type.strides}"
            shape = f"[{', '.join(d.sizes)}]"
            size = f"at most {extent(d.type)}" if d.varies else str(extent(d.type))
            lines.append(
                f"   {word} {i}: {d.name}: {d.type.dtype}{shape}{strides}, {size} bytes")
    codes = [f"  {prefix.upper()}_{c.name} = {int(c)}," for c in layout.Code
             if dims or c is not layout.Code.OUT_OF_BOUNDS]
    fields = "\n".join(f"  int64_t {name};" for name in fields_of(dims))
    said = comment("; ".join(f"{d.name} is {bounds(d)}" for d in dims))
    return TEXT.format(
        p=prefix, P=prefix.upper(), title=comment(title), buffers=comment("\n".join(lines)),
        codes="\n".join(codes), inputs=len(inputs), results=len(results),
        weights=f"the path of {weights}" if weights else "NULL, they are inside",
        levels=", ".join(levels), indent=" " * len(f"int {prefix}_run("),
        sizes_argument=f"const {prefix}_sizes *sizes, " if dims else "",
        sizes=SIZES.format(p=prefix, bounds=said, fields=fields) if dims else "",
        prepare=PREPARE.format(p=prefix) if dims else "")


def fields_of(dims: Sequence[Dim]) -> list[str]:
    """The names of sizes in C."""
    out: list[str] = []
    for d in dims:
        name = re.sub(r"\W", "_", d.name, flags=re.ASCII)
        name = name if name[:1].isalpha() and name not in KEYWORDS else f"n_{name}"
        out.append(unused(name, out))
    return out


def comment(text: str) -> str:
    """A text that ends no comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
