"""Docstrings of functions that are made from statements, or in loops: a sentence and an example."""
import inspect
import re


def of_elementwise(name, says, example, method=True):
    """The docstrings of three forms of a function of single elements: `whet.NAME`, `Tensor.NAME`
    and `Tensor.NAME_`; without `method` the last one is `whet.NAME_`.

    says: what it computes, in a sentence. example: operands and their result, as
    "[3., 5.], [4., 12.] -> [5., 13.]"; None for docstrings without one.
    """
    short = name.rpartition("special_")[2]
    public = name.replace("special_", "special.")
    texts = says, f"{says} See `whet.{public}`.", f"`{short}`, in place."
    if example is None:
        return texts
    given, result = example.split(" -> ")
    operands = [_operand(text) for text in _parts(given)]
    of_all, of_others = ", ".join(operands), ", ".join(operands[1:])
    calls = (f"whet.{public}({of_all})", f"{operands[0]}.{short}({of_others})",
             f"{operands[0]}.{short}_({of_others})" if method else f"whet.{public}_({of_all})")
    # booleans that are written to a tensor of floats
    floats = result.replace("[ ", "[").replace("True", "1.").replace("False", "0.")
    results = result, result, floats if "True" in result else result
    return tuple([with_example(text, call, f"tensor({shown})")
                  for text, call, shown in zip(texts, calls, results)])


def with_example(says, call, shown):
    """A docstring: what a function does, a call and what it prints."""
    return f"{says}\n\n>>> import whet\n>>> {call}\n{shown}\n"


def of_in_place(name, doc):
    """The docstring of `NAME_`, from that of `NAME`, whose example has the same result in place."""
    return of_variant(f"`{name}`, in place.", name, f"{name}_", doc)


def of_variant(says, name, new, doc):
    """A docstring with the example of another function's, which calls `NEW` in place of `NAME`."""
    _, prompt, example = inspect.cleandoc(doc).partition(">>>")
    return f"{says}\n\n{prompt}{example.replace(f'.{name}(', f'.{new}(')}\n" if prompt else says


def _parts(text):
    """The operands of an example: what stands between the commas outside of brackets."""
    found, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == "," and not depth:
            found.append("")
        else:
            found[-1] += c
    return [part.strip() for part in found]


def _operand(text):
    """An operand of an example as source: a list is a tensor's."""
    if text[0] != "[":
        return text
    elements = re.sub(r"\b(nan|inf)\b", r"whet.\1", text)
    return f"whet.tensor({elements})"
