// Each built-in job against coreutils and gawk, on real files in many splits, plain and compressed.

#include <gtest/gtest.h>

#include <algorithm>

#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

class JobsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 2});
    ASSERT_TRUE(cluster_->Start().ok());
    WriteBible(Path("bible"));
    // A table with quoted separators, newlines within fields, empty fields, repeated keys.
    Shell("cd '" + cluster_->directory() +
          "' && seq 1 30000 | awk 'BEGIN {print \"id,city,amount,note\"} "
          "{k = ($1 * 7919) % 211; printf \"%d,%s,%s,%s\\n\", $1, k % 10 == 0 ? \"\\\"c,\" k \"\\\"\" : \"c\" k, "
          "$1 % 17 == 0 ? \"\" : ($1 * 31 % 1000) / 8, $1 % 5 == 0 ? \"\\\"two\\nlines \\\"\\\"\" $1 % 3 "
          "\"\\\"\\\"\\\"\" : \"n\" $1 % 7}' > table.csv && "
          // The same without newlines, quotes and commas in fields: for tools that read lines.
          "seq 1 30000 | awk 'BEGIN {print \"id,city,amount,note\"} "
          "{k = ($1 * 7919) % 211; printf \"%d,%s,%s,%s\\n\", $1, k % 10 == 0 ? \"c;\" k : \"c\" k, "
          "$1 % 17 == 0 ? \"\" : ($1 * 31 % 1000) / 8, $1 % 5 == 0 ? \"two lines \" $1 % 3 : \"n\" $1 % 7}' > "
          "plain.csv && "
          "for f in bible table.csv plain.csv; do gzip -k $f; zstd -q $f; done");
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }

  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static std::string Uri(const std::string& name) { return "file://" + Path(name); }

  // The job's parts in order; small splits.
  static std::string Run(std::vector<std::string> job) {
    Shell("rm -rf '" + Path("out") + "'");
    job.insert(job.begin(), "submit");
    job.insert(job.end(), {"--output", Uri("out")});
    const bool own_splits =
        std::any_of(job.begin(), job.end(), [](const auto& arg) { return arg.starts_with("max_split_bytes="); });
    if (!own_splits) job.insert(job.end(), {"--conf", "max_split_bytes=100k"});
    const RunResult run = cluster_->Mrctl(job, Seconds(120));
    EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    return run.exit == 0 ? ReadParts(Path("out")) : "";
  }
  static std::string In(const std::string& script) { return Shell("cd '" + cluster_->directory() + "' && " + script); }

  static Cluster* cluster_;
};
Cluster* JobsTest::cluster_ = nullptr;

TEST_F(JobsTest, GrepsOptionsEqualGreps) {
  for (const std::string in : {"bible", "bible.gz", "bible.zst"}) {
    EXPECT_EQ(Run({"grep", "-n", "-e", "LORD", "--input", Uri(in)}), In("grep -n LORD bible")) << in;
  }
  EXPECT_EQ(Run({"grep", "-w", "-i", "-e", "king", "--input", Uri("bible")}), In("grep -wi king bible"));
  EXPECT_EQ(Run({"grep", "-c", "-e", "king", "--input", Uri("bible")}), In("grep -c king bible"));
  EXPECT_EQ(Run({"grep", "-v", "-c", "-e", "the", "--input", Uri("bible")}), In("grep -vc the bible"));
  EXPECT_EQ(Run({"grep", "-H", "-n", "-e", "Selah", "--input", Uri("bible")}),
            In("grep -Hn Selah \"$PWD/bible\" | sed 's,^,file://,'"));
}

