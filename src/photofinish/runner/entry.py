"""A contender of a course, with all that its framework's header says of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

from photofinish.environments import TASKS, Environment
from photofinish.environments.framework import HOOK
from photofinish.values import Contender


@dataclass(frozen=True)
class Entry:
    """A contender with the environment it runs in and what it can be timed at."""

    contender: Contender
    home: Environment
    tasks: tuple[str, ...] = TASKS

    @property
    def name(self) -> str:
        return self.contender.name

    @property
    def stepping(self) -> Contender:
        """Whose steps it takes, whatever feeds and drives them."""
        return self.home.framework.stepping(self.contender)

    @property
    def processes(self) -> int:
        """How many it runs in."""
        return self.home.framework.processes_of(self.contender)

    @property
    def parts(self) -> int:
        """Into how many of them a batch falls, each of which its layers see alone."""
        strategy = self.home.framework.strategies.get(self.contender.strategy)
        return 1 if strategy is None or strategy.whole_batch else self.home.framework.slices_of(self.contender)

    @property
    def driver(self) -> str:
        """The module of a part that drives it, "" where the framework's own file does."""
        return self.home.framework.driver_of(self.home.version, self.contender.strategy)

    @property
    def forward_only(self) -> bool:
        """True if its steps train nothing: then inference is all that is proven."""
        return "train" not in self.home.framework.tasks_of(self.stepping.mode)

    @property
    def coarse(self) -> tuple[str, "Entry"] | None:
        """Of a mode that computes in a coarser format than the race asks for: that format, and the same contender in
        the mode whose code it is, which does not."""
        found = self.home.framework.precisions.get(self.stepping.mode)
        if found is None:
            return None
        precision, exact = found
        return precision, replace(self, contender=replace(self.stepping, mode=exact, copy=1),
                                  tasks=self.home.framework.tasks_of(exact))

    def hazards(self, device: str) -> str:
        """What to know before it races there."""
        framework, mode = self.home.framework, self.contender.mode
        strategy = framework.strategies.get(self.contender.strategy)
        new = [self.contender.strategy] if strategy and strategy.never_run else []
        new += [each for each in (mode, device.partition(":")[0]) if each in framework.never_run]
        told = [f"{each} has never been run before" for each in new]
        return "; ".join(each for each in (self.home.hazards, *told) if each)

    @property
    def unused(self) -> Mapping[str, tuple[str, str]]:
        """Of settings that nobody has made: a part of the names of their kernels, and what to know where none runs."""
        framework = self.home.framework
        made = {*dict(self.contender.options), *os.environ}
        return {setting: told for setting, told in framework.unused.items()
                if not made & {name := setting.partition("=")[0], *chain(*framework.variables.get(name, {}).values())}}

    @property
    def compressed(self) -> tuple[str, "Entry"] | None:
        """Of processes whose hook changes the gradients they send: to what, and the same contender without the hook."""
        strategy = self.home.framework.strategies.get(self.contender.strategy)
        options = self.contender.options
        sent = strategy.gradients.get(dict(options).get(HOOK, "")) if strategy else None
        if strategy is None or sent is None:
            return None
        kept = tuple(each for each in options if each[0] not in strategy.options)
        return sent, replace(self, contender=replace(self.contender, options=kept, copy=1))

    @property
    def rests_on(self) -> "Entry | None":
        """On whose certificate its own rests."""
        found = self.coarse or self.compressed
        return found[1] if found else None
