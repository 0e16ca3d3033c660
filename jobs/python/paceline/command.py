"""Runs mrctl."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Iterable, Mapping, Optional

from .errors import UsageError, error_of


class Mrctl:
    """The program mrctl and the cluster that it talks to.

    Args:
        path: The program. Default: the environment variable MR_MRCTL, else mrctl in the PATH.
        master: The master, HOST:PORT or unix:PATH. Default: as mrctl finds it (MR_MASTER, mr.toml).
    """

    def __init__(self, path: Optional[str] = None, master: Optional[str] = None) -> None:
        found = path or os.environ.get("MR_MRCTL") or shutil.which("mrctl")
        if not found:
            raise UsageError("the program mrctl is not in the PATH", code="invalid_argument",
                             hint="install Paceline, or set MR_MRCTL to the path of mrctl")
        self.path = found
        self.master = master

    def argv(self, *words: str) -> list[str]:
        """Returns the command line of mrctl with these words."""
        return [self.path, *(["--master", self.master] if self.master else []), *words]

    def call(self, *words: str) -> dict[str, Any]:
        """Runs `mrctl WORDS -o json` to its end and returns its document.

        Raises:
            PacelineError: It failed.
        """
        run = subprocess.run(self.argv("-o", "json", *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=False)
        out = run.stdout.decode("utf-8", "replace")
        if run.returncode != 0:
            raise error_of(run.returncode, out, run.stderr.decode("utf-8", "replace"))
        return json.loads(out)


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Returns keyword arguments as words of a command line.

    A name of one letter becomes -n, another one --name, with - in place of _. A trailing _ is dropped, for names that
    are words of Python (`lambda_`). True is an option without a value; False and None leave it out. An iterable, such
    as a list, repeats it. A mapping gives KEY=VALUE for each pair, without those of None, and with true and false.
    """
    words: list[str] = []
    for name, value in options.items():
        name = name[:-1] if name.endswith("_") else name
        short = len(name) == 1
        word = ("-" if short else "--") + name.replace("_", "-")
        for one in _values(value):
            if one is True:
                words.append(word)
            elif one is False or one is None:
                continue
            elif short and _text(one) == "":
                words += [word, ""]
            else:  # attached, since a value may begin with -
                words.append(word + ("" if short else "=") + _text(one))
    return words


def _values(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [f"{_text(key)}={_text(one)}" for key, one in value.items() if one is not None]
    single = isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable)
    return [value] if single else value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
