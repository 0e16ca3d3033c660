"""The parts of the Python module that start no process, and its wheel."""

import base64
import csv
import hashlib
import os
import pathlib
import pickle
import socket
import sys
import tempfile
import threading
import unittest
import unittest.mock
import zipfile

MODULE = pathlib.Path(__file__).resolve().parents[3] / "jobs" / "python"
sys.path.insert(0, str(MODULE))

import build_wheel  # noqa: E402
import paceline  # noqa: E402
from paceline import errors, result  # noqa: E402


class OptionWordsTest(unittest.TestCase):

    def test_names_and_values_become_words_as_mrctl_reads_them(self):
        words = paceline.option_words({
            "by": "city", "n": 5, "i": True, "v": False, "agg": ["count", "sum(x)"], "conf": {"a": 1}, "lambda_": "x",
            "max_attempts": 2, "e": "-x", "input": pathlib.Path("a b"), "left": None
        })
        self.assertEqual(words, [
            "--by=city", "-n5", "-i", "--agg=count", "--agg=sum(x)", "--conf=a=1", "--lambda=x", "--max-attempts=2",
            "-e-x", "--input=a b"
        ])

    def test_values_of_other_types_become_the_words_that_they_mean(self):
        words = paceline.option_words({
            "conf": {"a": True, "b": None, "c": pathlib.Path("d")}, "agg": (one for one in ["x", "y"]), "path": b"e",
            "keys": {"k": 1}.keys()
        })
        self.assertEqual(words, ["--conf=a=true", "--conf=c=d", "--agg=x", "--agg=y", "--path=e", "--keys=k"])

    def test_an_empty_value_of_a_letter_is_a_word_of_its_own(self):
        self.assertEqual(paceline.option_words({"e": "", "name": ""}), ["-e", "", "--name="])


class ErrorTest(unittest.TestCase):

    def test_each_exit_code_has_its_class(self):
        kinds = {1: "JobFailed", 2: "UsageError", 3: "Rejected", 4: "JobKilled", 5: "Unavailable", 6: "NotAllowed",
                 7: "NotFound", 8: "DeadlineMissed", 70: "InternalError", 124: "TimeoutExpired", 130: "Interrupted"}
        for code, name in kinds.items():
            error = errors.error_of(code, '{"version":1,"error":{"code":"c","message":"m","hint":"h"}}', "")
            self.assertEqual((type(error).__name__, error.exit_code), (name, code))
            self.assertEqual((error.code, error.message, error.hint, str(error)), ("c", "m", "h", "m\n  h"))
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), again.message, again.exit_code), (type(error), "m", code))

    def test_without_a_document_the_text_for_people_is_read(self):
        error = errors.error_of(7, "", "note\nmrctl: there is no such path\n  mrctl fs ls shows them\n")
        self.assertIsInstance(error, paceline.NotFound)
        self.assertEqual((error.message, error.hint), ("there is no such path", "mrctl fs ls shows them"))
        late = errors.error_of(8, "{}", "mrctl: a note\nmrctl: the deadline was missed\n  by 2 s\n")
        self.assertIsInstance(late, paceline.DeadlineMissed)
        self.assertEqual((late.message, late.hint), ("the deadline was missed", "by 2 s"))
        self.assertEqual(errors.error_of(139, "", "").message, "mrctl ended with exit code 139")

    def test_a_missing_mrctl_is_named(self):
        path, os.environ["PATH"] = os.environ["PATH"], "/nowhere"
        own = os.environ.pop("MR_MRCTL", None)
        try:
            with self.assertRaisesRegex(paceline.UsageError, "MR_MRCTL"):
                paceline.Mrctl()
        finally:
            os.environ["PATH"] = path
            if own is not None:
                os.environ["MR_MRCTL"] = own


