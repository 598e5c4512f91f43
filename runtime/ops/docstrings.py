"""Docstrings of functions that are made from an op's statement: a sentence and an example."""
import re

# a list of elements, or a number
_OPERAND = re.compile(r"\[[^]]*\]|[^\s,]+")


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
    operands = [_operand(text) for text in _OPERAND.findall(given)]
    of_all, of_others = ", ".join(operands), ", ".join(operands[1:])
    calls = (f"whet.{public}({of_all})", f"{operands[0]}.{short}({of_others})",
             f"{operands[0]}.{short}_({of_others})" if method else f"whet.{public}_({of_all})")
    # booleans that are written to a tensor of floats
    floats = result.replace("[ ", "[").replace("True", "1.").replace("False", "0.")
    results = result, result, floats if "True" in result else result
    return tuple(f"{text}\n\n>>> import whet\n>>> {call}\ntensor({shown})\n"
                 for text, call, shown in zip(texts, calls, results))


def _operand(text):
    """An operand of an example as source: a list is a tensor's."""
    if text[0] != "[":
        return text
    elements = re.sub(r"\b(nan|inf)\b", r"whet.\1", text)
    return f"whet.tensor({elements})"