TEST_F(JobsTest, SortsKeysEqualSorts) {
  for (const std::string in : {"plain.csv", "plain.csv.gz", "plain.csv.zst"}) {
    EXPECT_TRUE(Run({"sort", "-t", ",", "-k", "3,3nr", "-k", "2,2", "--input", Uri(in), "--reduces", "3"}) ==
                In("sort -t, -k3,3nr -k2,2 plain.csv"))
        << in;
  }
  EXPECT_TRUE(Run({"sort", "-t", ",", "-k", "2,2", "-s", "--input", Uri("plain.csv"), "--reduces", "3"}) ==
              In("sort -t, -k2,2 -s plain.csv"));
  EXPECT_TRUE(Run({"sort", "-t", ",", "-k", "2,2", "-u", "--input", Uri("plain.csv"), "--reduces", "3"}) ==
              In("sort -t, -k2,2 -u plain.csv"));
  EXPECT_TRUE(Run({"sort", "-n", "-r", "--input", Uri("plain.csv"), "--reduces", "3"}) == In("sort -nr plain.csv"));
  EXPECT_TRUE(Run({"sort", "-k", "2", "--input", Uri("bible"), "--reduces", "3"}) == In("sort -k2 bible"));
  EXPECT_TRUE(Run({"sort", "-u", "--input", Uri("bible"), "--reduces", "3"}) == In("sort -u bible"));
}

TEST_F(JobsTest, AggregateEqualsAwk) {
  const std::string by_city =
      "tail -n +2 plain.csv | awk -F, -v OFS=, -v OFMT=%.10g '{n[$2]++; if ($3 != \"\") {v[$2]++; s[$2] += $3; "
      "if (!($2 in lo) || $3 < lo[$2]) lo[$2] = $3; if (!($2 in hi) || $3 > hi[$2]) hi[$2] = $3} "
      "if (!seen[$2, $4]++) d[$2]++} END {for (c in n) print c, n[c], v[c], s[c], lo[c], hi[c], d[c]}' | sort";
  const std::string expected = In(by_city);
  for (const std::string in : {"plain.csv", "plain.csv.gz", "plain.csv.zst"}) {
    EXPECT_EQ(SortedLines(
                  Run({"aggregate", "--no-output-header", "--by", "city", "--agg",
                       "count,count(amount),sum(amount),min(amount),max(amount),distinct(note)", "--input", Uri(in)})),
              expected)
        << in;
  }
}

TEST_F(JobsTest, TablesWithNewlinesInFieldsAreReadWholeInEachSplit) {
  // The plain table has the same groups, with ; for the comma.
  const std::string expected =
      In("tail -n +2 plain.csv | awk -F, -v CONVFMT=%.10g '{n[$2]++; s[$2] += $3} END {for (c in n) print c \",\" n[c] "
         "\",\" s[c]}' | sort");
  for (const std::string in : {"table.csv", "table.csv.gz", "table.csv.zst"}) {
    const std::string got =
        Run({"aggregate", "--no-output-header", "--by", "city", "--agg", "count,sum(amount)", "--input", Uri(in)});
    std::string plain;
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == '"') continue;
      plain += got[i] == ',' && i > 0 && got[i - 1] == 'c' ? ';' : got[i];
    }
    EXPECT_EQ(SortedLines(plain), expected) << in;
  }
}

TEST_F(JobsTest, DistinctEqualsSortUniq) {
  EXPECT_TRUE(SortedLines(Run({"distinct", "--input", Uri("bible")})) == In("sort -u bible"));
  EXPECT_TRUE(SortedLines(Run({"distinct", "-c", "--input", Uri("plain.csv.zst")})) ==
              SortedLines(In("sort plain.csv | uniq -c | sed -E 's/^ *([0-9]+) /\\1\\t/'")));
}

TEST_F(JobsTest, TopKEqualsSortHead) {
  // Ties by the bytes of the row.
  EXPECT_EQ(Run({"topk", "--no-output-header", "--by", "amount", "-n", "25", "--input", Uri("plain.csv")}),
            In("tail -n +2 plain.csv | awk -F, '$3 != \"\"' | sort -t, -k3,3nr | sed -n 1,25p"));
}

TEST_F(JobsTest, TopKPerGroupEqualsSortAndAwk) {
  EXPECT_EQ(SortedLines(Run({"topk", "--no-output-header", "--by", "amount", "--per", "city", "-n", "4", "--input",
                             Uri("plain.csv")})),
            In("tail -n +2 plain.csv | awk -F, '$3 != \"\"' | sort -t, -k2,2 -k3,3nr | awk -F, '++n[$2] <= 4' | sort"));
}

