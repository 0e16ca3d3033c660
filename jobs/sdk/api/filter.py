#!/usr/bin/env python3
"""Input filter of doxygen: turns the `//` comments of the SDK's headers into documentation comments.

usage: filter.py HEADER > FILTERED

The first comment of a file documents the file. A comment directly above a declaration documents it. If that declaration
has one line, it documents the declarations of one line that follow it, too. A comment behind a member documents that
member. Indented lines of a comment are code. The number of lines grows, so warnings name lines of the filtered text.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"^(\s*)//(?: (.*)|)$")
STATEMENT = re.compile(r"}|#(?!define)|(if|return|for|while)\b|(public|private|protected):")
TRAILING = re.compile(r"^(\s*[^\s/].*[;,}])\s+// (.*)$")


def escaped(text):
    """Escapes all that doxygen would take for markup, outside of `code`."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a span that goes on in the next line
        parts = [text.replace("`", "'")]
    parts[::2] = [re.sub(r'([\\@<>&#%"]|--)', r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def documented(lines, indent, opening):
    """Returns the comment as `///` lines, with its indented lines as code."""
    out, code = [], False
    for i, line in enumerate(lines):
        is_code = line.startswith("  ") or (code and line == "" and i + 1 < len(lines) and lines[i + 1].startswith("  "))
        text = line if is_code else escaped(line)
        if is_code and not code:
            text = "@code{.cc}\n" + text
        if code and not is_code:
            text = "@endcode\n" + text
        code = is_code
        out.append(text)
    if code:
        out[-1] += "\n@endcode"
    body = " \n".join(out).split("\n")
    return [indent + "/// " + opening + body[0]] + [indent + "/// " + line for line in body[1:]]


def group_end(lines, at):
    """Returns the line behind the declarations of one line each that begin at `at`, and their number."""
    begin = at
    while at < len(lines) and re.search(r"[;}](\s+// .*)?$", lines[at]) and not re.match(r"\s*}", lines[at]):
        at += 1
    return at, at - begin


def main():
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")
    out, at, first, group = [], 0, True, -1
    while at < len(lines):
        if at == group:
            out.append("///@}")
            group = -1
        match = COMMENT.match(lines[at])
        if not match:
            trailing = TRAILING.match(lines[at])
            out.append(f"{trailing[1]}  ///< {escaped(trailing[2])}" if trailing else lines[at])
            at += 1
            continue
        indent, text = match[1], []
        while at < len(lines) and (more := COMMENT.match(lines[at])) and more[1] == indent:
            text.append(more[2] or "")
            at += 1
        code = lines[at].strip() if at < len(lines) else ""
        if first:
            out += documented(text, indent, "@file\n" + indent + "/// ")
            first = False
        elif not code or STATEMENT.match(code):
            out += [indent + "// " + line for line in text]
        else:
            out += documented(text, indent, "")
            end, count = group_end(lines, at)
            if count > 1 and indent and group == -1:
                out.append(indent + "///@{")
                group = end
    print("\n".join(out))


main()