class ResultTest(unittest.TestCase):

    def test_lines_end_at_newlines_alone_wherever_pieces_end(self):
        text = b"a\r\n\nb\x0bc\x85\n" + b"long" * 1000 + b"\nlast"
        whole = text.split(b"\n")
        for size in (1, 2, 3, 7, 1 << 20):
            pieces = [text[at:at + size] for at in range(0, len(text), size)]
            self.assertEqual(list(result._split(iter(pieces))), whole)
        self.assertEqual(list(result._split(iter([b"a\n"]))), [b"a"])
        self.assertEqual(list(result._split(iter([]))), [])

    def test_the_dialect_is_that_of_the_header(self):
        self.assertEqual(result._dialect("csv")["delimiter"], ",")
        self.assertEqual(result._dialect("csv(0x3b,0x27)"), {"strict": True, "delimiter": ";", "quotechar": "'"})
        none = result._dialect("csv(0x09,none)")
        self.assertEqual((none["delimiter"], none["quoting"]), ("\t", csv.QUOTE_NONE))


    def test_rows_without_quotes_end_at_newlines_alone_and_may_be_empty(self):
        tsv = "csv(0x09,none)"
        rows = list(result._rows(iter(["a\tb", '"x\ry\tz', "", "1\t2\t3"]), None, tsv))
        self.assertEqual(rows, [{"a": '"x\ry', "b": "z"}, {"a": "", "b": None}, {"a": "1", "b": "2", None: ["3"]}])
        self.assertEqual(list(result._rows(iter(["a", ""]), None, tsv)), [{"a": ""}])

    def test_given_names_replace_those_of_the_header(self):
        for header, lines in (("csv", ['"a,b",c', "", '"1\n2",3']), ("csv(0x2c,none)", ["a,c", "1,3"])):
            first = "1\n2" if header == "csv" else "1"
            self.assertEqual(list(result._rows(iter(lines), ["x", "y"], header)), [{"x": first, "y": "3"}])
        self.assertEqual(list(result._rows(iter(["1,3"]), ["x", "y"], "")), [{"x": "1", "y": "3"}])
        self.assertEqual(list(result._rows(iter([]), None, "csv")), [])

    def test_rows_of_jsonl_are_its_objects(self):
        found = result.Result(paceline.Mrctl("/nowhere"), "dfs:///out", format="jsonl")
        text = '{"a":1,"b":{"c":"x\\ny"}}\n{"a":null}\n'.encode()
        with unittest.mock.patch.object(result.Result, "_cat", lambda self, uri: iter([text[:9], text[9:]])):
            rows = [{"a": 1, "b": {"c": "x\ny"}}, {"a": None}]
            self.assertEqual(list(found), rows)
            self.assertEqual(list(found.rows()), rows)
            self.assertEqual(len(list(found.lines())), 2)
            found.format = ""
            self.assertEqual(list(found.rows(format="jsonl")), rows)
            with self.assertRaisesRegex(paceline.UsageError, "lines name them"):
                list(found.rows(["a"], format="jsonl"))
            with self.assertRaisesRegex(paceline.UsageError, "cannot read the format 'json'"):
                list(found.rows(format="json"))

    def test_a_line_of_jsonl_that_is_no_object_is_named(self):
        for line, wrong in (("a\t1", "no JSON: "), ("[1]", "no JSON object")):
            with self.assertRaisesRegex(paceline.UsageError, f"line 2 of dfs:///out is {wrong}") as refused:
                list(result._objects(iter(["{}", line]), "dfs:///out"))
            self.assertIn("lines()", refused.exception.hint)


class SubmitTest(unittest.TestCase):

    def test_the_written_format_follows_from_the_words_of_a_table_job(self):
        for job, words, wanted in (
                ("select", ["--format=jsonl"], "jsonl"),
                ("parse", ["--json=id", "--output-format=jsonl.gz"], "jsonl"),
                ("select", ["--output-format=csv", "--output-format", "jsonl"], "jsonl"),
                ("select", ["--format=jsonl", "--output-format=csv"], ""),
                ("select", ["--format=jsonl", "--lib=/mine.so"], ""),
                ("select", ["--format"], ""),
                ("select", [], ""),
                ("grep", ["--format=jsonl", "-e", "--output-format=jsonl"], "")):
            self.assertEqual(paceline.job._written_format(job, words), wanted, (job, words))

    def test_options_that_leave_no_job_to_follow_are_refused(self):
        for option in ({"detach": True}, {"dry_run": True}, {"help": True}, {"status_fd": 0}):
            with self.assertRaisesRegex(paceline.UsageError, f"no option {next(iter(option))}"):
                paceline.submit("wordcount", input="in", local=True, mrctl="/nowhere", **option)

    def test_a_dictionary_and_an_input_cannot_both_be_standard_input(self):
        with self.assertRaisesRegex(paceline.UsageError, "'-' is no input"):
            paceline.submit({"step": []}, input=["in", "-"], local=True, mrctl="/nowhere")