TEST_F(JobsTest, FirstLastAndListFollowTheInputOverManySplits) {
  const std::string expected = In(
      "tail -n +2 plain.csv | awk -F, -v OFS=, '{n[$2]++; if (n[$2] == 1) f[$2] = $1; l[$2] = $1; if (n[$2] <= 3) "
      "v[$2] = v[$2] (n[$2] > 1 ? \",\" : \"\") \"\\\"\\\"\" $1 \"\\\"\\\"\"} END {for (c in n) print c, f[c], l[c], "
      "\"\\\"[\" v[c] \"]\\\"\"}' | sort");
  EXPECT_EQ(SortedLines(Run({"aggregate", "--no-output-header", "--conf", "max_split_bytes=16k", "--reduces", "3",
                             "--by", "city", "--agg", "first(id),last(id),list(id, 3)", "--input", Uri("plain.csv")})),
            expected);
}

TEST_F(JobsTest, MediansAndBucketsEqualSortAndAwk) {
  const std::string expected =
      In("tail -n +2 plain.csv | awk -F, '$3 != \"\"' | sort -t, -k2,2 -k3,3n | awk -F, -v OFS=, -v OFMT=%.15g "
         "'{n[$2]++; v[$2, n[$2]] = $3} END {for (c in n) {m = int((n[c] + 1) / 2); print c, "
         "n[c] % 2 ? v[c, m] + 0 : (v[c, m] + v[c, m + 1]) / 2}}' | sort");
  EXPECT_EQ(SortedLines(Run({"aggregate", "--no-output-header", "--conf", "max_split_bytes=16k", "--reduces", "3",
                             "--by", "city", "--agg", "median(amount)", "--input", Uri("plain.csv")})),
            expected);
  In("seq 1 20000 | awk 'BEGIN {print \"t\"} {print 1700000000 + ($1 * 7919) % 1000003}' > clicks.csv");
  EXPECT_EQ(
      SortedLines(Run({"aggregate", "--no-output-header", "--bucket", "t=6h", "--input", Uri("clicks.csv")})),
      In("tail -n +2 clicks.csv | awk '{n[$1 - $1 % 21600]++} END {for (b in n) print b, n[b]}' | while read b n; do "
         "echo \"$(date -u -d @$b +%Y-%m-%dT%H:%M:%SZ),$n\"; done | sort"));
}

TEST_F(JobsTest, InvertedIndexEqualsAwk) {
  In("rm -rf texts && mkdir texts && split -n l/3 bible texts/part.");
  const std::string expected =
      In("cd texts && for f in *; do tr -s ' \\t' '\\n' < $f | grep -v '^$' | sort | uniq -c | awk -v "
         "f=\"file://$PWD/$f\" '{print $2 \"\\t\" f \"\\t\" $1}'; done | "
         "sort -s -t \"$(printf '\\t')\" -k1,1 | awk -F'\\t' '$1 != w {if (NR > 1) print line; w = $1; line = $1} "
         "{line = line \"\\t\" $2 \"\\t\" $3} END {print line}'");
  EXPECT_TRUE(SortedLines(Run({"invertedindex", "--input", Uri("texts")})) == SortedLines(expected));
}

TEST_F(JobsTest, SessionizeEqualsAwk) {
  In("seq 1 20000 | awk 'BEGIN {print \"user,t\"} {print \"u\" ($1 * 31) % 97 \",\" ($1 * 7919) % 1000003}' > "
     "events.csv");
  const std::string expected =
      In("tail -n +2 events.csv | sort -t, -k1,1 -k2,2n | awk -F, -v OFS=, '$1 != u || $2 - last > 900 {if (NR > 1) "
         "print u, s, first, last, n; "
         "s = $1 == u ? s + 1 : 1; u = $1; first = $2; n = 0} {n++; last = $2} END {print u, s, first, last, n}'");
  EXPECT_TRUE(SortedLines(Run({"sessionize", "--no-output-header", "--user", "user", "--time", "t", "--gap", "15m",
                               "--input", Uri("events.csv")})) == SortedLines(expected));
}

