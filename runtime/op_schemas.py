"""Signatures of operators as PyTorch writes them: `(Tensor x, int n=1, *, float eps) -> Tensor`."""
import ast
import inspect
import re

PARAMETER = re.compile(r"(?P<type>\S.*?)\s+(?P<name>\w+)\s*(=\s*(?P<default>.+))?$", re.DOTALL)


def parsed(schema):
    """(name, signature, names of the parameters that are written to) of a schema. The name is
    empty where there is none."""
    head, arrow, _ = schema.partition("->")
    start, end = head.find("("), head.rfind(")")
    if not arrow or start < 0 or end < start:
        raise ValueError(f"expected a schema such as '(Tensor x) -> Tensor', got {schema!r}")
    by_name_alone = False
    found, written = [], []
    for text in _parts(head[start + 1:end]):
        if text == "*":
            by_name_alone = True
            continue
        part = PARAMETER.match(text)
        if part is None:
            raise RuntimeError(f"expected a type and a name, got {text!r} in the schema {schema!r}")
        if "!" in part["type"]:
            written.append(part["name"])
        default = inspect.Parameter.empty if part["default"] is None else ast.literal_eval(
            part["default"].strip())
        kind = (inspect.Parameter.KEYWORD_ONLY if by_name_alone
                else inspect.Parameter.POSITIONAL_OR_KEYWORD)
        found.append(inspect.Parameter(part["name"], kind, default=default))
    return head[:start].strip(), inspect.Signature(found), written


def _parts(text):
    """What stands between the commas that are in no brackets and no text."""
    parts, depth, is_text = [""], 0, False
    for c in text:
        is_text ^= c == '"'
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth and not is_text:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]
