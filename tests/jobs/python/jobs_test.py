"""The Python module with the real binaries: local jobs, a cluster of one worker, and the notebook.

usage: PYTHONPATH=WHEEL MR_BIN=build/bin python3 jobs_test.py
"""

import gc
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import unittest.mock

BIN = pathlib.Path(os.environ["MR_BIN"])
os.environ["MR_MRCTL"] = str(BIN / "mrctl")
os.environ["MR_KEEP_RUNS"] = "20"

import paceline  # noqa: E402

NOTEBOOK = pathlib.Path(__file__).resolve().parents[3] / "jobs" / "python" / "example.ipynb"


def wait_until(condition, seconds=15):
    """Returns whether the condition becomes true within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class WithDirectory(unittest.TestCase):
    """A test with a directory of its own, in which all temporary files are, too."""

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="paceline-test-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.tmp = self.directory / "tmp"
        self.tmp.mkdir()
        changes = {"TMPDIR": str(self.tmp), "XDG_STATE_HOME": str(self.directory / "state"), "MR_MASTER": "127.0.0.1:1"}
        patched = unittest.mock.patch.dict(os.environ, changes)
        patched.start()
        self.addCleanup(patched.stop)
        tempfile.tempdir = None  # read TMPDIR again
        self.addCleanup(setattr, tempfile, "tempdir", None)

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return path

    def nothing_left(self):
        return wait_until(lambda: not list(self.tmp.iterdir()))


class LocalTest(WithDirectory):

    def test_rows_lines_progress_counters_and_reasons(self):
        sales = self.write("sales.csv", 'city,amount\nOslo,1\n"Li,ma",2\nOslo,4\n')
        with paceline.submit("aggregate", input=sales, by="city", agg="sum(amount)", local=True) as job:
            self.assertRegex(job.id, r"^local_\d+$")
            states = [progress.state for progress in job.follow()]
            self.assertEqual(states[-1], "SUCCEEDED")
            self.assertEqual(job.progress.fraction, 1.0)
            rows = sorted(job.result(), key=lambda row: row["city"])
            self.assertEqual(rows, [{"city": "Li,ma", "sum(amount)": "2"}, {"city": "Oslo", "sum(amount)": "5"}])
            self.assertIn("succeeded", " ".join(job.why()).lower())
        self.assertTrue(self.nothing_left())
        with paceline.submit("stream", input=sales, map="cat; echo reporter:counter:my,seen,2 >&2", local=True) as job:
            self.assertEqual(list(job.result()), sales.read_text().splitlines())
            self.assertEqual(job.counters()["my"], {"seen": 2})
            self.assertEqual(next(job.result().lines()), "city,amount", "a reader may leave early")
            self.assertEqual(b"".join(job.result().chunks()), sales.read_bytes())
            with self.assertRaisesRegex(paceline.UsageError, "has no header"):
                list(job.result().rows())
            self.assertEqual(next(job.result().rows(["a", "b"])), {"a": "city", "b": "amount"})

    def test_a_result_keeps_the_temporary_output_until_nobody_reads_it(self):
        source = self.write("in", "a b a\n")
        found = paceline.submit("wordcount", input=source, local=True).result()
        gc.collect()
        self.assertEqual(sorted(found), ["a\t2", "b\t1"])
        del found
        gc.collect()
        self.assertTrue(self.nothing_left())

    def test_a_frame_has_the_rows(self):
        try:
            import pandas  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("pandas is not installed")
        sales = self.write("sales.csv", "city;amount\nOslo;1\nOslo;4\n")
        with paceline.submit("aggregate", input=sales, by="city", agg="sum(amount)", separator=";", local=True) as job:
            self.assertEqual(job.result().to_pandas().to_dict("records"), [{"city": "Oslo", "sum(amount)": 5}])
        with paceline.submit("grep", input=sales, e="Oslo", local=True) as job:
            self.assertEqual(list(job.result().to_pandas()["line"]), ["Oslo;1", "Oslo;4"])

        with paceline.submit("select", ["--output-format", "tsv"], input=self.write("t.csv", 'a,b\nx,1\n,2\n'),
                             local=True) as job:
            frame = job.result().to_pandas(names=["c", "d"], keep_default_na=False)
            self.assertEqual(frame.to_dict("records"), [{"c": "x", "d": 1}, {"c": "", "d": 2}])

        events = self.write("events.jsonl", '{"zip":"0150","n":1}\n')
        with paceline.submit("select", format="jsonl", types="zip=text", input=events, local=True) as job:
            self.assertEqual(job.result().to_pandas().to_dict("records"), [{"zip": "0150", "n": 1}])

    def test_rows_of_a_job_that_writes_jsonl_have_the_values_of_json(self):
        people = self.write("people.csv", "city,age\nOslo,31\n\"Li,ma\",\n")
        rows = [{"city": "Oslo", "age": 31}, {"city": "Li,ma", "age": None}]
        with paceline.submit("select", input=people, output_format="jsonl", local=True) as job:
            self.assertEqual(list(job.result()), rows)
            self.assertEqual(list(job.result().rows()), rows)
        events = self.write("events.jsonl", '{"user":{"city":"Oslo"},"n":1}\n')
        with paceline.submit("select", ["--format", "jsonl"], input=events, local=True) as job:
            self.assertEqual(list(job.result()), [{"user.city": "Oslo", "n": 1}])
        with paceline.submit("grep", input=events, e="Oslo", local=True) as job:
            self.assertEqual(list(job.result()), events.read_text().splitlines(), "lines are lines")
            self.assertEqual(list(job.result().rows(format="jsonl")), [{"user": {"city": "Oslo"}, "n": 1}])
            with self.assertRaises(paceline.UsageError) as refused:
                list(job.result().rows())
            self.assertIn("format='jsonl'", refused.exception.hint)

    def test_an_input_may_be_standard_input(self):
        script = """
            print(sorted(paceline.submit("wordcount", input="-", local=True).result()))
            """
        with self.run_script(script, stdin=subprocess.PIPE) as process:
            out, err = process.communicate("a b a\n", timeout=60)
        self.assertEqual(out, "['a\\t2', 'b\\t1']\n", err)

    def test_a_report_that_cannot_be_read_ends_the_following(self):
        source = self.write("in", "a\n")
        with unittest.mock.patch("paceline.job.Progress.of", side_effect=KeyError("state")):
            with self.assertRaisesRegex(paceline.InternalError, "a report of mrctl cannot be read: KeyError"):
                paceline.submit("wordcount", input=source, local=True)
        self.assertTrue(self.nothing_left())

    def test_the_header_of_an_unreadable_output_is_an_error_and_not_empty(self):
        unread = paceline.result.Result(paceline.Mrctl(), "/out")  # of a master that does not answer
        with self.assertRaises(paceline.Unavailable):
            unread.header
        self.assertEqual(paceline.result.Result(paceline.Mrctl(), f"file://{self.directory}/absent").header, "")

    def test_a_job_file_may_be_a_dictionary(self):
        source = self.write("in", "x 1\ny 2\nx 3\n")
        steps = {"step": [{"job": "grep", "args": ["-e", "x"]}, {"job": "wordcount"}]}
        with paceline.submit(steps, input=source, local=1) as job:
            self.assertEqual(sorted(job.result()), ["1\t1", "3\t1", "x\t2"])

    def test_errors_are_classes_with_message_code_and_hint(self):
        source = self.write("in", "a\n")
        with self.assertRaises(paceline.UsageError) as refused:
            paceline.submit("grep", input=source, e="(", local=True)
        self.assertIn("not a valid RE2 expression", refused.exception.message)
        self.assertIn("mrctl submit grep --help", refused.exception.hint)
        with self.assertRaises(paceline.NotFound):
            paceline.submit("wordcount", input=self.directory / "absent", local=True)
        with self.assertRaises(paceline.Rejected):
            paceline.submit("wordcount", input=source, output=self.directory, local=True)
        with self.assertRaises(paceline.Unavailable):
            paceline.submit("wordcount", input="/in", output="/out")
        with self.assertRaisesRegex(paceline.UsageError, "output is missing"):
            paceline.submit("wordcount", input="/in")
        job = paceline.submit("stream", input=source, map="echo why >&2; exit 3", max_attempts=1, local=True)
        with self.assertRaisesRegex(paceline.JobFailed, "(?s)exited with code 3.*why") as failed:
            job.wait()
        self.assertEqual((failed.exception.code, job.state), ("job_failed", "FAILED"))
        self.assertTrue(any("FAILED" in line for line in job.why()))
        with self.assertRaises(paceline.TimeoutExpired):
            paceline.submit("sleep", ms=60000, timeout="1s", local=True).wait()

    def test_the_end_of_the_block_stops_a_local_job(self):
        with paceline.submit("sleep", ms=60000, local=True) as job:
            self.assertFalse(job.progress.ended)
        with self.assertRaises(paceline.Interrupted):
            job.wait()
        self.assertTrue(self.nothing_left())

    def run_script(self, script, stdin=None):
        """Starts Python with the script, in a process group of its own like that of a shell's command."""
        return subprocess.Popen([sys.executable, "-u", "-c", "import paceline\n" + textwrap.dedent(script)],
                                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def test_ctrl_c_stops_a_local_job_and_says_so(self):
        script = """
            with paceline.submit("sleep", ms=60000, local=True) as job:
                job.wait(callback=print)
            """
        with self.run_script(script) as process:
            self.assertRegex(process.stdout.readline(), "local_")
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            _, err = process.communicate(timeout=20)
        self.assertIn("was killed and its local cluster stopped", err)
        self.assertIn("KeyboardInterrupt", err)
        self.assertTrue(self.nothing_left())

    def test_a_local_job_ends_with_the_process_that_submitted_it(self):
        script = """
            import time
            job = paceline.submit("sleep", ms=60000, local=True)
            print(job.id)
            time.sleep(60)
            """
        with self.run_script(script) as process:
            self.assertRegex(process.stdout.readline(), "local_")
            process.kill()
        self.assertTrue(wait_until(lambda: not [p for p in self.tmp.iterdir() if p.name.startswith("mrctl-local")]))

    def test_the_notebook_runs(self):
        cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
        space = {}
        self.assertTrue(any(cell["cell_type"] == "code" for cell in cells))
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), space)  # pylint: disable=exec-used