TEST_F(JobsTest, JoinsOfEachTypeEqualJoins) {
  In("seq 1 5000 | awk 'BEGIN {print \"id,name\"} {print ($1 * 31) % 3001 \",name\" $1}' > l.csv; "
     "seq 1 4000 | awk 'BEGIN {print \"id,city\"} {print ($1 * 17) % 5003 \",city\" $1}' > r.csv; "
     "for f in l r; do tail -n +2 $f.csv | sort -t, -k1,1 > $f.sorted; done; gzip -kf l.csv; zstd -qf r.csv");
  const std::pair<const char*, const char*> types[] = {{"inner", ""},
                                                       {"left", "-a1 -e '' -o 0,1.2,2.2"},
                                                       {"right", "-a2 -e '' -o 0,1.2,2.2"},
                                                       {"full", "-a1 -a2 -e '' -o 0,1.2,2.2"},
                                                       {"anti", "-v1"}};
  for (const auto& [type, flags] : types) {
    const std::string expected = SortedLines(In(std::string("join -t, ") + flags + " l.sorted r.sorted"));
    ASSERT_FALSE(expected.empty());
    // 0: both sides are shuffled; otherwise one is sent to all tasks, where the type allows it.
    for (const std::string most : {"0", "1000000"}) {
      EXPECT_TRUE(SortedLines(Run({"join", "--no-output-header", "--type", type, "--left", Uri("l.csv.gz"), "--right",
                                   Uri("r.csv.zst"), "--on", "id", "--broadcast-bytes", most})) == expected)
          << type << ", --broadcast-bytes " << most;
    }
  }
  for (const std::string most : {"0", "1000000"}) {
    EXPECT_TRUE(SortedLines(Run({"join", "--no-output-header", "--type", "semi", "--left", Uri("l.csv"), "--right",
                                 Uri("r.csv"), "--on", "id", "--broadcast-bytes", most})) ==
                SortedLines(In("cut -d, -f1 r.sorted | uniq | join -t, l.sorted -")));
  }
}

TEST_F(JobsTest, ASmallSideOfAJoinIsSentToAllTasksOfTheOther) {
  In("awk 'BEGIN {print \"id,a\"; for (i = 1; i <= 60000; i++) print (i * 31) % 9001 \",left\" i}' > big.csv; "
     "awk 'BEGIN {print \"id,b\"; for (i = 1; i <= 2000; i++) print (i * 17) % 10007 \",right\" i}' > small.csv; "
     "for f in big small; do tail -n +2 $f.csv | sort -t, -k1,1 > $f.sorted; done; gzip -kf small.csv; "
     "mkdir -p smalls && head -n 1000 small.csv > smalls/1.csv && (head -n 1 small.csv; tail -n +1001 small.csv) > "
     "smalls/2.csv");
  const std::string expected = SortedLines(In("join -t, -a1 -e '' -o 0,1.2,2.2 big.sorted small.sorted"));
  ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path("small.csv"), "/small.csv"}).exit, 0);
  const auto explain = [](const std::string& small, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"explain",      "join",    "--type", "left", "--left",
                                     Uri("big.csv"), "--right", small,    "--on", "id"};
    args.insert(args.end(), more.begin(), more.end());
    return cluster_->Mrctl(args);
  };
  // A file, a gzip file that counts four times, a directory, a glob, a file of the block store.
  const uint64_t bytes = In("cat small.csv").size();
  for (const auto& [small, size] : {std::pair{Uri("small.csv"), bytes},
                                    {Uri("small.csv.gz"), 4 * In("cat small.csv.gz").size()},
                                    {Uri("smalls"), bytes + 5},
                                    {Uri("smalls/*.csv"), bytes + 5},
                                    {std::string("/small.csv"), bytes}}) {
    const std::string most = std::to_string(size), less = std::to_string(size - 1);
    const std::string sent = explain(small, {"--broadcast-bytes", most}).out,
                      dealt = explain(small, {"--broadcast-bytes", less}).out;
    EXPECT_NE(sent.find("broadcast, no shuffle of the left side\n"), sent.npos) << sent;
    EXPECT_NE(sent.find("join.lookup"), sent.npos) << sent;
    EXPECT_NE(dealt.find("of --broadcast-bytes: both sides are shuffled\n"), dealt.npos) << dealt;
    EXPECT_EQ(dealt.find("join.lookup"), dealt.npos) << dealt;
    EXPECT_TRUE(SortedLines(Run({"join", "--no-output-header", "--type", "left", "--left", Uri("big.csv"), "--right",
                                 small, "--on", "id"})) == expected)
        << small;
  }
  EXPECT_NE(explain(Uri("small.csv")).out.find("KiB <= 2 MiB: broadcast"), std::string::npos);
  EXPECT_NE(explain(Uri("small.csv"), {"-o", "json"}).out.find("\"notes\":[\"right side"), std::string::npos);
  // Without a master the client reads the sizes of local files. The submit reports files that are missing.
  const RunResult local =
      RunMrctl({"explain", "--local", "join", "--left", Path("big.csv"), "--right", Path("small.csv"), "--on", "id"});
  EXPECT_NE(local.out.find("note    right side"), std::string::npos) << local.out;
  const RunResult missing = explain(Uri("smal.csv"));
  EXPECT_EQ(missing.exit, 7) << missing.err;
  EXPECT_NE(missing.err.find("does not exist; the nearest name there is"), std::string::npos) << missing.err;
  EXPECT_EQ(RunMrctl({"--master", "127.0.0.1:1", "explain", "join", "--left", "a", "--right", "b", "--on", "id"}).exit,
            5);
  EXPECT_EQ(RunMrctl({"--master", "127.0.0.1:1", "explain", "join", "--left", "a", "--right", "b", "--on", "id",
                      "--conf", "max_split_bytes=x"})
                .exit,
            2);
}

