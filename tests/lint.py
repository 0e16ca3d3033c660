#!/usr/bin/env python3
"""Checks of the source text by clang, each file by itself: what ./dev lint and CI run.

usage: tests/lint.py format | alone [--all | FILE...] | tidy [--all | FILE...]

format  clang-format has nothing to change.
alone   clang -fsyntax-only of product files, without precompiled headers: each includes what it needs. A header whose
        .cc includes it first is seen there. Takes the files that changed and those that include one of them, the files
        named, or all. $ALONE_MOST: at most so many, those that changed first; it says how many there are.
tidy    clang-tidy (.clang-tidy) of the product's files that changed, of the files named, or of all. $TIDY_MOST: at most
        so many of those that changed, the newest changes first; it says how many are left.

Changed is what changed since $CI_BASE (default: in the last 20 commits, without those that .git-blame-ignore-revs lists).

Flags come from a build tree in build-lint that is configured for clang; only its generated files are built.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-lint"
PRODUCT = ("common/", "dfs/", "master/", "worker/", "jobs/")


def run(*command, **options):
    return subprocess.run(command, cwd=ROOT, text=True, **options)


def tracked():
    names = run("git", "ls-files", "*.h", "*.cc", check=True, stdout=subprocess.PIPE).stdout.split()
    return [name for name in names if (ROOT / name).exists()]


def configure():
    """Returns the compile command, as a list without the file, of each .cc in the build."""
    options = ["-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_C_COMPILER=clang", "-DCMAKE_UNITY_BUILD=OFF",
               "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DCMAKE_CXX_COMPILER_LAUNCHER="]
    run("cmake", "-S", ".", "-B", BUILD, "-G", "Ninja", *options, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "--build", BUILD, "--target", "mr_generated", check=True, stdout=subprocess.DEVNULL)
    commands = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words, kept = shlex.split(entry["command"]), []
        while words:
            word = words.pop(0)
            if word in ("-o", "-c"):
                words.pop(0)
            else:
                kept.append(word)
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(ROOT):
            commands[str(path.relative_to(ROOT))] = kept
    return commands


def flags_of(header, commands):
    """Those of a .cc as near to the header as there is one."""
    def nearness(name):
        return len(os.path.commonpath([os.path.dirname(header), os.path.dirname(name)]))
    return commands[max(sorted(commands), key=nearness)]


def each(jobs):
    """Runs {name: command} two at a time or more, prints what fails. Returns whether all passed."""
    failed, began, done = [], time.monotonic(), 0

    def one(item):
        return item[0], run(*item[1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, result in pool.map(one, jobs.items()):
            done += 1
            if result.returncode != 0:
                failed.append(name)
                print(f"== {name}\n{result.stdout}", flush=True)
            elif done % 100 == 0:
                print(f"{done} of {len(jobs)}", file=sys.stderr, flush=True)
    print(f"{len(jobs)} files in {time.monotonic() - began:.0f} s, {len(failed)} with errors", file=sys.stderr)
    return not failed


def check_format():
    return run("clang-format", "--dry-run", "-Werror", *tracked()).returncode == 0


def includes(name):
    return re.findall(r'^#include "(.*)"', (ROOT / name).read_text(), re.M)


def check_alone(arguments):
    commands = configure()
    product = [name for name in tracked() if name.startswith(PRODUCT)]
    names = [] if arguments == ["--all"] else arguments
    if arguments:
        files = names or product
    else:
        touched = set(changed())
        files = [name for name in product if name in touched or not touched.isdisjoint(includes(name))]
    most = int(os.environ.get("ALONE_MOST", "0"))
    if most and not arguments and len(files) > most:
        # Files that changed come before those that include them.
        files.sort(key=lambda name: name not in touched)
        print(f"alone: {most} of {len(files)} files; all of them: ./dev lint alone", file=sys.stderr)
        files = files[:most]
    jobs = {}
    for name in files:
        if name in commands:
            jobs[name] = commands[name] + ["-fsyntax-only", name]
        elif name.endswith(".h"):
            source = name[:-2] + ".cc"
            if not names and source in commands and first_include(source) == name:
                continue
            jobs[name] = flags_of(name, commands) + ["-fsyntax-only", "-Wno-pragma-once-outside-header", "-x", "c++", name]
    return each(jobs)


def first_include(source):
    found = re.search(r'^#include [<"](.*)[>"]', (ROOT / source).read_text(), re.M)
    return found and found.group(1)


def changed():
    ignored = set()
    listed = ROOT / ".git-blame-ignore-revs"
    if listed.exists():
        ignored = {line.split("#")[0].strip() for line in listed.read_text().splitlines()}
    base = os.environ.get("CI_BASE")
    since = [f"{base}..HEAD"] if base else ["-20"]
    # A merge counts with all that it brings to the main line.
    log = run("git", "log", "--first-parent", "--format=%H %P", *since, check=True, stdout=subprocess.PIPE).stdout
    names = {}  # in the order of the newest change
    for commit, *parents in map(str.split, log.splitlines()):
        # The last commit of a shallow clone has no parent, and looks as if it had made every file.
        if commit in ignored or not parents:
            continue
        shown = run("git", "show", "--diff-merges=first-parent", "--format=", "--name-only", commit, check=True,
                    stdout=subprocess.PIPE).stdout
        names.update(dict.fromkeys(shown.split()))
    return list(names)


def check_tidy(arguments):
    commands = configure()
    if arguments == ["--all"]:
        wanted = list(commands)
    else:
        # Changed tests are looked at with --all only: they would be half of the time, and little is found in them.
        wanted = arguments or [name for name in changed() if name.startswith(PRODUCT)]
        # A header is seen through its .cc.
        wanted = list(dict.fromkeys(re.sub(r"\.h$", ".cc", name) for name in wanted))
    there = set(tracked())
    names = [name for name in wanted if name in there and name in commands]
    most = int(os.environ.get("TIDY_MOST", "0"))
    if most and not arguments and len(names) > most:
        print(f"clang-tidy: {most} of {len(names)} changed files; all of them: ./dev lint tidy", file=sys.stderr)
        names = names[:most]
    return each({name: ["clang-tidy", "-p", str(BUILD), "--quiet", name] for name in names})


def main(arguments):
    kind, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    checks = {"format": lambda: check_format(), "alone": lambda: check_alone(rest), "tidy": lambda: check_tidy(rest)}
    if kind not in checks:
        sys.exit(__doc__)
    sys.exit(0 if checks[kind]() else 1)


main(sys.argv[1:])
