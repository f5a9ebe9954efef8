"""One worker process as its parent sees it: ask, wait asleep, stop, wake, kill."""

import json
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from photofinish.runner.watchdog import MARK, kill_carriers

PROTOCOL = 1
LINE_LIMIT = 64 * 1024 * 1024  # a worker that floods its output is cut off here
LOG_TAIL = 20


class WorkerFailed(Exception):
    """The worker answered with a failure, died, hung or broke the protocol. `kind` is a Failure's."""

    def __init__(self, kind: str, message: str, log: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.log = log


class WorkerProcess:
    """A worker in a session of its own. Between requests it may be stopped; time-outs count only while
    a request runs, because only then is it awake."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path, mark: str,
                 timeout: float = 60.0) -> None:
        self.log = log
        self.mark = mark
        self._buffer = b""
        begin = time.perf_counter()
        with log.open("ab") as sink:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink,
                                             env={**environment, MARK: mark}, start_new_session=True, cwd=log.parent)
        try:
            self.hello = self._receive(timeout)
            self.start_seconds = time.perf_counter() - begin
            if self.hello.get("protocol") != PROTOCOL:
                raise self._failed("protocol", f"speaks protocol {self.hello.get('protocol')}, not {PROTOCOL}")
        except BaseException:
            self.kill()
            raise

    def ask(self, do: str, timeout: float, **arguments: Any) -> dict[str, Any]:
        """Sends a request and sleeps until the answer. Raises WorkerFailed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            raise self._died() from None
        reply = self._receive(timeout)
        if not reply.get("ok"):
            raise WorkerFailed(reply.get("kind", "protocol"), str(reply.get("message", reply)), self.log_tail())
        return reply

    def stop(self) -> None:
        """Stops the whole process group and returns once the kernel says that it has stopped."""
        try:
            os.killpg(self._process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        except (ProcessLookupError, ChildProcessError):
            pass  # it died; the next request finds out and says how

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

    def log_tail(self) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_TAIL:])
        except OSError:
            return ""

    def _receive(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise self._failed("hang", f"gave no answer within {timeout:.0f} s")
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise self._died()
            self._buffer += chunk
            if len(self._buffer) > LINE_LIMIT:
                raise self._failed("protocol", "flooded its output without ending a line")
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            reply = json.loads(line)
        except ValueError:
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
        name = signal.Signals(-code).name
        # Nobody here sends SIGKILL while a request runs, so it came from the kernel's out-of-memory killer or a user.
        kind = "out of memory" if -code == signal.SIGKILL and _kernel_killed() else "crash"
        return self._failed(kind, f"was killed by {name}")

    def _failed(self, kind: str, message: str) -> WorkerFailed:
        return WorkerFailed(kind, message, self.log_tail())


def _oom_kills() -> int:
    try:
        rows = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
        return int(rows.get("oom_kill", 0))
    except OSError:
        return 0


_OOM_KILLS_BEFORE = _oom_kills()


def _kernel_killed() -> bool:
    """True if the kernel's out-of-memory killer has struck on this machine since we started."""
    return _oom_kills() > _OOM_KILLS_BEFORE
