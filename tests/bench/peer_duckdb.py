"""Runs jobs on DuckDB, beside ours, like peer_spark.py: orders on descriptor 3, answers on 4. Two threads, 8 GB."""
import json
import os

import duckdb


LOG_LINE = r'^(\S+) \S+ \S+ \[(\S+) [^\]]+\] "(\S+) (\S+) [^"]+" (\d+) (\d+)'


def query(order):
    if order["job"] == "parse":
        lines = (f"read_csv('{order['inputs'][0]}', header = false, auto_detect = false, delim = '\x01', quote = '', "
                 "escape = '', columns = {'line': 'VARCHAR'})")
        names = "['host', 'time', 'method', 'path', 'status', 'bytes']"
        time = "strftime(strptime(r.time, '%d/%b/%Y:%H:%M:%S'), '%Y-%m-%dT%H:%M:%SZ')"
        return (f"SELECT r.host, {time}, r.method, r.path, r.status, r.bytes "
                f"FROM (SELECT regexp_extract(line, '{LOG_LINE}', {names}) AS r FROM {lines})")
    tables = [f"read_csv('{path}', header = true, all_varchar = true)" for path in order["inputs"]]
    if order["job"] == "join":
        return f"SELECT l.id, name, amount, note FROM {tables[0]} l JOIN {tables[1]} r ON l.id = r.id"
    if order["job"] == "aggregate":
        return f"SELECT note, count(*), sum(CAST(amount AS BIGINT)) FROM {tables[0]} GROUP BY note"
    if order["job"] == "select":
        return f"SELECT * FROM {tables[0]} WHERE CAST(amount AS BIGINT) > 9000"
    raise ValueError("no job " + order["job"])


def main():
    orders, answers = os.fdopen(3), os.fdopen(4, "w", buffering=1)
    database = duckdb.connect(config={"threads": 2, "memory_limit": "8GB"})
    print("ok", file=answers)
    for line in orders:
        try:
            order = json.loads(line)
            os.makedirs(order["output"])
            database.execute(f"COPY ({query(order)}) TO '{order['output']}/part-0.csv' (HEADER false)")
            print("ok", file=answers)
        except Exception as error:
            print(repr(error).replace("\n", " "), file=answers)


if __name__ == "__main__":
    main()