class PageTest(unittest.TestCase):
    """The page against a server of this process."""

    def serve(self, reply):
        """Returns the address of a server that answers one request, and the list that gets the request."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        requests = []

        def answer():
            connection, _ = listener.accept()
            with connection:
                requests.append(connection.recv(65536).decode())
                connection.sendall(reply)

        server = threading.Thread(target=answer, daemon=True)
        server.start()
        self.addCleanup(server.join, 10)
        return f"http://127.0.0.1:{listener.getsockname()[1]}", requests

    def test_the_token_goes_to_the_master_alone_and_not_through_a_proxy(self):
        other, redirected = self.serve(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        moved = f"HTTP/1.1 302 Found\r\nLocation: {other}/\r\nContent-Length: 0\r\n\r\n".encode()
        url, requests = self.serve(moved)
        with unittest.mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:1", "no_proxy": ""}):
            self.assertEqual(paceline.Page(url=url, token="secret").get("jobs/a b?x=1"), {})
        self.assertIn("GET /api/v1/jobs/a%20b?x=1 ", requests[0])
        self.assertIn("Bearer secret", requests[0])
        self.assertNotIn("secret", redirected[0])

    def test_a_port_that_breaks_off_is_unavailable(self):
        for reply in (b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"):
            url, _ = self.serve(reply)
            with self.assertRaises(paceline.Unavailable):
                paceline.Page(url=url, token="secret").get("jobs")


class ProgressTest(unittest.TestCase):

    def test_the_fraction_is_by_bytes_where_they_are_known(self):
        stage = {"id": "map", "tasks": 4, "done": 1, "running": 2, "failed": 0, "input_bytes": 100, "taken_bytes": 50,
                 "elapsed_us": 1500000}
        other = dict(stage, id="reduce", tasks=0, done=0, input_bytes=0, taken_bytes=0)
        progress = paceline.Progress.of({"id": "job_1_0001", "state": "RUNNING", "elapsed_us": 2000000,
                                         "stages": [stage, other]})
        self.assertEqual(progress.stages[0].fraction, 0.5)
        self.assertEqual(progress.fraction, 0.25)
        self.assertEqual(str(progress), "job_1_0001 RUNNING: map 1/4")
        self.assertFalse(progress.ended)


class WheelTest(unittest.TestCase):

    def test_it_has_the_module_and_a_true_record_and_is_the_same_twice(self):
        with tempfile.TemporaryDirectory() as directory:
            wheel = pathlib.Path(directory) / build_wheel.build_wheel(directory)
            first = wheel.read_bytes()
            build_wheel.build_wheel(directory)
            self.assertEqual(first, wheel.read_bytes())
            with zipfile.ZipFile(wheel) as file:
                names = file.namelist()
                about = f"paceline-{paceline.__version__}.dist-info"
                self.assertIn("paceline/job.py", names)
                self.assertIn("paceline/py.typed", names)
                rows = list(csv.reader(file.read(f"{about}/RECORD").decode().splitlines()))
                self.assertEqual([row[0] for row in rows], names)
                for name, digest, size in rows[:-1]:
                    text = file.read(name)
                    self.assertEqual(len(text), int(size))
                    wanted = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
                    self.assertEqual(digest, f"sha256={wanted}")

    @unittest.skipUnless("MR_VERSION" in os.environ, "the build's version is not known")
    def test_its_version_is_that_of_paceline(self):
        self.assertEqual(paceline.__version__, os.environ["MR_VERSION"])


if __name__ == "__main__":
    unittest.main()
