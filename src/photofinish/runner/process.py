"""One worker process as its parent sees it: ask, wait asleep, stop, wake, kill."""

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from photofinish.environments import where_listed
from photofinish.errors import UsageError
from photofinish.measure import system
from photofinish.runner.answers import complaint, complaint_of_hello
from photofinish.runner.watchdog import MARK, kill_carriers
from photofinish.worker import OUT_OF_MEMORY, TIMED, WRONG_USE

PROTOCOL = 1
KINDS = ("crash", "out of memory", "nan", "unsupported", "missing")  # what a worker may say of its failures
LINE_LIMIT = 64 * 1024 * 1024  # a worker that floods its output is cut off here,
LOG_LIMIT = 256 * 1024 * 1024  # or here, if it floods its log
LOG_KEPT = 64 * 1024  # bytes at the end of a log
LOG_TAIL = 20
MESSAGE_LIMIT = 2000  # characters
STOPPING = 5.0  # seconds that children of a worker are given to stop
LOOK = 5.0  # seconds between two looks at how long the log has become, and two signs of life
# What colours, moves the cursor or is no letter: last words are shown in pages, too, and in other terminals.
_UNSEEN = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")


class WorkerFailed(Exception):
    """The worker answered with a failure, died, hung or broke the protocol. `kind` is a Failure's."""

    def __init__(self, kind: str, message: str, log: str = "") -> None:
        self.kind = kind
        self.message, self.log = (_UNSEEN.sub("", each) for each in (message, log))
        super().__init__(self.message)


class Worker(Protocol):
    """What a race knows of a contender's worker: one process, or the ranks of a strategy (`runner.ranks`)."""

    hello: dict[str, Any]
    start_seconds: float
    leaves: tuple[str, ...]

    @property
    def alive(self) -> bool: ...

    def ask(self, do: str, timeout: float, **arguments: Any) -> dict[str, Any]: ...
    def stop(self) -> None: ...
    def wake(self) -> None: ...
    def kill(self) -> None: ...
    def log_tail(self) -> str: ...


