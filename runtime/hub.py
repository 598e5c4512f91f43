"""`whet.hub`: files of weights that are downloaded once, and models from folders with a
`hubconf.py`."""
import hashlib
import importlib.util
import os
import re
import secrets
import sys
import urllib.request
from urllib.parse import urlparse

from . import serialization

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
           "set_dir"]

try:
    from tqdm import tqdm
except ImportError:
    class tqdm:  # type: ignore[no-redef]  # noqa: N801  (the package's name)
        """How far a download has come, on stderr, where the package `tqdm` is not installed."""

        def __init__(self, *_, total=None, disable=False, **__):
            self.total, self.disable, self.n = total, disable, 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.write("")
            self.close()

        def update(self, n=1):
            """Count `n` more."""
            self.n += n
            if not self.disable:
                done = f"{100 * self.n / self.total:.0f} %" if self.total else f"{self.n} bytes"
                print(f"\r{done}", end="", file=sys.stderr, flush=True)

        def write(self, text):
            """Print a line."""
            if not self.disable:
                print(text, file=sys.stderr)

        def close(self):
            """Print no more."""
            self.disable = True

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_SIZE = 1 << 20
_dir: dict = {}


def _get_torch_home():
    """The folder where programs written for PyTorch keep downloads."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir():
    """The folder for downloads: that of `set_dir`, or `hub` in TORCH_HOME.

    >>> import whet
    >>> before = whet.hub.get_dir()
    >>> whet.hub.set_dir("/tmp/models")
    >>> whet.hub.get_dir()
    '/tmp/models'
    >>> whet.hub.set_dir(before)
    """
    return _dir.get("set", os.path.join(_get_torch_home(), "hub"))


def set_dir(d):
    """Set the folder for downloads.

    >>> import whet
    >>> before = whet.hub.get_dir()
    >>> whet.hub.set_dir("/tmp/models")
    >>> whet.hub.get_dir()
    '/tmp/models'
    >>> whet.hub.set_dir(before)
    """
    _dir["set"] = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Download a URL to a file, which is complete or absent. With `hash_prefix` its SHA-256 must
    begin with that. With `progress` a bar on stderr says how far it has come."""
    dst = os.path.expanduser(dst)
    beside = f"{dst}.{secrets.token_hex(8)}.partial"
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url) as response, open(beside, "xb") as out, \
                tqdm(total=int(response.headers.get("Content-Length") or 0) or None,
                     disable=not progress, unit="B", unit_scale=True) as bar:
            while piece := response.read(READ_SIZE):
                digest.update(piece)
                out.write(piece)
                bar.update(len(piece))
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(
                f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.replace(beside, dst)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True,
                             check_hash=False, file_name=None, weights_only=False):
    """`whet.load` of the file at a URL, downloaded if `model_dir` does not have it."""
    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(model_dir, exist_ok=True)
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        download_url_to_file(url, path, found and found.group(1), progress=progress)
    return serialization.load(path, map_location=map_location, weights_only=weights_only)


def _entries(repo_or_dir, source):
    """The module of a folder's `hubconf.py`."""
    if source != "local":
        raise ValueError(
            f"hub: repositories of {source!r} are not fetched: clone {repo_or_dir} and pass its "
            "folder with source='local'")
    folder = os.path.expanduser(repo_or_dir)
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"hub: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    for package in getattr(module, "dependencies", ()):
        if importlib.util.find_spec(package) is None:
            raise RuntimeError(f"Missing dependencies: {package}")
    return module


def _entry(repo_or_dir, model, source):
    found = getattr(_entries(repo_or_dir, source), model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False,
         verbose=True, skip_validation=False, **kwargs):
    """What an entry of a folder's `hubconf.py` gives; `source` must be "local".

    >>> import whet
    >>> import pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = pathlib.Path(folder, "hubconf.py").write_text("from whet.nn import Linear as layer")
    >>> whet.hub.load(folder, "layer", 3, 1, source="local")
    Linear(in_features=3, out_features=1, bias=True)
    """
    return _entry(repo_or_dir, model, source)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True,
         source="local"):
    """The names of the entries of a folder's `hubconf.py`.

    >>> import whet
    >>> import pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = pathlib.Path(folder, "hubconf.py").write_text("def layer(): pass")
    >>> whet.hub.list(folder)
    ['layer']
    """
    return [name for name, x in vars(_entries(github, source)).items()
            if callable(x) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None,
         source="local"):
    """What an entry says of itself.

    >>> import whet
    >>> import pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = pathlib.Path(folder, "hubconf.py").write_text("def layer(): 'A layer.'")
    >>> whet.hub.help(folder, "layer")
    'A layer.'
    """
    return _entry(github, model, source).__doc__
