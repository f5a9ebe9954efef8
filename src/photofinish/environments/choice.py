"""Which environment a contender runs in: one that the user named, this Python, one that was made, one to be made.

`resolve` says what is there now and makes nothing; `obtain` makes what is missing.
"""

import time

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from photofinish.environments import builds, cache, headers, make, recipes, releases
from photofinish.environments.cache import spelled
from photofinish.environments.contenders import everybody
from photofinish.environments.environment import MADE, Environment
from photofinish.environments.framework import FrameworkInfo
from photofinish.environments.given import Choice, named
from photofinish.environments.here import absent, installed_version, own
from photofinish.environments.make import Listener, Missing
from photofinish.environments.recipes import Order, apart, creating, titled
from photofinish.errors import UsageError
from photofinish.values import Contender


def resolve(contender: Contender, choice: Choice | None = None) -> Environment | Missing:
    """The environment a contender would run in now, or why there is none. Nothing is made."""
    found = look(contender, choice or Choice())
    if not isinstance(found, Order):
        return found
    there = _found(found)
    return own(contender) if there is None else _made(there, found.framework)


def held(contender: Contender) -> Environment | Missing:
    """As `resolve`, and nobody removes what was made for it while this process lives."""
    found = look(contender, Choice())
    if not isinstance(found, Order):
        return found
    try:
        there = cache.hold(found.folder)
    except (OSError, UsageError):  # where nothing can be locked, and where nobody knows a folder for it
        there = None
    return own(contender) if there is None else _made(there, found.framework)


def obtain(contender: Contender, choice: Choice, listener: Listener) -> Environment | Missing:
    """As `resolve`, but what can be made is made, and held: nobody removes it while this process lives."""
    found = foresee(contender, choice)
    if not isinstance(found, Order):
        return found
    there = have(found, listener)
    return there if isinstance(there, Missing) else _made(there, found.framework)


def able(found: Environment | Missing | Order, device: str) -> Environment | Missing | Order:
    """What was found for a contender, or why it sees no such device."""
    if isinstance(found, Missing) or (isinstance(found, Environment) and found.origin != MADE):
        return found
    reason = builds.lacks(found.framework, device)
    return Missing(reason, f"name one that sees {device} with --env {found.framework.name}=PATH") if reason else found


def foresee(contender: Contender, choice: Choice) -> Environment | Missing | Order:
    """What `obtain` will do, as far as can be told before anything is made."""
    found = look(contender, choice)
    forbidden = isinstance(found, Order) and not choice.make and _found(found) is None
    return own(contender) if forbidden else found


def _found(order: Order) -> cache.Made | None:
    """The environment if it has been made; nowhere is there one, where nobody knows a folder for it."""
    try:
        return cache.read(order.folder)
    except UsageError:
        return None


def have(order: Order, listener: Listener) -> cache.Made | Missing:
    """The environment as ordered, made if it is not there, and held. Older ones that nobody uses make room.

    Raises UsageError if the limit of the cache cannot be read.
    """
    most = cache.limit()
    try:
        while (there := cache.hold(order.folder)) is None:
            made = _unmakeable(order) or make.make(order, listener)
            if isinstance(made, Missing):
                return made
            if (there := cache.hold(order.folder)) is not None:
                break
            time.sleep(make.PATIENCE)  # it is being removed, or what its installer started still has the lock
    except BrokenPipeError:  # of who is told
        raise
    except OSError as error:
        place = error.filename2 or error.filename or cache.root()
        return Missing(f"no environment for {order.title} can be made: {error.strerror or error}: {place}",
                       "choose a place that can be written, with room enough, by PHOTOFINISH_CACHE=FOLDER")
    cache.trim(most)
    return there


def look(contender: Contender, choice: Choice) -> Environment | Missing | Order:
    """The user's environment or this Python, if the contender can run there; else the environment to be had."""
    settled = _lacking(contender) or named(contender, choice)
    if settled is not None:
        return settled
    here = own(contender)
    if isinstance(here, Environment):
        return here
    order = order_for(contender)
    if isinstance(order, Order) and (lacking := _unmakeable(order)) and _found(order) is None:
        return lacking
    return order


def order_for(contender: Contender) -> Order | Missing:
    """The environment that could be made for a contender, wherever else it may run."""
    framework = headers.frameworks()[contender.framework]
    lacking = _unreleased(framework, contender.version) or _lacking(contender)
    if lacking is not None:
        return lacking
    found = recipes.order(contender, framework)
    if isinstance(found, Order):
        return found
    title = titled(framework, contender.version)
    return Missing(f"{title} needs Python {found.python}; none was found on PATH, under pyenv, uv or conda",
                   f"install one, for example: {_installing(found.python)}")


def _unreleased(framework: FrameworkInfo, version: str) -> Missing | None:
    """A version that never came out, seen before an installer looks for it."""
    if not version or not releases.unheard_of(framework.name, version):
        return None
    known = list(releases.of(framework.name))
    near = " or ".join(spelled(framework.name, each) for each in releases.around(framework.name, version))
    return Missing(f"{framework.title} has no release {version}",
                   f"did you mean {near}? (its releases: {known[0]} to {known[-1]}; for a build of your own: "
                   f"--env {spelled(framework.name, version)}=PATH)")


def _lacking(contender: Contender) -> Missing | None:
    """What the framework needs of the system and does not find there."""
    framework = headers.frameworks()[contender.framework]
    recipe = recipes.recipe_of(framework, contender.version, contender.strategy)
    return absent(recipe.system, titled(framework, strategy=apart(contender, framework)))


def _unmakeable(order: Order) -> Missing | None:
    """What making an environment takes of the system and does not find there."""
    return absent(order.recipe.build_system, f"making an environment for {order.title}")


def cure(framework: FrameworkInfo, version: str = "") -> str:
    """The command that makes it available, in an environment of its own: what it pins would change this Python's other
    packages."""
    return creating(spelled(framework.name, version))


def installed(choice: Choice | None = None, device: str = "cpu") -> list[Contender]:
    """Every framework that can race here on the device at once, in its default mode: nothing has to be made."""
    return [contender for contender in everybody(device)
            if isinstance(able(resolve(contender, choice), device), Environment)]


def at_hand(framework: str, choice: Choice) -> list[str]:
    """The versions of a framework that can race at once: this Python's, the user's own, those made for a version."""
    here = installed_version(headers.frameworks()[framework])
    given = [named(Contender(framework, version=name.partition("@")[2]), choice) for name in choice.given
             if name.partition("@")[0] == framework]
    found = [here or "", *(each.version for each in given if isinstance(each, Environment)),
             *(made.asked for made in cache.everything() if made.name == spelled(framework, made.asked))]
    return list(dict.fromkeys(version.partition("+")[0] for version in found if version))


def _made(there: cache.Made, framework: FrameworkInfo) -> Environment:
    return Environment(there.python, framework, there.version, MADE, there.python_version, there.packages)


def _installing(requires: str) -> str:
    """How to get the lowest Python of a range."""
    least = min((each.version for each in SpecifierSet(requires) if each.operator in (">=", "==", "~=")),
                key=Version, default="3.11")
    if Version(least) >= Version("3.8"):
        return f"uv python install {least}"
    return f"pyenv install {least}, or: conda create --name python{least} python={least}"  # Debian has none so old