class Daemon:
    """A daemon of a cluster on loopback, which ends with this process."""

    def __init__(self, name, data, *flags):
        read, write = os.pipe()
        self._life, self._held = os.pipe()
        self._log = open(f"{data}.log", "wb")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(BIN / name), "--data", data, "--port", "0", "--http_port", "0", "--ready_fd", str(write),
             "--lifeline_fd", str(self._life), *flags], pass_fds=(write, self._life), stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=subprocess.STDOUT)
        os.close(write)
        with os.fdopen(read) as ready:
            words = ready.readline().split()
        assert words[:1] == ["ready"], pathlib.Path(f"{data}.log").read_text()
        self.port = int(words[1])

    def stop(self):
        os.close(self._held)
        self.process.terminate()
        self.process.wait(20)
        os.close(self._life)
        self._log.close()


class ClusterTest(WithDirectory):

    def setUp(self):
        super().setUp()
        master = Daemon("mrmaster", str(self.directory / "master"), "--bind", "127.0.0.1")
        self.addCleanup(master.stop)
        self.master = f"127.0.0.1:{master.port}"
        worker = Daemon("mrworker", str(self.directory / "worker"), "--master", self.master, "--bind", "127.0.0.1",
                        "--slots", "2", "--min_free", "0")
        self.addCleanup(worker.stop)
        os.environ["MR_MASTER"] = self.master

    def test_a_job_of_a_cluster_from_its_submit_to_its_rows(self):
        sales = self.write("sales.csv", "city,amount\nOslo,1\nLima,2\nOslo,4\n")
        job = paceline.submit("aggregate", input=f"file://{sales}", output="/by_city", by="city", agg="sum(amount)")
        self.assertRegex(job.id, r"^job_\d+_\d+$")
        self.assertEqual({row["city"]: row["sum(amount)"] for row in job.result()}, {"Oslo": "5", "Lima": "2"})
        self.assertIn(job.id, " ".join(job.why()))
        self.assertIsInstance(job.counters(), dict)
        again = paceline.attach(job.id)
        self.assertEqual([progress.state for progress in again.follow()][-1], "SUCCEEDED")
        page = paceline.Page()
        self.assertIn(job.id, [one["id"] for one in page.get("jobs")["jobs"]])
        self.assertIn("report", page.get(f"jobs/{job.id}/report"))
        with self.assertRaises(paceline.NotFound):
            page.get("jobs/job_1_0099")
        with self.assertRaises(paceline.NotFound):
            paceline.attach("job_1_0099")

    def test_the_end_of_the_block_leaves_a_job_of_a_cluster_running(self):
        with paceline.submit("sleep", ms=60000, output="/never") as job:
            self.assertFalse(job.progress.ended)
        with self.assertRaises(paceline.Interrupted) as left:
            job.wait()
        self.assertIn(f"{job.id} goes on", left.exception.message)
        again = paceline.attach(job.id)
        again.kill("seen enough")
        with self.assertRaisesRegex(paceline.JobKilled, "seen enough"):
            again.wait()


if __name__ == "__main__":
    unittest.main()
