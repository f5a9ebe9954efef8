"""A contestant that says what it can be asked for."""

from typing import Tuple

from photofinish import frameworks
from photofinish.frameworks import Setup, Unsupported


class Contestant(frameworks.Contestant):
    """Refuses a setup with anything else. A kind of device stands for all its numbers ("cuda" for "cuda:1")."""

    title = ""  # what its messages call the framework
    modes: Tuple[str, ...] = ()
    options: Tuple[str, ...] = ()
    precisions: Tuple[str, ...] = ("float32",)
    devices: Tuple[str, ...] = ("cpu",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        for what, asked, known in (
                ("mode", [setup.mode], self.modes), ("option", list(setup.options), self.options),
                ("precision", [setup.precision], self.precisions),
                ("device", [setup.device.partition(":")[0]], self.devices)):
            for each in asked:
                if each not in known:
                    raise Unsupported("{} has no {} {}: {}".format(
                        self.title, what, each, ", ".join(known) or "it takes none"))
