"""A script that behaves like uv and downloads nothing: what it is asked to install is there afterwards by name."""

from pathlib import Path

from photofinish.environments import interpreters

UV = """#!{python}
import os, sys
from pathlib import Path

def say(text):
    print(text, flush=True)

arguments = sys.argv[1:]
with open({calls!r}, "a") as calls:
    print(*arguments, file=calls)
if arguments[0] == "venv":
    home = Path(arguments[-1])
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").symlink_to(sys.executable)
    (home / "pyvenv.cfg").write_text("home = {home}\\ninclude-system-site-packages = false\\n")
    sys.exit()
fault = Path({fault!r}).read_text()
say("Resolved 2 packages")
if fault == "fails":
    say("error: there is no alpha-cpu for this Python")
    say("  cause: the network is off")
    sys.exit(2)
if fault == "hangs":
    import time
    time.sleep(60)
home = Path(arguments[arguments.index("--python") + 1]).parent.parent
packages = home / "lib" / "python{minor}" / "site-packages"
for requirement in [] if fault == "forgets" else [each for each in arguments[4:] if each[0] not in "-/"]:
    name, _, version = requirement.partition("==")
    info = packages / "{{}}-{{}}.dist-info".format(name, version or "1.0")
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Name: {{}}\\nVersion: {{}}\\n".format(name, version or "1.0"))
say("Installed")
"""


class Installer:
    """The script in the place of uv."""

    def __init__(self, folder: Path) -> None:
        self.calls, self.fault, self.path = folder / "calls", folder / "fault", folder / "uv"
        own = interpreters.own()
        self.path.write_text(UV.format(python=own.base, home=own.base.parent, minor=own.minor, calls=str(self.calls),
                                       fault=str(self.fault)))
        self.path.chmod(0o755)
        self.calls.write_text("")
        self.behave("")

    def behave(self, fault: str) -> None:
        self.fault.write_text(fault)

    @property
    def called(self) -> list[str]:
        return self.calls.read_text().splitlines()
