"""Text that every Python has: docstrings and sources of the standard library."""
import ast
import importlib.util
import re

from whet import tensor
from whet.utils.data import Dataset

MODULES = (
    "argparse", "collections", "configparser", "contextlib", "csv", "dataclasses", "datetime",
    "decimal", "difflib", "email.message", "fractions", "functools", "heapq", "inspect",
    "json.decoder", "json.encoder", "logging", "mailbox", "optparse", "pathlib", "pickle",
    "random", "shutil", "socket", "statistics", "string", "subprocess", "tarfile", "tempfile",
    "textwrap", "threading", "turtle", "typing", "unittest.case", "urllib.request", "uuid",
    "xml.dom.minidom", "zipfile")
DOCUMENTED = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef


def source(module):
    """The source of a module, which is not run."""
    found = importlib.util.find_spec(module)
    if found is None or not found.origin or not found.origin.endswith(".py"):
        raise ImportError(f"there is no source of the module {module!r}")
    with open(found.origin, encoding="utf-8") as f:
        return f.read()


def sources(modules=MODULES):
    """The sources of modules, one after the other.

    >>> import whet
    >>> "def dedent" in whet.datasets.sources(["textwrap"])
    True
    """
    return "\n".join(map(source, modules))


def docstrings(modules=MODULES):
    """The docstrings of modules, with those of all that is defined in them. Another version of
    Python has others.

    >>> import whet
    >>> "Remove any common leading whitespace" in whet.datasets.docstrings(["textwrap"])
    True
    """
    nodes = (n for module in modules for n in ast.walk(ast.parse(source(module))))
    texts = (ast.get_docstring(n) for n in nodes if isinstance(n, DOCUMENTED))
    return "\n\n".join(text for text in texts if text)


class Tokens(Dataset):
    """Windows of a text: (what is read, what follows each token), both of `length`. `step` is how
    far apart windows start."""

    def __init__(self, tokens, length, step, words=None):
        self.words = sorted(set(tokens)) if words is None else words
        self.number = {word: i for i, word in enumerate(self.words)}
        self.length, self.step = length, step
        self.ids = self.encode(tokens)

    def encode(self, tokens):
        """The numbers of tokens."""
        return tensor([self.number[t] for t in tokens])

    def __len__(self):
        return (len(self.ids) - 1 - self.length) // self.step + 1

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"window {index} of {len(self)}")
        start = index % len(self) * self.step
        window = self.ids[start:start + self.length + 1]
        return window[:-1], window[1:]


class Characters(Tokens):
    """A text, docstrings unless another is given, as windows of characters.

    >>> from whet.datasets import Characters
    >>> text = Characters("abcabcabc", length=4)
    >>> len(text)
    5
    """

    def __init__(self, text=None, length=64, step=1):
        super().__init__(docstrings() if text is None else text, length, step)

    def decode(self, ids):
        """The text of some numbers."""
        return "".join(self.words[i] for i in ids.tolist())


class Words(Tokens):
    """A text, docstrings unless another is given, as windows of its words. All but the `most`
    frequent ones are `<other>`.

    >>> from whet.datasets import Words
    >>> text = Words("the cat and the dog and the bird", length=4)
    >>> len(text)
    1
    """

    def __init__(self, text=None, length=32, step=None, most=2000):
        found = re.findall(r"\w+|[^\w\s]", (docstrings() if text is None else text).lower())
        count: dict[str, int] = {}
        for word in found:
            count[word] = count.get(word, 0) + 1
        known = sorted(count, key=lambda word: (-count[word], word))[:most]
        super().__init__(found, length, step or length, ["<other>", *sorted(known)])

    def encode(self, tokens):
        """The numbers of words; 0 for others."""
        return tensor([self.number.get(t, 0) for t in tokens])

    def decode(self, ids):
        """The words of some numbers, with spaces between them."""
        return " ".join(self.words[i] for i in ids.tolist())
