"""What is said where something cannot be exported, called or loaded."""


class ExportError(RuntimeError):
    """A function cannot be exported: what it does, at which line, and what to write instead."""


class PreconditionError(ValueError):
    """A call of an exported function that it was not exported for: nothing was computed."""


class ArchiveError(ValueError):
    """A file that is no archive, or a damaged one. `member` is the part of it that is wrong."""

    def __init__(self, path: str, member: str, what: str) -> None:
        self.path, self.member, self.what = path, member, what
        super().__init__(f"{path}: {member}: {what}" if member else f"{path}: {what}")
