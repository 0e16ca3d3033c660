#!/usr/bin/env python3
"""Writes the tables of docs/studies.md and docs/benchmarks.md, so that no number there is typed by hand.

  tables.py studies PAGE (--mrsim BINARY | --recorded DIR) [--commit C] [--machine M]
      Replaces what stands between `<!-- mrsim reproduce ARGS -->` and `<!-- end -->` by the figures that this command
      prints: lines with a paper's number or a band. DIR has documents of an earlier run (-o json), in files named
      after the study: late.json, or one file per figure, late-fig10.json.
  tables.py bench PAGE NAME OUTPUT [--commit C] [--machine M]
      Replaces what stands between `<!-- ./dev bench NAME -->` and `<!-- end -->` by the rows of a benchmark's output
      ("what  value unit <= limit  met"), and by the Markdown tables that it prints. A page without these markers gets
      them at its end.

Exit: 0 written, 1 nothing to write, 2 usage.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys

STUDY = re.compile(r"<!-- mrsim reproduce ([^\n]*?) -->\n.*?<!-- end -->", re.S)
ROW = re.compile(r"^(?P<what>.+?) +(?P<value>-?[\d.]+) (?P<unit>\S*) +(?P<side><=|>=) +(?P<limit>-?[\d.]+)  (?P<met>met|MISSED)$")


def number(x):
    if x is None:
        return "-"
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"


def band(low, high):
    if low is not None and high is not None:
        return f"{number(low)} to {number(high)}"
    if low is not None:
        return f"at least {number(low)}"
    return "-" if high is None else f"at most {number(high)}"


def cell(text):
    return text.replace("|", "\\|")


def origin(args):
    return f"Commit {args.commit}, {args.machine}."


def figures_of(document):
    out = []
    for figure in document["figures"]:
        what = cell(figure["what"])
        if figure["not_run"]:
            out.append(f"**{figure['id']}**: {what}. Not run: {figure['not_run']}.\n")
            continue
        lines = [l for l in figure["lines"] if any(l[key] is not None for key in ("paper", "low", "high"))]
        if not lines:
            continue
        ran_on = f" Ran on {cell(figure['ran_on'])}." if figure["ran_on"] else ""
        out.append(f"**{figure['id']}**: {what}.{ran_on}\n")
        out.append("| line | paper | here | band | |\n|---|---|---|---|---|")
        reasons = []
        for l in lines:
            verdict = "" if l["verdict"] == "shown" else l["verdict"]
            if l["reason"] and l["verdict"] == "missed" and l["reason"] not in reasons:
                reasons.append(l["reason"])
            what = cell(l["what"]) + (" (mean)" if l.get("over") == "mean" else "")
            out.append(f"| {what} | {number(l['paper'])} | {number(l['ours'])} | "
                       f"{band(l['low'], l['high'])} | {verdict} |")
        out.append("")
        for reason in reasons:
            out.append(f"Missed: {cell(reason.rstrip(chr(46)))}.\n")
    return out


def documents(arguments, args):
    study = arguments[0].split(":")[0]
    if args.mrsim:
        command = [args.mrsim, "reproduce", *arguments, "-o", "json", "--no-progress"]
        return [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)]
    folder = pathlib.Path(args.recorded)
    whole = folder / f"{study}.json"
    files = [whole] if whole.exists() else sorted(folder.glob(f"{study}-*.json"))
    return [json.loads(file.read_text()) for file in files]


def studies(args):
    page = pathlib.Path(args.page)
    written = 0

    def table(match):
        nonlocal written
        found = documents(shlex.split(match[1]), args)
        if not found:
            return match[0]
        written += 1
        seeds = found[0]["seeds"]
        head = f"{origin(args)} {'One seed' if seeds == 1 else f'Medians of {seeds} seeds'}."
        body = [line for document in found for line in figures_of(document)]
        missed = sum(document["missed"] for document in found)
        return "\n".join([f"<!-- mrsim reproduce {match[1]} -->", head + "\n", *body,
                          f"Lines whose band is missed: {missed}.", "<!-- end -->"])

    page.write_text(STUDY.sub(table, page.read_text()))
    return written


def bench(args):
    rows = []
    for line in pathlib.Path(args.output).read_text().splitlines():
        row = ROW.match(line)
        if row:
            side = "at most" if row["side"] == "<=" else "at least"
            met = "" if row["met"] == "met" else "missed"
            rows.append(f"| {cell(row['what'].strip())} | {row['value']} {row['unit']} | {side} {row['limit']} | {met} |")
    # Tables that the benchmark prints itself: blocks of lines that begin with a bar.
    tables = re.findall(r"(?:^\|.*\n)+", pathlib.Path(args.output).read_text(), re.M)
    if not rows:
        return 0
    begin = f"<!-- ./dev bench {args.name} -->"
    block = "\n".join([begin, origin(args) + "\n", "| line | value | limit | |", "|---|---|---|---|", *rows,
                       *("\n" + table.rstrip() for table in tables), "<!-- end -->"])
    page = pathlib.Path(args.page)
    text = page.read_text()
    marked = re.compile(re.escape(begin) + r"\n.*?<!-- end -->", re.S)
    page.write_text(marked.sub(lambda _: block, text) if marked.search(text) else f"{text.rstrip()}\n\n{block}\n")
    return len(rows)


def commit():
    try:
        return subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True,
                              cwd=pathlib.Path(__file__).parent).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    of_studies = verbs.add_parser("studies")
    of_studies.add_argument("page")
    source = of_studies.add_mutually_exclusive_group(required=True)
    source.add_argument("--mrsim")
    source.add_argument("--recorded")
    of_bench = verbs.add_parser("bench")
    of_bench.add_argument("page")
    of_bench.add_argument("name")
    of_bench.add_argument("output")
    for verb in (of_studies, of_bench):
        verb.add_argument("--commit", default=commit())
        verb.add_argument("--machine", default=f"{os.cpu_count()} cores, {platform.machine()}")
    args = parser.parse_args()
    return 0 if (studies if args.verb == "studies" else bench)(args) else 1


if __name__ == "__main__":
    sys.exit(main())