TEST_F(JobsTest, StepsThatJoinAreToldTheSizesOfFilesButNotOfOtherSteps) {
  In("seq 1 500 | awk '{print $1 % 97 \",x\" $1}' > first.csv; seq 1 300 | awk '{print $1 % 89 \",y\" $1}' > "
     "second.csv");
  const std::string file = Path("joins.toml");
  ASSERT_TRUE(WriteFileDurably(file, "[[step]]\njob = \"grep\"\nargs = [\"-e\", \"x.*1\"]\ninput = \"" +
                                         Uri("first.csv") +
                                         "\"\n[[step]]\nname = \"both\"\njob = \"join\"\n"
                                         "args = [\"--no-header\", \"--left\", \"@grep\", \"--right\", \"" +
                                         Uri("second.csv") + "\", \"--on\", \"1\"]\n")
                  .ok());
  EXPECT_EQ(SortedLines(Run({file})),
            SortedLines(In("grep x.*1 first.csv | sort -t, -k1,1 > f; sort -t, -k1,1 second.csv > s; join -t, f s")));
  const RunResult explained = cluster_->Mrctl({"explain", file});
  EXPECT_NE(explained.out.find("note    step 'both': right side 2.2 KiB <= 32 MiB: broadcast"), std::string::npos)
      << explained.out << explained.err;
}

// A query like those of TPC-H: three tables, two joins and sums by two columns, as the steps of one job file.
TEST_F(JobsTest, AJoinOfThreeTablesWithSumsEqualsSqlites) {
  In("awk 'BEGIN {srand(5); split(\"AUTO|BUILDING|\\\"FURNI,TURE\\\"|MACHINERY\", segment, \"|\"); "
     "for (i = 1; i <= 1500; i++) print i \",\" segment[1 + int(rand() * 4)] > \"customer.csv\"; "
     "for (i = 1; i <= 15000; i++) print i \",\" 1 + int(rand() * 1600) \",\" 1990 + int(rand() * 8) > \"orders.csv\"; "
     "for (i = 1; i <= 60000; i++) print 1 + int(rand() * 16000) \",\" int(rand() * 100000) > \"lineitem.csv\"}'");
  const std::string file = Path("revenue.toml");
  ASSERT_TRUE(WriteFileDurably(file,
                               "name = \"revenue\"\n"
                               "[[step]]\nname = \"bought\"\njob = \"join\"\n"
                               "args = [\"--no-header\", \"--left\", \"" +
                                   Uri("customer.csv") + "\", \"--right\", \"" + Uri("orders.csv") +
                                   "\", \"--left-on\", \"1\", \"--right-on\", \"2\"]\n"
                                   "[[step]]\nname = \"items\"\njob = \"join\"\n"
                                   "args = [\"--no-header\", \"--left\", \"@bought\", \"--right\", \"" +
                                   Uri("lineitem.csv") +
                                   "\", \"--left-on\", \"3\", \"--right-on\", \"1\"]\n"
                                   "[[step]]\njob = \"aggregate\"\ninput = \"@items\"\n"
                                   "args = [\"--no-header\", \"--by\", \"2,4\", \"--agg\", \"count,sum(5),max(5)\"]\n")
                  .ok());
  const std::string expected =
      In("sqlite3 -csv :memory: 'create table c(k int, s text)' 'create table o(k int, c int, y int)' 'create table "
         "l(o int, p int)' "
         "'.import customer.csv c' '.import orders.csv o' '.import lineitem.csv l' "
         "'select s, y, count(*), sum(p), max(p) from c join o on c.k = o.c join l on l.o = o.k group by s, y' | tr -d "
         "'\\r'");
  ASSERT_EQ(std::count(expected.begin(), expected.end(), '\n'), 32);
  EXPECT_EQ(SortedLines(Run({file})), SortedLines(expected));
}

