"""Runs jobs on Spark, beside ours, in a warm session. Descriptor 3 has one order per line, as JSON:
{"job": NAME, "inputs": [FILE...], "output": DIRECTORY, "pattern": TEXT}. Descriptor 4 has one answer per line: "ok", or
the error. The first "ok" comes when the session is up.

  peer_spark.py local[2] | standalone     standalone: a master and two workers of one core each, on loopback
"""
import json
import os
import subprocess
import sys
import time

import pyspark
from pyspark.sql import SparkSession, functions as f

MASTER_PORT = 17077
DAEMONS = []


def daemon(name, *args):
    command = [os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class"), "org.apache.spark.deploy." + name, *args]
    environment = dict(os.environ, SPARK_NO_DAEMONIZE="1", SPARK_LOCAL_IP="127.0.0.1")
    DAEMONS.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def session(kind):
    builder = SparkSession.builder.appName("bench").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    # Tuned for two cores; the default is 200 partitions.
    builder = builder.config("spark.sql.shuffle.partitions", "8")
    if kind != "standalone":
        return builder.master(kind).config("spark.driver.memory", "6g").getOrCreate()
    daemon("master.Master", "--host", "127.0.0.1", "--port", str(MASTER_PORT), "--webui-port", "0")
    url = f"spark://127.0.0.1:{MASTER_PORT}"
    for _ in range(2):
        daemon("worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "4g", "--webui-port", "0", url)
    built = builder.master(url).config("spark.executor.memory", "3g").config("spark.executor.cores", "1").getOrCreate()
    limit = time.time() + 120
    while len(built.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) < 3:  # the driver is one
        if time.time() > limit:
            raise RuntimeError("the workers did not come")
        time.sleep(0.1)
    return built


def run(spark, order):
    text = lambda: spark.read.text(order["inputs"][0], lineSep="\n")
    table = lambda i, schema: spark.read.csv(order["inputs"][i], header=True, schema=schema)
    job, output = order["job"], order["output"]
    if job == "wordcount":
        words = text().select(f.explode(f.split("value", r"[ \t\x0b\f\r]+")).alias("word")).where("word <> ''")
        words.groupBy("word").count().select(f.concat_ws("\t", "word", "count")).write.text(output)
    elif job == "grep":
        text().where(f.col("value").rlike(order["pattern"])).write.text(output)
    elif job == "sort":
        text().sort("value").write.text(output)
    elif job == "join":
        left, right = table(0, "id string, name string"), table(1, "id string, amount string, note string")
        left.join(right, "id").write.csv(output)
    elif job == "aggregate":
        right = table(0, "id string, amount long, note string")
        right.groupBy("note").agg(f.count("*"), f.sum("amount")).write.csv(output)
    else:
        raise ValueError("no job " + job)


def main():
    orders, answers = os.fdopen(3), os.fdopen(4, "w", buffering=1)
    try:
        spark = session(sys.argv[1])
    except Exception as error:  # the waiting process gets it as an answer
        print(repr(error).replace("\n", " "), file=answers)
        return
    print("ok", file=answers)
    for line in orders:
        try:
            run(spark, json.loads(line))
            print("ok", file=answers)
        except Exception as error:
            print(repr(error).replace("\n", " "), file=answers)
    spark.stop()


if __name__ == "__main__":
    try:
        main()
    finally:
        for process in DAEMONS:
            process.terminate()
        for process in DAEMONS:
            process.wait()
