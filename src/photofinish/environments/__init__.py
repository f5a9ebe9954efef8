"""What each framework asks for (headers), how contenders are spelled (contenders), which environment each runs in
(choice), what one is made of (recipes, pins), how it is made (make, npm) and kept (cache), and how a worker is started
in it (start), and by which variables frameworks are told what to do (switches)."""

from photofinish.environments.choice import (
    GIVEN,
    Choice,
    Environment,
    able,
    at_hand,
    cure,
    foresee,
    installed,
    installed_version,
    obtain,
    own,
    resolve,
)
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
)
from photofinish.environments.framework import (
    PIPELINE_TASKS,
    STRATEGY_TASKS,
    TASKS,
    FrameworkInfo,
    Recipe,
)
from photofinish.environments.headers import FOLDER, file_of, frameworks, read_header
from photofinish.environments.make import Missing

__all__ = [
    "ALL",
    "COMMON_OPTIONS",
    "DOUBLE",
    "FOLDER",
    "GIVEN",
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
    "installed",
    "installed_version",
    "known",
    "obtain",
    "older",
    "own",
    "read_header",
    "resolve",
    "split",
]
