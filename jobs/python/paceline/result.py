"""The output of a job."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import tempfile
from typing import Any, Iterator, Optional, Sequence, Union

from .command import Mrctl
from .errors import NotFound, UsageError, error_of

# Longest field of a row, as long as a record may be.
_FIELD_BYTES = 16 << 20


class Result:
    """The output of a job, read a piece at a time.

    Iterating gives rows, as dictionaries from column to value, if the output has a header or is known to be jsonl, and
    lines otherwise.

    Args:
        mrctl: Reads the output.
        uri: The output directory, a URI.
        keep: Kept as long as this object, such as the owner of a temporary directory.
        format: "jsonl" if the job was submitted to write it; empty: the format is not known.
    """

    def __init__(self, mrctl: Mrctl, uri: str, keep: Any = None,
                 format: str = "") -> None:  # pylint: disable=redefined-builtin
        self._mrctl = mrctl
        self.uri = uri
        self._keep = keep
        self.format = format
        self._header: Optional[str] = None

    @property
    def header(self) -> str:
        """The dialect of the header, such as "csv" or "csv(0x3b,0x22)"; empty if the output has none.

        Raises:
            PacelineError: The output cannot be read.
        """
        if self._header is None:
            try:
                success = b"".join(self._cat(self.uri + "/_SUCCESS"))
            except NotFound:
                return ""  # not an output of a job, or only a part of one
            self._header = json.loads(success).get("header", "") if success else ""
        return self._header

    def chunks(self) -> Iterator[bytes]:
        """Yields the bytes of the output, with one header. Compressed parts are decompressed."""
        return self._cat(self.uri)

    def lines(self, encoding: str = "utf-8", errors: str = "surrogateescape") -> Iterator[str]:
        """Yields the lines of the output, without their newline. Only \\n ends a line."""
        for line in _split(self.chunks()):
            yield line.decode(encoding, errors)

    def rows(self, fields: Optional[list[str]] = None, encoding: str = "utf-8",
             format: Optional[str] = None) -> Iterator[dict[str, Any]]:  # pylint: disable=redefined-builtin
        """Yields the rows of a table as dictionaries: with texts, or with the values of JSON.

        Args:
            fields: The names of the columns, in place of those in the header.
            encoding: Of the text.
            format: "jsonl" reads each line as an object of JSON. Default: the format of this result.

        Raises:
            UsageError: The names of the columns are not known, or a line of jsonl is no object.
        """
        if format not in (None, "jsonl"):
            raise UsageError(f"rows() cannot read the format {format!r}", code="invalid_argument",
                             hint="the only one to name is 'jsonl'; a header tells that of csv and tsv")
        if (self.format if format is None else format) == "jsonl":
            if fields is not None:
                raise UsageError("names of columns cannot be given for jsonl, whose lines name them",
                                 code="invalid_argument", hint="leave out `fields`")
            yield from _objects(self.lines(encoding), self.uri)
            return
        header = self.header
        if not header and fields is None:
            raise UsageError(f"{self.uri} has no header, so the names of its columns are not known",
                             code="invalid_argument",
                             hint="give rows() their names, or format='jsonl' for lines of JSON, or read lines()")
        yield from _rows(self.lines(encoding), fields, header)

    def to_pandas(self, **options: Any) -> Any:
        """Returns the output as a pandas.DataFrame.

        A table is read by pandas.read_csv with these options. Lines without a header become the column "line". Objects
        of a result whose format is jsonl become rows without options.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas  # pylint: disable=import-outside-toplevel

        if self.format == "jsonl":
            return pandas.DataFrame(list(self.rows()))
        header = self.header
        if not header and "names" not in options:
            return pandas.DataFrame({"line": list(self.lines())})
        dialect = _dialect(header or "csv")
        read: dict[str, Any] = {"sep": dialect["delimiter"], "quoting": dialect.get("quoting", csv.QUOTE_MINIMAL)}
        if dialect["quotechar"] is not None:
            read["quotechar"] = dialect["quotechar"]
        else:  # each newline ends a row, and nothing else does
            read.update(lineterminator="\n", skip_blank_lines=False)
        if header:
            read["header"] = 0  # also where `names` replace it
        with tempfile.TemporaryFile() as whole:
            for chunk in self.chunks():
                whole.write(chunk)
            if whole.tell() == 0:
                return pandas.DataFrame()
            whole.seek(0)
            return pandas.read_csv(whole, **{**read, **options})

    def __iter__(self) -> Iterator[Union[str, dict[str, Any]]]:
        return self.rows() if self.format == "jsonl" or self.header else self.lines()

    def __repr__(self) -> str:
        return f"<paceline.Result {self.uri}>"

    def _cat(self, uri: str) -> Iterator[bytes]:
        with tempfile.TemporaryFile() as err:
            with subprocess.Popen(self._mrctl.argv("-o", "table", "fs", "text", uri), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=err) as process:
                assert process.stdout is not None
                try:
                    while chunk := os.read(process.stdout.fileno(), 1 << 20):
                        yield chunk
                except GeneratorExit:  # the caller has read enough
                    process.kill()
                    raise
            if process.returncode != 0:
                err.seek(0)
                raise error_of(process.returncode, "", err.read().decode("utf-8", "replace"))


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields lines without their newline, in time that is linear also for long ones."""
    begun: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        if not others:
            continue
        yield b"".join(begun)
        begun = [others.pop()]
        yield from others
    if last := b"".join(begun):
        yield last


def _rows(lines: Iterator[str], fields: Optional[Sequence[str]], header: str) -> Iterator[dict[str, Any]]:
    """Yields rows as csv.DictReader does. header: the dialect of the first line; empty: there is no header."""
    dialect = _dialect(header or "csv")
    rows: Iterator[list[str]]
    if dialect["quotechar"] is None:  # the module csv refuses a carriage return within a field
        rows = (line.split(dialect["delimiter"]) for line in lines)
    else:
        # Of the whole process: the module csv has no other limit.
        csv.field_size_limit(max(csv.field_size_limit(), _FIELD_BYTES))
        rows = (row for row in csv.reader((line + "\n" for line in lines), **dialect) if row)
    first = next(rows, None) if header else None
    names = list(fields if fields is not None else first or [])
    for row in rows:
        named: dict[Any, Any] = dict(zip(names, row))
        if len(row) > len(names):
            named[None] = row[len(names):]
        for name in names[len(row):]:
            named[name] = None
        yield named


def _objects(lines: Iterator[str], uri: str) -> Iterator[dict[str, Any]]:
    """Yields the objects of jsonl. uri: named in errors."""
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
        except ValueError as wrong:
            raise UsageError(f"line {number} of {uri} is no JSON: {wrong}", code="invalid_argument",
                             hint="read lines() if the output is not jsonl") from wrong
        if not isinstance(value, dict):
            raise UsageError(f"line {number} of {uri} is no JSON object", code="invalid_argument",
                             hint="read lines() if the output is not jsonl")
        yield value


def _dialect(header: str) -> dict[str, Any]:
    """Returns the options of the module csv for a header such as "csv(0x3b,none)"."""
    options: dict[str, Any] = {"strict": True, "delimiter": ",", "quotechar": '"'}
    if header.startswith("csv("):
        separator, quote = header[4:-1].split(",", 1)
        options["delimiter"] = chr(int(separator, 16))
        if quote == "none":
            options.update(quoting=csv.QUOTE_NONE, quotechar=None)
        else:
            options["quotechar"] = chr(int(quote, 16))
    return options