class WorkerProcess:
    """A worker in a session of its own. Between requests it may be stopped; time-outs count only while
    a request runs, because only then is it awake."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path, mark: str,
                 timeout: float = 60.0, sign_of_life: Callable[[], None] = lambda: None,
                 folder: Path | None = None, greets: bool = True) -> None:
        """`sign_of_life` is called every few seconds while a request runs, unless it is a block. `folder` is where it
        is started, that of its log if left out. Unless it `greets`, somebody calls `greet` before anything else."""
        self._sign_of_life = sign_of_life
        self.log = log
        self.mark = mark
        self._buffer = bytearray()
        self._oom_kills = _oom_kills()  # of the whole machine, when the request that now runs began
        self._timeout = timeout
        self._begin = time.perf_counter()
        with log.open("ab") as sink:
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink,
                    env={**environment, MARK: mark}, start_new_session=True, cwd=folder or log.parent)
            except OSError as error:  # its interpreter is gone, for one
                raise WorkerFailed("crash", f"{command[0]} cannot be started: {error.strerror}") from error
        if greets:
            self.greet()

    def greet(self) -> None:
        """Waits for its first line. Raises WorkerFailed, and leaves nothing behind."""
        try:
            self.hello = self._receive(self._timeout)
            self.start_seconds = time.perf_counter() - self._begin
            wrong = complaint_of_hello(self.hello, PROTOCOL)
            if wrong:
                raise self._failed("protocol", wrong)
            self.leaves = tuple(self.hello.get("leaves", ()))  # requests that we do for it, verb by verb
        except BaseException:
            self.kill()
            raise

    def ask(self, do: str, timeout: float, **arguments: Any) -> dict[str, Any]:
        """Sends a request and sleeps until the answer. Raises WorkerFailed."""
        self.send(do, arguments)
        return self.checked(do, arguments, self._receive(timeout, do))

    def send(self, do: str, arguments: dict[str, Any]) -> None:
        """Sends a request, whose answer `listen` will find. Raises WorkerFailed."""
        assert self._process.stdin is not None
        self.expect_silence()
        self._oom_kills = _oom_kills()
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            raise self._died() from None

    def checked(self, do: str, arguments: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        """That answer to that request. Raises WorkerFailed if it says that it failed, or makes no sense; UsageError if
        what was asked for is not there."""
        if reply.get("ok") is not True:
            kind = reply.get("kind")
            said = str(reply.get("message", reply)).removeprefix("Unsupported: ")[:MESSAGE_LIMIT]  # the kind says it
            if kind == WRONG_USE:
                said = said.removeprefix("WrongUse: ")
                raise UsageError(said, where_listed(said))
            message, _, stack = said.strip().partition("\n")  # of C++, for one
            raise WorkerFailed(kind if kind in KINDS else "protocol", message,
                               "\n".join(filter(None, (stack.strip("\n"), self.log_tail()))))
        wrong = complaint(do, arguments, reply)
        if wrong:
            raise self._failed("protocol", wrong)
        return reply

    @property
    def answers(self) -> int:
        """The descriptor on which answers come."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Stops the whole process group and returns once the kernel says that it has stopped."""
        try:
            os.killpg(self._process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        except (ProcessLookupError, ChildProcessError):
            return  # it died; the next request finds out and says how
        deadline = time.monotonic() + STOPPING
        while any(map(self._runs_on, system.children(self._process.pid))) and time.monotonic() < deadline:
            time.sleep(0.001)  # those that load its data are told by nobody but /proc

    def _runs_on(self, child: int) -> bool:
        """Whether a child that was told to stop has not yet done so. Compilers start sessions of their own."""
        state, _, group = (system.state_of(child) or ["Z", "", ""])[:3]
        return int(group or 0) == self._process.pid and state not in "TtZX"

    def wake(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Ends the worker and everything it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        kill_carriers([self.mark])
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        if self._log_size() > LOG_LIMIT:  # its end says enough, and the disk is wanted for other things
            self.log.write_bytes(self._log_end())

    def log_tail(self) -> str:
        """The last lines of what it said beside its answers."""
        return "\n".join(self._log_end().decode(errors="replace").splitlines()[-LOG_TAIL:])

    def _log_end(self) -> bytes:
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self._log_size() - LOG_KEPT))
                return file.read(LOG_KEPT)
        except OSError:
            return b""

    def _log_size(self) -> int:
        try:
            return self.log.stat().st_size
        except OSError:
            return 0

    def expect_silence(self) -> None:
        """Raises WorkerFailed if there is something that nobody asked for: it would pass for the next answer."""
        if not self._buffer and select.select([self.answers], [], [], 0)[0]:
            self._buffer += os.read(self.answers, 1 << 20)
            if not self._buffer:
                raise self._died()
        if self._buffer:
            raise self._failed("protocol", f"said something unasked: {bytes(self._buffer[:80])!r}")

    def _receive(self, timeout: float, do: str = "start") -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        while (reply := self.listen()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._failed("hang", f"gave no answer to {do!r} within {timeout:.0f} s")
            if not select.select([self.answers], [], [], min(left, LOOK))[0] and do not in TIMED:
                self._sign_of_life()
        return reply

    def listen(self) -> dict[str, Any] | None:
        """The line that is due, once all of it has come; never waits. Raises WorkerFailed for what is no answer."""
        if self._log_size() > LOG_LIMIT:
            raise self._failed("protocol", f"flooded its log with more than {LOG_LIMIT >> 20} MiB")
        if not select.select([self.answers], [], [], 0)[0]:
            return None
        chunk = os.read(self.answers, 1 << 20)
        if not chunk:
            raise self._died()
        searched = len(self._buffer)
        self._buffer += chunk
        end = self._buffer.find(b"\n", searched)
        if end < 0:
            if len(self._buffer) > LINE_LIMIT:
                raise self._failed("protocol", "flooded its output without ending a line")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[:end + 1]
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            raise self._failed("protocol", f"answered something that is not JSON: {line[:80]!r}") from None
        if not isinstance(reply, dict):
            raise self._failed("protocol", f"answered {line[:80]!r} where an object was due")
        return reply

    def _died(self) -> WorkerFailed:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return self._failed("crash", "closed its output but lives on")
        if code >= 0:
            return self._failed("crash", f"ended with exit code {code}")
        # Nobody here sends SIGKILL while a request runs, so it came from the kernel's out-of-memory killer or a user.
        refused = any(sign in self.log_tail().lower() for sign in OUT_OF_MEMORY)  # and it did not bear it
        kind = "out of memory" if refused or (-code == signal.SIGKILL and _oom_kills() > self._oom_kills) else "crash"
        return self._failed(kind, f"was killed by {_told(-code)}")

    def _failed(self, kind: str, message: str) -> WorkerFailed:
        return WorkerFailed(kind, message, self.log_tail())


def _told(number: int) -> str:
    """A signal by its name, which those for real time have not."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _oom_kills() -> int:
    """How often the kernel's out-of-memory killer has struck on this machine; 0 where nobody says."""
    try:
        rows = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
        return int(rows.get("oom_kill", 0))
    except OSError:
        return 0
