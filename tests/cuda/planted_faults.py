"""Faults that tests write into the source of device kernels, to see that they are noticed."""
import dataclasses

from whet.cuda import gathers


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault: in what a function of a module writes, each text in `changes` stands for another."""
    room: object
    name: str
    changes: dict

    def plant(self, monkeypatch):
        """Have kernels written with the fault from now on."""
        write = getattr(self.room, self.name)

        def planted(*args):
            made = write(*args)
            text = made.text
            for right, wrong in self.changes.items():
                assert right in text
                text = text.replace(right, wrong)
            return dataclasses.replace(made, text=text)
        monkeypatch.setattr(self.room, self.name, planted)
        monkeypatch.setattr(gathers, "_sources", {})