TEST_F(JobsTest, WhatIsLargerThanTheMemoryOfAnAttemptIsSpilled) {
  In("awk 'BEGIN {print \"id,n\"; for (i = 1; i <= 4000000; i++) print (i * 7919) % 4000037 \",\" i}' > large.csv; "
     "tail -n +2 large.csv > large; wc -c < large | awk '$1 < 60000000 {exit 1}'");
  const std::vector<std::string> limits = {"--memory",       "40m", "--reduces", "1",
                                           "--max-attempts", "1",   "--conf",    "max_split_bytes=64m"};
  const auto run = [&](std::vector<std::string> job) {
    job.insert(job.begin(), limits.begin(), limits.end());
    return Run(job);
  };
  EXPECT_TRUE(run({"sort", "--input", Uri("large")}) == In("sort large"));
  EXPECT_TRUE(SortedLines(run({"aggregate", "--no-output-header", "--by", "id", "--agg", "max(n)", "--input",
                               Uri("large.csv")})) == In("sort large"));
  EXPECT_TRUE(SortedLines(run({"join", "--no-output-header", "--type", "semi", "--left", Uri("large.csv"), "--right",
                               Uri("large.csv"), "--on", "id"})) == In("sort large"));
}

TEST_F(JobsTest, ManySmallFilesAreReadInFewTasksAndEachUnderItsName) {
  In("rm -rf tiny && mkdir tiny && cd tiny && split -a 4 -l 20 ../bible t. && ls | wc -l | awk '$1 < 1000 {exit 1}'");
  EXPECT_TRUE(SortedLines(Run({"wordcount", "--input", Uri("tiny")})) == ExpectedWordCount(Path("bible")));
  EXPECT_TRUE(Run({"grep", "-H", "-n", "-e", "LORD", "--input", Uri("tiny")}) ==
              In("cd tiny && grep -Hn LORD $PWD/* | sed 's,^,file://,'"));
  EXPECT_TRUE(Run({"invertedindex", "--input", Uri("tiny")}).find("/tiny/t.aaaa\t") != std::string::npos);
}

TEST_F(JobsTest, TeraSortsPartsFitTogether) {
  Run({"terasort", "generate", "--rows", "20000", "--tasks", "3"});
  In("rm -rf rows sorted && mv out rows && cat rows/part-* > rows.txt");
  EXPECT_EQ(In("wc -c < rows.txt"), "2000000\n");
  const std::string sum = Run({"terasort", "validate", "--unsorted", "--input", Uri("rows")});
  EXPECT_EQ(sum.substr(0, 6), "20000\t");
  const std::string sorted = Run({"terasort", "sort", "--input", Uri("rows"), "--reduces", "3"});
  EXPECT_TRUE(sorted == In("sort -s -t $'\\001' -k1.1,1.10 rows.txt"));
  In("mv out sorted");
  EXPECT_EQ(Run({"terasort", "validate", "--input", Uri("sorted")}), sum);
  const RunResult run =
      cluster_->Mrctl({"submit", "terasort", "validate", "--input", Uri("rows"), "--output", Uri("bad")}, Seconds(60));
  EXPECT_EQ(run.exit, 1);
  EXPECT_NE(run.err.find("is out of order"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace mr::test
