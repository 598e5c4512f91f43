"""The text of a random function: Python source of a program that is plain data."""
import dataclasses
import re

from tests.fuzz_parts import HEAD, PARTS


@dataclasses.dataclass
class Several:
    x0: object = None
    x1: object = None
    x2: object = None
    x3: object = None
    x4: object = None
    r0: object = None
    r1: object = None
    r2: object = None
    r3: object = None
    r4: object = None
    r5: object = None
    r6: object = None


def lines(step):
    """A step as lines of source."""
    text = step["text"].format(**step["ops"], v=step["out"])
    block = ("{v}" in step["text"] or "\n" in step["text"]
             or re.match(r"(if|for|with|assert|\S+ .?=|.*\] = |.*grad = |box\.)", step["text"]))
    out = text.split("\n") if block else [f"{step['out']} = {text}"]
    return ([f"with whet.{step['mode']}():", *["    " + line for line in out]] if step["mode"]
            else out)


def source(p):
    """The program's module."""
    body = [line for s in p["steps"] for line in lines(s)]
    xs, rs = [f"x{i}" for i in range(len(p["inputs"]))], ", ".join(p["returns"])
    taken = {"list": [f"{', '.join(xs)}, = pack"], "dict": [f"{x} = pack['{x}']" for x in xs],
             "data": [f"{x} = pack.{x}" for x in xs]}
    head = "pack" if p["pack"] in taken else "*, " * (p["pack"] == "keywords") + ", ".join(xs)
    body = taken.get(p["pack"], []) + body
    back = {"tuple": f"{rs}," if rs else "()", "list": f"[{rs}]",
            "nested": f"[({rs},), {p['returns'][0]}]" if rs else "[]",
            "dict": "{" + ", ".join(f"'r{i}': {t}" for i, t in enumerate(p["returns"])) + "}",
            "data": f"Several({', '.join(f'r{i}={t}' for i, t in enumerate(p['returns']))})"}[p["form"]]
    f = [f"def f({head}):", *["    " + line for line in body], f"    return {back}"]
    free = ([n for n in (*p["captured"], *p["numbers"]) if p["names"][n] == n] if p["closure"]
            else [])
    if free:
        f = [f"def outer({', '.join(f'{n}=None' for n in free)}):", *["    " + line for line in f],
             "    return f", "", "", "f = outer()"]
    named = (set(re.findall(r"(?<![.\w])[a-zA-Z]\w*", "\n".join(f))) if p["steps"]
             else {name for names in PARTS for name in names.split()})
    parts = [text for names, text in PARTS.items() if not named.isdisjoint(names.split())]
    return "\n\n".join([HEAD, *parts, "\n".join(f) + "\n"])
