"""Submits and follows jobs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from typing import IO, Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from .command import Mrctl, option_words
from .errors import DeadlineMissed, InternalError, Interrupted, PacelineError, UsageError, error_of
from .progress import Progress
from .result import Result

PathLike = Union[str, "os.PathLike[str]"]

# Built-in jobs that write the format of --output-format, by default that of --format.
_TABLE_JOBS = ("aggregate", "join", "parse", "select", "sessionize", "topk")

# Options of `mrctl submit` that leave no job to follow, or belong to this module.
_NOT_OF_SUBMIT = {
    "detach": "submit returns as soon as the job is accepted, and close() stops following it",
    "dry_run": "run `mrctl submit --dry-run`", "help": "run `mrctl help JOB`",
    "status_fd": "read Job.progress, or iterate over Job.follow()"
}


def submit(job: Union[PathLike, Mapping[str, Any]], args: Sequence[str] = (), *,
           input: Union[None, PathLike, Sequence[PathLike]] = None,  # pylint: disable=redefined-builtin
           output: Optional[PathLike] = None, local: Union[bool, int] = False, master: Optional[str] = None,
           mrctl: Optional[str] = None, **options: Any) -> Job:
    """Submits a job and returns it as soon as it is accepted.

    Args:
        job: A built-in job ("wordcount"), a job of the library `lib`, a job file (.toml or .json), or a job file as a
            dictionary.
        args: Further words for the job, such as ["-e", "error"].
        input: Files, directories and globs; "-" is the standard input of this process.
        output: The output directory. A local job without one writes to a temporary directory, which is removed with
            the job and its results.
        local: True, or the number of workers: runs here on a private cluster. Else on the cluster of `master`.
        master: The master, HOST:PORT. Default: as mrctl finds it (MR_MASTER, mr.toml).
        mrctl: The program mrctl. Default: the environment variable MR_MRCTL, else mrctl in the PATH.
        **options: Options of the job and of `mrctl submit`, as in `by="city"`, `agg=["sum(amount)", "count"]`,
            `conf={"max_split_bytes": "64m"}`, `n=5`; see `option_words`. Not detach, dry_run, help and status_fd.

    Raises:
        UsageError: The arguments cannot be submitted.
        PacelineError: The job was refused; the class follows from the reason.
    """
    for name, hint in _NOT_OF_SUBMIT.items():
        if options.get(name) is not None and options[name] is not False:
            raise UsageError(f"submit has no option {name}", code="invalid_argument", hint=hint)
    local_words = [] if not local else ["--local" if local is True else f"--local={local}"]
    directory = None
    if output is None:
        if not local:
            raise UsageError("output is missing", code="invalid_argument",
                             hint="give a directory of the block store, such as output='/out'")
        directory = _TemporaryDirectory()
        output = os.path.join(directory.path, "out")
    inputs = [input] if input is None or isinstance(input, (str, bytes, os.PathLike)) else list(input)
    inputs = [os.fsdecode(one) for one in inputs if one is not None]
    document = json.dumps(job) if isinstance(job, Mapping) else None
    word = "-" if isinstance(job, Mapping) else os.fsdecode(job)
    if document is not None and "-" in inputs:
        raise UsageError("a job file that is a dictionary has the standard input of mrctl, so '-' is no input for it",
                         code="invalid_argument", hint="give the input as a file, or the job as the path of a file")
    stdin: Union[None, int, str] = document
    if document is None and "-" not in (word, *inputs):
        stdin = subprocess.DEVNULL
    words = [*local_words, word, *option_words({"input": inputs, "output": output}),
             *option_words(options)]
    if args:
        words += ["--", *args]
    return Job(Mrctl(mrctl, master), ["submit", *words], local=bool(local), stdin=stdin, directory=directory,
               format=_written_format(word, [*option_words(options), *args]))


def attach(job: str, *, master: Optional[str] = None, mrctl: Optional[str] = None) -> Job:
    """Follows a job of a cluster that was submitted before.

    Args:
        job: Its id, its number, its name if no other job has it, or "last".
        master: As in submit.
        mrctl: As in submit.

    Raises:
        NotFound: There is no such job.
    """
    return Job(Mrctl(mrctl, master), ["attach", job], local=False)


class Job:
    """A job that is followed. Made by submit and attach.

    As a context manager it stops following at the end of the block: a job of a cluster that has not ended goes on, a
    local one is stopped, and the temporary output of a local job is removed.

    Ctrl-C while waiting ends the waiting as in mrctl: a job of a cluster goes on, and a line on stderr names the
    commands that follow and kill it; a local job is stopped.
    """

    def __init__(self, mrctl: Mrctl, words: Sequence[str], *, local: bool,
                 stdin: Union[None, int, str] = subprocess.DEVNULL,
                 directory: Optional[_TemporaryDirectory] = None,
                 format: str = "") -> None:  # pylint: disable=redefined-builtin
        self._mrctl = mrctl
        self.local = local
        self._directory = directory
        self._format = format
        self._changed = threading.Condition()
        self._last: Optional[Progress] = None
        self._changes = 0
        self._ended = False
        self._interrupted = self._said = False
        self._document: dict[str, Any] = {}
        self._error: Optional[PacelineError] = None
        self._process, status, self._out, self._err = _start(mrctl, words, stdin)
        self._reader = threading.Thread(target=self._read, args=(status,), name="paceline", daemon=True)
        self._reader.start()
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._changes > 0 or self._ended)
        except KeyboardInterrupt:
            self._interrupt(say=True)
            raise
        if self._last is None:
            self.close()
            self._raise()

    @property
    def id(self) -> str:
        """The id, such as job_1_0017; of a local job local_0017."""
        return self.progress.id

    @property
    def progress(self) -> Progress:
        """The last that was reported of the job."""
        with self._changed:
            assert self._last is not None
            return self._last

    @property
    def state(self) -> str:
        """PENDING, RUNNING, COMMITTING, SUCCEEDED, FAILED, KILLING or KILLED."""
        return self.progress.state

    def follow(self) -> Iterator[Progress]:
        """Yields the progress of the job at each change, until it has ended.

        Raises:
            PacelineError: The job did not succeed.
        """
        seen = 0
        while True:
            try:
                with self._changed:
                    while self._changes == seen and not self._ended:
                        self._changed.wait()
                    new, ended, last = self._changes > seen, self._ended, self._last
                    seen = self._changes
            except KeyboardInterrupt:
                self._interrupt(say=True)
                raise
            if new and last is not None:
                yield last
            if ended:
                break
        self._raise()

    def wait(self, callback: Optional[Callable[[Progress], None]] = None) -> Job:
        """Waits for the end of the job.

        Args:
            callback: Called with the progress at each change.

        Returns:
            This job.

        Raises:
            JobFailed, JobKilled, DeadlineMissed, Interrupted: It did not succeed.
        """
        try:
            for progress in self.follow():
                if callback is not None:
                    callback(progress)
        except KeyboardInterrupt:
            self._interrupt(say=True)
            raise
        return self

    def result(self) -> Result:
        """Waits for the end of the job and returns its output, also of a job that succeeded after its deadline.

        Raises:
            JobFailed, JobKilled, Interrupted: It did not succeed.
        """
        try:
            self.wait()
        except DeadlineMissed:
            pass  # it succeeded
        return Result(self._mrctl, self.progress.raw["output"], self._directory, self._format)

    def counters(self) -> dict[str, dict[str, int]]:
        """Returns the counters of the operators, by group and name. Of a local job: after its end."""
        if self.local:
            self.wait()
        counters = self._document.get("job", {}).get("counters")
        if counters is None:
            counters = self._mrctl.call("job", "counters", self.id)["counters"]
        groups: dict[str, dict[str, int]] = {}
        for counter in counters:
            groups.setdefault(counter["group"], {})[counter["name"]] = counter["value"]
        return groups

    def why(self, id: Optional[str] = None) -> list[str]:  # pylint: disable=redefined-builtin
        """Returns what happened to the job and why, as lines.

        Args:
            id: A task or an attempt of the job, to get the scheduler's reasons for it.
        """
        lines: list[str] = []
        for reasons in self._mrctl.call("why", id or self.id)["why"]:
            lines += reasons.get("summary") or reasons["lines"]
        return lines

    def kill(self, reason: str = "") -> None:
        """Kills the job. Returns when mrctl has reported its end."""
        if self.local:
            self._interrupt(say=False)
            return
        self._mrctl.call("kill", self.id, *([f"--reason={reason}"] if reason else []))
        self._reader.join()

    def close(self) -> None:
        """Stops following. A job of a cluster goes on; a local one is stopped, and its temporary output removed."""
        if not self._ended:
            self._interrupt(say=False)
        if self._directory is not None:
            self._directory.remove()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self._interrupt(say=True)
        self.close()

    def __repr__(self) -> str:
        return f"<paceline.Job {self.progress}>" if self._last is not None else "<paceline.Job>"

    def _read(self, status: IO[bytes]) -> None:
        """Takes what mrctl reports, until its end. Runs on a thread of its own, so that mrctl never waits for us."""
        error: Optional[PacelineError] = InternalError("the reports of mrctl were not read to their end")
        try:
            error = self._take(status)
        except Exception as failed:  # pylint: disable=broad-exception-caught
            error = InternalError(f"a report of mrctl cannot be read: {type(failed).__name__}: {failed}",
                                  hint="mrctl and the module paceline may have different versions")
            self._process.terminate()  # nobody follows the job any more
        finally:
            with self._changed:
                self._error = error
                self._ended = True
                self._changed.notify_all()
            self._process.wait()  # after a failure it may still be ending
            for file in (self._out, self._err):
                file.close()

    def _take(self, status: IO[bytes]) -> Optional[PacelineError]:
        """Returns the error of the job, if it has one."""
        with status:
            for line in status:
                with self._changed:
                    self._last = Progress.of(json.loads(line))
                    self._changes += 1
                    self._changed.notify_all()
        code = self._process.wait()
        out, err = (_text_of(file) for file in (self._out, self._err))
        document: dict[str, Any] = {}
        try:
            document = json.loads(out)
        except ValueError:
            pass
        with self._changed:
            self._document = document
            if "job" in document:  # what the last line has, and the counters
                end = Progress.of(document["job"])
                self._changes += end != self._last
                self._last = end
            last = self._last
        if code != 0:
            return error_of(code, out, err)
        if last is None or not last.ended:
            state = "no state" if last is None else f"the state {last.state}"
            return InternalError(f"mrctl ended without an error and before the end of the job; it reported {state}",
                                 hint="paceline.attach follows a job of a cluster again")
        return None

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _interrupt(self, say: bool) -> None:
        """Ends mrctl as Ctrl-C would, and waits for it. A second call has no effect, since it would kill mrctl."""
        if not self._interrupted and not self._ended:
            self._interrupted = True
            self._process.send_signal(signal.SIGINT)
        self._reader.join()
        if say and not self._said and isinstance(self._error, Interrupted):
            self._said = True
            print(f"mrctl: {self._error}", file=sys.stderr)


class _TemporaryDirectory:
    """A directory that is removed with this object."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="paceline-")
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _written_format(job: str, words: Sequence[str]) -> str:
    """Returns "jsonl" if a job with these words of a command line writes it, else "": the master keeps it as text."""
    named = {"--format": "", "--output-format": "", "--lib": ""}
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in named:  # the last one holds, as for mrctl
            named[name] = value if equals else "".join(words[at + 1:at + 2])
    if job not in _TABLE_JOBS or named["--lib"]:
        return ""
    written = named["--output-format"] or named["--format"]
    return "jsonl" if written in ("jsonl", "jsonl.gz", "jsonl.zst") else ""


def _start(mrctl: Mrctl, words: Sequence[str],
           stdin: Union[None, int, str]) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes], IO[bytes]]:
    """Starts mrctl. Returns it, what it reports, and the files with its output and errors.

    stdin: A text, None for that of this process, or as for Popen.
    """
    read, write = os.pipe()
    out, err, source = (tempfile.TemporaryFile() for _ in range(3))  # pylint: disable=consider-using-with
    try:
        if isinstance(stdin, str):
            source.write(stdin.encode())
            source.seek(0)
        # A process group of its own: a terminal's Ctrl-C reaches this process alone, which passes it on once.
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            mrctl.argv("-o", "json", words[0], "--status-fd", str(write), *words[1:]),
            stdin=source if isinstance(stdin, str) else stdin, stdout=out, stderr=err, pass_fds=(write,),
            start_new_session=True)
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)
        source.close()
    return process, os.fdopen(read, "rb"), out, err


def _text_of(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode("utf-8", "replace")
