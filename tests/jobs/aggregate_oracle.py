"""Checks outputs of the jobs aggregate and topk on a random table against SQLite and Python's own arithmetic.

Usage: aggregate_oracle.py IN.CSV OUT.CSV by-columns agg agg ...     (see aggregate below)
       aggregate_oracle.py IN.CSV OUT.CSV topk BY N largest|smallest per-columns
Prints the first difference, and exits with 1 if there is one.
"""
import csv
import json
import math
import sqlite3
import sys
from fractions import Fraction


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, strict=True))
    return rows[0], rows[1:]


def quantile(numbers, q):
    numbers = sorted(numbers)
    place = (len(numbers) - 1) * Fraction(q)
    low = math.floor(place)
    high = min(low + 1, len(numbers) - 1)
    return numbers[low] + (numbers[high] - numbers[low]) * (place - low)


def variance(numbers, less):
    if len(numbers) <= less:
        return None
    mean = sum(numbers) / len(numbers)
    return sum((n - mean) ** 2 for n in numbers) / (len(numbers) - less)


def root(number):
    return None if number is None else Fraction(math.sqrt(number))


def ordered(text):
    try:
        return (0, Fraction(text), "")
    except ValueError:
        return (1, 0, text.encode())


def close(text, number, relative=Fraction(1, 10 ** 12), absolute=Fraction(1, 10 ** 17)):
    if number is None:
        return text == ""
    return text != "" and abs(Fraction(text) - number) <= max(abs(number) * relative, absolute)


def holds(agg, field, rows, index, counted):
    """Returns whether `field` is the aggregate of the rows, which are in the order of the input."""
    name, _, rest = agg.partition("(")
    args = [a.strip() for a in rest.rstrip(")").split(",")]
    values = [r[index[args[0]]] for r in rows if r[index[args[0]]] != ""] if rest else []
    if agg in counted:
        return field == str(counted[agg])
    numbers = [Fraction(v) for v in values] if name not in (
        "first", "last", "list", "min_by", "max_by", "approx_distinct") else []
    if name == "sum":
        return Fraction(field) == sum(numbers)
    if name == "avg":
        return close(field, sum(numbers) / len(numbers) if numbers else None)
    if name in ("median", "quantile") or name[0] == "p" and name[1:].replace(".", "").isdigit():
        q = "1/2" if name == "median" else args[1] if name == "quantile" else Fraction(name[1:]) / 100
        return close(field, quantile(numbers, q) if numbers else None, 0)
    if name.startswith(("stddev", "variance")):
        v = variance(numbers, 0 if name.endswith("_pop") else 1)
        return close(field, root(v) if name.startswith("stddev") else v)
    if name == "first":
        return field == (values[0] if values else "")
    if name == "last":
        return field == (values[-1] if values else "")
    if name == "list":
        return json.loads(field) == values[:int(args[1])]
    if name in ("min_by", "max_by"):
        both = [(ordered(r[index[args[1]]]), r[index[args[0]]]) for r in rows
                if r[index[args[0]]] != "" and r[index[args[1]]] != ""]
        best = (min if name == "min_by" else max)((b for b, _ in both), default=None)
        return field == next((v for b, v in both if b == best), "")
    if name == "approx_distinct":
        exact = len(set(values))
        return abs(int(field) - exact) <= 0.05 * exact
    raise SystemExit("unknown aggregate " + agg)


def aggregate(source, output, by, aggs):
    names, rows = read(source)
    index = {name: i for i, name in enumerate(names)}
    by = by.split(",") if by else []
    database = sqlite3.connect(":memory:")
    database.execute("create table t (%s)" % ",".join('"%s" text' % n for n in names))
    database.executemany("insert into t values (%s)" % ",".join("?" * len(names)), rows)
    # SQLite counts; an empty field has no value.
    counts = [a for a in aggs if a.partition("(")[0] in ("count", "distinct")]
    terms = []
    for a in counts:
        column = a.partition("(")[2].rstrip(")")
        terms.append("count(*)" if not column else "count(%s nullif(\"%s\", ''))" % (
            "distinct" if a.startswith("distinct") else "", column))
    keys = ",".join('"%s"' % b for b in by) or "1"
    counted = {}
    for row in database.execute("select %s, %s from t group by %s" % (keys, ",".join(terms) or "0", keys)):
        counted[tuple(row[:len(by)])] = dict(zip(counts, row[max(len(by), 1):]))
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[index[b]] for b in by), []).append(row)
    header, got = read(output)
    if header != by + aggs:
        return "the header is %s" % header
    if sorted(tuple(r[:len(by)]) for r in got) != sorted(groups):
        return "other groups: %s" % sorted(tuple(r[:len(by)]) for r in got)
    for row in got:
        group = tuple(row[:len(by)])
        for agg, field in zip(aggs, row[len(by):]):
            if not holds(agg, field, groups[group], index, counted[group]):
                return "group %s has %s = %s" % (group, agg, field)
    return ""


def topk(source, output, by, n, order, per):
    names, rows = read(source)
    index = {name: i for i, name in enumerate(names)}
    sign = -1 if order == "largest" else 1
    groups = {}
    for row in rows:
        if row[index[by]] != "":
            groups.setdefault(tuple(row[index[p]] for p in per.split(",")), []).append(row)
    _, got = read(output)
    found = {}
    for row in got:
        found.setdefault(tuple(row[index[p]] for p in per.split(",")), []).append(row)
    if sorted(found) != sorted(groups):
        return "other groups: %s" % sorted(found)
    for group, rows in groups.items():
        numbers = sorted(sign * Fraction(r[index[by]]) for r in rows)[:int(n)]
        if [sign * Fraction(r[index[by]]) for r in found[group]] != numbers:
            return "group %s has %s" % (group, found[group])
        if any(r not in rows for r in found[group]):
            return "group %s has a row that is not in the input" % (group,)
    return ""


if __name__ == "__main__":
    wrong = topk(*sys.argv[1:3], *sys.argv[4:]) if sys.argv[3] == "topk" else aggregate(*sys.argv[1:4], sys.argv[4:])
    if wrong:
        print(wrong)
        sys.exit(1)
