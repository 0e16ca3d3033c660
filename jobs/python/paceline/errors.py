"""Errors of Paceline, one class for each exit code of mrctl."""

from __future__ import annotations

import json
from typing import Any


class PacelineError(Exception):
    """A command that did not do what was asked.

    Attributes:
        exit_code: The exit code of mrctl.
        code: A word for the kind of error, such as "not_found".
        message: Why it failed, and what state things are in.
        hint: What to do next; empty where nothing is known.
    """

    exit_code = 70

    def __init__(self, message: str, *, code: str = "", hint: str = "", exit_code: int | None = None) -> None:
        super().__init__(message + (f"\n  {hint}" if hint else ""))
        self.message = message
        self.code = code
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def __reduce__(self) -> tuple[Any, ...]:
        """Lets the error cross processes (concurrent.futures)."""
        return _unpickle, (type(self), self.message, self.code, self.hint, self.exit_code)


class JobFailed(PacelineError):
    """The job failed (exit 1)."""

    exit_code = 1


class UsageError(PacelineError):
    """A wrong option, job file, pattern or library (exit 2)."""

    exit_code = 2


class Rejected(PacelineError):
    """Well-formed, but refused: the output exists, a quota, a deadline that cannot be met (exit 3)."""

    exit_code = 3


class JobKilled(PacelineError):
    """The job was killed (exit 4)."""

    exit_code = 4


class Unavailable(PacelineError):
    """The master cannot be reached, or has another version (exit 5)."""

    exit_code = 5


class NotAllowed(PacelineError):
    """Not authenticated, or not allowed (exit 6)."""

    exit_code = 6


class NotFound(PacelineError):
    """There is no such job or path (exit 7)."""

    exit_code = 7


class DeadlineMissed(PacelineError):
    """The job succeeded after its deadline, and strict_deadline was given (exit 8)."""

    exit_code = 8


class InternalError(PacelineError):
    """An error of Paceline itself (exit 70)."""

    exit_code = 70


class TimeoutExpired(PacelineError):
    """The option timeout ran out (exit 124). A job of a cluster goes on; a local one was stopped."""

    exit_code = 124


class Interrupted(PacelineError):
    """The following of the job was interrupted (exit 130). A job of a cluster goes on; a local one was stopped."""

    exit_code = 130


_BY_EXIT_CODE = {
    cls.exit_code: cls
    for cls in (JobFailed, UsageError, Rejected, JobKilled, Unavailable, NotAllowed, NotFound, DeadlineMissed,
                InternalError, TimeoutExpired, Interrupted)
}


def _unpickle(cls: type[PacelineError], message: str, code: str, hint: str, exit_code: int) -> PacelineError:
    return cls(message, code=code, hint=hint, exit_code=exit_code)


def error_of(exit_code: int, out: str, err: str) -> PacelineError:
    """Returns the error of a command of mrctl that ended with this exit code.

    Args:
        exit_code: Not 0.
        out: Its standard output: with `-o json` a document with an error.
        err: Its standard error, for commands that print no document.
    """
    cls = _BY_EXIT_CODE.get(exit_code, PacelineError)
    try:
        error = json.loads(out)["error"]
        return cls(error["message"], code=error["code"], hint=error["hint"], exit_code=exit_code)
    except (ValueError, KeyError, TypeError):
        pass
    lines = [line for line in err.splitlines() if line.strip()]
    # The last one: notes on the job may stand before it.
    first = next((i for i in reversed(range(len(lines))) if lines[i].startswith("mrctl: ")), None)
    if first is None:
        return cls("\n".join(lines) or f"mrctl ended with exit code {exit_code}", exit_code=exit_code)
    hint = "\n".join(line.strip() for line in lines[first + 1:] if line.startswith("  "))
    return cls(lines[first].removeprefix("mrctl: "), hint=hint, exit_code=exit_code)
