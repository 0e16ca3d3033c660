"""docs/tables.py writes what recorded runs say, between its markers, and nothing else."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TABLES = pathlib.Path(__file__).parents[2] / "docs" / "tables.py"


def line(what, paper, ours, low, high, verdict, reason=""):
    return dict(what=what, paper=paper, ours=ours, low=low, high=high, verdict=verdict, reason=reason)


STUDY = dict(version=1, study="mine", seeds=3, missed=1, figures=[
    dict(id="fig1", what="one", ran_on="trace.tsv", not_run="", lines=[
        line("a | b", 1.27, 1.0512, 1.2, None, "missed", "it is so"), line("c", None, 812.4, None, 900, "met"),
        line("shown only", None, 4, None, None, "shown"), dict(line("d", 2, 2, 1.5, 2.5, "met"), over="mean")]),
    dict(id="fig2", what="two", ran_on="", not_run="no trace", lines=[])])

BENCH = """== speed, commit abc, 2 cores
word count of 1 GB, seconds                              1.30 s      <=     2.00  met
grep, share of GNU grep                                  1.33 x      <=     1.20  MISSED
a remark of the benchmark

| where | sort |
|---|---|
| copies | 20 % |
"""


class TablesTest(unittest.TestCase):
    def run_on(self, text, *args):
        folder = pathlib.Path(tempfile.mkdtemp())
        (folder / "page.md").write_text(text)
        (folder / "mine.json").write_text(json.dumps(STUDY))
        (folder / "out.txt").write_text(BENCH)
        args = [a.replace("DIR", str(folder)) for a in args]
        done = subprocess.run([sys.executable, TABLES, *args, "--commit", "c0ffee", "--machine", "a machine"])
        return done.returncode, (folder / "page.md").read_text()

    def test_figures_stand_between_their_markers(self):
        text = "before\n<!-- mrsim reproduce mine --seeds 3 -->\nold 99\n<!-- end -->\nafter\n"
        code, page = self.run_on(text, "studies", "DIR/page.md", "--recorded", "DIR")
        self.assertEqual(code, 0)
        self.assertTrue(page.startswith("before\n<!-- mrsim reproduce mine --seeds 3 -->\nCommit c0ffee, a machine. "
                                        "Medians of 3 seeds.\n"), page)
        self.assertTrue(page.endswith("Lines whose band is missed: 1.\n<!-- end -->\nafter\n"), page)
        self.assertIn("| a \\| b | 1.27 | 1.05 | at least 1.2 | missed |", page)
        self.assertIn("| c | - | 812 | at most 900 | met |", page)
        self.assertIn("| d (mean) | 2 | 2 | 1.5 to 2.5 | met |", page)
        self.assertIn("Missed: it is so.", page)
        self.assertIn("**fig1**: one. Ran on trace.tsv.", page)
        self.assertIn("**fig2**: two. Not run: no trace.", page)
        self.assertNotIn("shown only", page)
        self.assertNotIn("old 99", page)

    def test_a_study_without_a_run_keeps_its_table(self):
        text = "<!-- mrsim reproduce other -->\nold 99\n<!-- end -->\n"
        self.assertEqual(self.run_on(text, "studies", "DIR/page.md", "--recorded", "DIR"), (1, text))

    def test_tables_of_a_benchmark_are_kept(self):
        _, page = self.run_on("text\n", "bench", "DIR/page.md", "speed", "DIR/out.txt")
        self.assertIn("missed |\n\n| where | sort |\n|---|---|\n| copies | 20 % |\n<!-- end -->", page)

    def test_rows_of_a_benchmark_are_written_once(self):
        begin = "<!-- ./dev bench speed -->"
        code, page = self.run_on("before\n", "bench", "DIR/page.md", "speed", "DIR/out.txt")
        self.assertEqual(code, 0)
        self.assertIn("| word count of 1 GB, seconds | 1.30 s | at most 2.00 |  |", page)
        self.assertIn("| grep, share of GNU grep | 1.33 x | at most 1.20 | missed |", page)
        self.assertNotIn("remark", page)
        code, again = self.run_on(page, "bench", "DIR/page.md", "speed", "DIR/out.txt")
        self.assertEqual((code, again), (0, page))
        self.assertEqual(page.count(begin), 1)


if __name__ == "__main__":
    unittest.main()
