"""The header of a library."""

from __future__ import annotations

from collections.abc import Sequence

from . import layout
from .data import Described, extent

TEXT = """\
/* {title}

   Inputs and results, by number; elements lie row by row where nothing else is said:
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

/* What a context computes with: `threads` threads of its own and the caller's one (0: as many as
   there are processors), or where `run` is set, an executor: `width(executor)` says how many
   parts it runs at a time, `run(executor, n, part, job)` calls part(job, 0) ... part(job, n - 1),
   in any order and in any threads, and comes back when all are done. */
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

int {p}_run({p}_context *context, const {p}_buffer *inputs, int64_t n_inputs,
{indent}const {p}_buffer *results, int64_t n_results);

const {p}_value *{p}_input(int64_t i); /* NULL past the last */
const {p}_value *{p}_result(int64_t i);
const char *{p}_level(int64_t i);
const char *{p}_message(int code);

#ifdef __cplusplus
}}
#endif
#endif
"""

FUNCTIONS = ("model_create", "model_destroy", "model_level", "context_create", "context_destroy",
             "run", "input", "result", "level", "message")


def text(prefix: str, title: str, inputs: Sequence[Described], results: Sequence[Described],
         levels: Sequence[str], weights: str | None) -> str:
    """The header; `weights` is the name of the file beside, if there is one."""
    lines = []
    for word, values in (("input ", inputs), ("result", results)):
        for i, d in enumerate(values):
            strides = "" if d.type.contiguous else f", strides {d.type.strides}"
            lines.append(f"   {word} {i}: {d.name}: {d.type.dtype}{list(d.type.shape)}{strides}, "
                         f"{extent(d.type)} bytes")
    codes = [f"  {prefix.upper()}_{c.name} = {int(c)}," for c in layout.Code]
    return TEXT.format(
        p=prefix, P=prefix.upper(), title=comment(title), buffers=comment("\n".join(lines)),
        codes="\n".join(codes), inputs=len(inputs), results=len(results),
        weights=f"the path of {weights}" if weights else "NULL, they are inside",
        levels=", ".join(levels), indent=" " * len(f"int {prefix}_run("))


def comment(text: str) -> str:
    """A text that ends no comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
