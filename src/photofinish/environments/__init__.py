"""What each framework asks for (headers), how contenders are spelled (contenders), which environment each runs in
(choice: of those the user names (given), this Python (here), and those that are made), what one is made of (recipes,
pins), how it is made (make, npm) and kept (cache), and how a worker is started in it (start), and by which variables
frameworks are told what to do (switches)."""

from photofinish.environments.choice import able, at_hand, cure, foresee, held, installed, obtain, resolve
from photofinish.environments.contenders import (
    ALL,
    COMMON_OPTIONS,
    DOUBLE,
    WITHOUT,
    check_device,
    check_version,
    checked,
    everybody,
    expand,
    known,
    older,
    split,
    where_listed,
)
from photofinish.environments.environment import GIVEN, MADE, OWN, Environment
from photofinish.environments.framework import (
    PIPELINE_TASKS,
    STRATEGY_TASKS,
    TASKS,
    FrameworkInfo,
    Recipe,
)
from photofinish.environments.given import Choice, may_make
from photofinish.environments.headers import FOLDER, file_of, frameworks, read_header
from photofinish.environments.here import installed_version, own
from photofinish.environments.make import Missing

__all__ = [
    "ALL",
    "COMMON_OPTIONS",
    "DOUBLE",
    "FOLDER",
    "GIVEN",
    "MADE",
    "OWN",
    "PIPELINE_TASKS",
    "STRATEGY_TASKS",
    "TASKS",
    "WITHOUT",
    "Choice",
    "Environment",
    "FrameworkInfo",
    "Missing",
    "Recipe",
    "able",
    "at_hand",
    "check_device",
    "check_version",
    "checked",
    "cure",
    "everybody",
    "expand",
    "file_of",
    "foresee",
    "frameworks",
    "held",
    "installed",
    "installed_version",
    "known",
    "may_make",
    "obtain",
    "older",
    "own",
    "read_header",
    "resolve",
    "split",
    "where_listed",
]
