// Bad inputs and bad operators against a real cluster: a clear message, the right exit code, nothing written, and the
// daemons live on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

struct BadInput {
  std::string name;  // of the case
  std::string make;  // a shell line that makes its input, in the working directory
  std::vector<std::string> submit;
  int exit;
  std::vector<std::string> says;  // all of these, on stderr
  bool at_once = false;           // at the first attempt: another would find the same
};
void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.name; }

// One cluster for all of them, which must live through each.
class BadInputTest : public testing::TestWithParam<BadInput> {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 2});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    WriteWords(Path("words"), 2000, 3);
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  // A case's words; IN/ before a name makes it a URI.
  static RunResult Submit(std::vector<std::string> args, const std::string& output) {
    for (std::string& arg : args) {
      if (arg.starts_with("IN/")) arg = "file://" + Path(arg.substr(3));
      if (arg.starts_with("LIB/")) arg = BinaryDirectory() + "/../lib/" + arg.substr(4);
    }
    args.insert(args.begin(), {"--no-progress", "submit"});
    args.insert(args.end(), {"--output", "file://" + Path(output)});
    return cluster_->Mrctl(args, Seconds(90));
  }
  static void ExpectAlive() {
    const RunResult workers = cluster_->Mrctl({"workers", "-o", "json"});
    EXPECT_EQ(workers.exit, 0) << workers.err;
    EXPECT_THAT(workers.out, HasSubstr("\"id\":\"w1\""));
    EXPECT_THAT(workers.out, HasSubstr("\"id\":\"w2\""));
    EXPECT_THAT(workers.out, testing::Not(HasSubstr("w3"))) << "a worker came anew";
    EXPECT_THAT(workers.out, testing::Not(HasSubstr("lost")));
  }

  static Cluster* cluster_;
};
Cluster* BadInputTest::cluster_ = nullptr;

TEST_P(BadInputTest, IsToldAndHurtsNobody) {
  const BadInput& bad = GetParam();
  if (!bad.make.empty()) Shell("cd '" + cluster_->directory() + "' && " + bad.make);
  const RunResult run = Submit(bad.submit, "out_" + bad.name);
  EXPECT_EQ(run.exit, bad.exit) << run.err << cluster_->Logs();
  for (const std::string& text : bad.says) EXPECT_THAT(run.err, HasSubstr(text));
  if (bad.at_once) {
    EXPECT_THAT(run.err, HasSubstr(" failed 1 time,"));
  }
  EXPECT_LE(std::count(run.err.begin(), run.err.end(), '\n'), 12) << run.err;
  EXPECT_FALSE(PathExists(Path("out_" + bad.name))) << "something was written";
  ExpectAlive();
}

std::vector<BadInput> BadInputs() {
  const auto once = [](std::vector<std::string> args) {
    args.insert(args.begin(), {"--max-attempts", "1"});
    return args;
  };
  const auto own = [](const std::string& how) {
    return std::vector<std::string>{
        "--max-attempts", "1", "--lib", "LIB/libbad_operators.so", "bad", "--how", how, "--input", "IN/words"};
  };
  return {
      {"MissingInput", "", {"wordcount", "--input", "IN/wordz"}, 7, {"wordz", "nearest name", "words"}},
      {"DanglingLink",
       "ln -s nowhere link",
       {"wordcount", "--input", "IN/link"},
       7,
       {"link to something that does not exist"}},
      {"NoFile", "mkfifo pipe", {"wordcount", "--input", "IN/pipe"}, 2, {"neither a file nor a directory"}},
      {"EmptyGlob", "", {"wordcount", "--input", "IN/none*"}, 7, {"no input matches"}},
      {"UnknownColumn",
       "printf 'id,name\\n1,a\\n' > t.csv",
       {"aggregate", "--by", "nam", "--agg", "count", "--input", "IN/t.csv"},
       2,
       {"no column 'nam'", "did you mean 'name'", "id, name"}},
      {"UnknownColumnsOfAJoin",
       "printf 'id,name\n1,a\n' > l.csv; printf 'key,x\n1,a\n' > r.csv",
       {"join", "--left", "IN/l.csv", "--right", "IN/r.csv", "--left-on", "idd", "--right-on", "kex"},
       2,
       {"l.csv has no column 'idd' (did you mean 'id'?)", "r.csv has no column 'kex' (did you mean 'key'?)"}},
      {"TableOfKeysAndValues",
       "printf '{\"a\": 1}\n' > t.jsonl",
       {"aggregate", "--format", "kv", "--by", "a", "--input", "IN/t.jsonl"},
       2,
       {"a table cannot have the format 'kv'"}},
      {"NoReduces",
       "",
       {"wordcount", "--reduces", "0", "--input", "IN/words"},
       2,
       {"--reduces 0", "cannot be map-only"}},
      {"Bzip2",
       "printf 'BZh91AY&SYNothing' > x.bz2",
       {"wordcount", "--input", "IN/x.bz2"},
       2,
       {"x.bz2 is a bzip2 file", "decompress it"}},
      {"Xz", "printf '\\3757zXZ\\000\\000\\004' > x.xz", {"sort", "--input", "IN/x.xz"}, 2, {"x.xz is an xz file"}},
      {"Lz4",
       "printf '\\004\\042\\115\\030dd' > x.lz4",
       {"grep", "-e", "a", "--input", "IN/x.lz4"},
       2,
       {"x.lz4 is an lz4 file"}},
      {"Zip",
       "printf 'PK\\003\\004rest' > x.zip",
       {"wordcount", "--input", "IN/x.zip"},
       2,
       {"x.zip is a zip archive", "unpack it"}},
      {"Parquet",
       "printf 'PAR1\\025\\004restPAR1' > x.parquet",
       {"aggregate", "--by", "a", "--input", "IN/x.parquet"},
       2,
       {"x.parquet is a Parquet file", "csv"}},
      // Behind those that are looked at before the job runs.
      {"LateBzip2",
       "mkdir many; for i in $(seq 100 120); do echo a > many/$i; done; printf 'BZh91AY&SYNothing' > many/z.bz2",
       {"wordcount", "--input", "IN/many"},
       1,
       {"z.bz2 is a bzip2 file"},
       true},
      {"RaggedRow",
       "printf 'id,name\\n1,a\\n2\\n' > ragged.csv",
       {"aggregate", "--by", "name", "--agg", "count", "--input", "IN/ragged.csv"},
       1,
       {"ragged.csv, byte 12", "the row has 1 fields, the header has 2"},
       true},
      {"OpenQuote",
       "printf 'id,name\\n1,\"a\\n2,b\\n' > open.csv",
       {"aggregate", "--by", "name", "--agg", "count", "--input", "IN/open.csv"},
       1,
       {"a quoted field does not end", "open.csv, byte 8"},
       true},
      {"NoNumber",
       "printf 'id,n\\n1,x\\n' > nan.csv",
       {"aggregate", "--by", "id", "--agg", "sum(n)", "--input", "IN/nan.csv"},
       1,
       {"nan.csv, byte 5", "'x'"},
       true},
      {"TruncatedGzip",
       "gzip -c words > whole.gz; head -c 3000 whole.gz > cut.gz",
       {"wordcount", "--input", "IN/cut.gz"},
       1,
       {"cut.gz"},
       true},
      {"FlippedGzip",
       "gzip -c words > flip.gz; printf '\\377\\377\\377\\377' | dd of=flip.gz bs=1 seek=2000 conv=notrunc status=none",
       {"wordcount", "--input", "IN/flip.gz"},
       1,
       {"flip.gz"},
       true},
      {"TruncatedZstd",
       "zstd -qc words > whole.zst; head -c 3000 whole.zst > cut.zst",
       {"wordcount", "--input", "IN/cut.zst"},
       1,
       {"cut.zst"},
       true},
      {"FlippedZstd",
       "zstd -qc words > flip.zst; printf '\\377\\377\\377\\377' | dd of=flip.zst bs=1 seek=2000 conv=notrunc "
       "status=none",
       {"wordcount", "--input", "IN/flip.zst"},
       1,
       {"flip.zst"},
       true},
      {"NoGzipAtAll", "cp words lie.gz", {"wordcount", "--input", "IN/lie.gz"}, 1, {"lie.gz"}, true},
      {"LongLine",
       "(echo short; head -c 200000000 /dev/zero | tr '\\0' x) > long",
       {"sort", "--input", "IN/long"},
       1,
       {"LINE_TOO_LONG", "long", "6"},
       true},
      {"RecordsDoNotFit",
       "head -c 1001 /dev/zero > uneven",
       {"sort", "--format", "fixed:100", "--input", "IN/uneven"},
       2,
       {"1001", "no multiple of 100"}},
      {"CommandNotFound",
       "",
       once({"stream", "--map", "no-such-command", "--input", "IN/words"}),
       1,
       {"no-such-command", "127"}},
      {"CommandFails", "", once({"stream", "--map", "cat >/dev/null; exit 9", "--input", "IN/words"}), 1, {"9"}},
      {"UnknownFormat",
       "",
       {"wordcount", "--input", "IN/words", "--output-format", "texd"},
       2,
       {"texd", "did you mean"}},
      {"BadUnit", "", {"wordcount", "--memory", "512", "--input", "IN/words"}, 2, {"--memory", "512"}},
      {"MemoryOfNoWorker",
       "",
       {"wordcount", "--memory", "900g", "--input", "IN/words"},
       3,
       {"900 GiB", "no worker has as much", "--memory"}},
      {"Throws", "", own("throws"), 1, {"thrown on purpose", "words"}},
      {"ThrowsNoException", "", own("throws_int"), 1, {"int thrown"}},
      {"Segfaults", "", own("segfaults"), 1, {"SIGSEGV"}},
      {"Aborts", "", own("aborts"), 1, {"SIGABRT"}},
      {"ExitsEarly", "", own("exits"), 1, {"exit"}},
      {"FailsInOpen", "", own("open"), 1, {"will not open"}},
      {"FailsInPrepare", "", own("prepare"), 2, {"this config will not do"}},
      {"ClosesFiles",
       "head -c 8000000 /dev/zero | tr '\\0' x | fold -w 100 > larger",
       {"--max-attempts", "1", "--lib", "LIB/libbad_operators.so", "bad", "--how", "closes_files", "--input",
        "IN/larger"},
       1,
       {"the operator closed the descriptor of", "larger", "close only descriptors"}},
      {"ClosesDescriptors", "", own("closes"), 1, {"closed the socket", "close only descriptors"}},
#ifndef __SANITIZE_ADDRESS__  // tasks have no limit of memory there
      {"LeaksMemory",
       "",
       {"--max-attempts", "1", "--memory", "200m", "--lib", "LIB/libbad_operators.so", "bad", "--how", "leaks",
        "--input", "IN/words"},
       1,
       {"ran out of memory", "200 MiB", "--memory"}},
#endif
  };
}
INSTANTIATE_TEST_SUITE_P(, BadInputTest, testing::ValuesIn(BadInputs()),
                         [](const auto& info) { return info.param.name; });

// Inputs that look bad, and are not: the answer is that of coreutils.
struct OddInput {
  std::string name, make, answer;
};
constexpr const char* kSorted = "cat odd/* | sort";

TEST_F(BadInputTest, OddInputsAreReadAsCoreutilsDo) {
  const OddInput odd[] = {
      {"an empty file", "touch odd/a", kSorted},
      {"an empty directory", "true", "true"},
      {"ten thousand files", "seq 1 10000 | (cd odd && split -l 1 -a 4 -)", kSorted},
      {"no newline at the end", "printf 'b\\na' > odd/x", "printf 'a\\nb\\n'"},
      {"files without a newline at their ends", "printf b > odd/x; printf a > odd/y", "printf 'a\\nb\\n'"},
      {"carriage returns", "printf 'b\\r\\na\\r\\n' > odd/x", kSorted},
      {"zero bytes and bytes that are no UTF-8", "printf 'b\\0c\\n\\377\\376\\n\\0\\n\\n' > odd/x", kSorted},
      {"hidden files", "printf 'a\\n' > odd/x; printf 'no\\n' > odd/.b; printf 'no\\n' > odd/_c", "echo a"},
  };
  for (const OddInput& input : odd) {
    Shell("cd '" + cluster_->directory() + "' && rm -rf odd odd_out && mkdir odd && " + input.make);
    const RunResult run = Submit({"sort", "--input", "IN/odd"}, "odd_out");
    ASSERT_EQ(run.exit, 0) << input.name << ": " << run.err;
    EXPECT_EQ(ReadParts(Path("odd_out")), Shell("cd '" + cluster_->directory() + "' && " + input.answer)) << input.name;
  }
  ExpectAlive();
}

TEST_F(BadInputTest, AnExceptionsPlaceIsThatOfTheRecordThatThrew) {
  const struct {
    std::string format, how, text, place;
  } cases[] = {
      {"text", "throws_at_line", "one\ntwo\n!three\nfour\n", ", byte 8"},
      {"kv", "throws_at_key", "one\t1\ntwo\nempty\t\n!\tx\nfour\n", ", byte 17"},
      {"csv", "throws_at_line", "a,b\r\n\"c\nd\",e\r\n!x,y\r\nf\r\n", ", byte 14"},
      {"fixed:3", "throws_at_line", "aaabbb!cc", ", byte 6"},
      {"text", "throws_at_group", "one\n!three\nfour\n", "key '!three'"},
      {"text", "throws_at_line", "one\n!skip\n!three\nfour\n", ", byte 10"},
      {"csv", "throws_at_line", "a,b\n!skip,x\n!three,y\n", ", byte 12"},
      {"text", "throws_at_group", "one\n!skip\n!three\nfour\n", "key '!three'"},
  };
  int number = 0;
  for (const auto& c : cases) {
    const std::string name = "place" + std::to_string(++number);
    Shell("printf '%s' '" + c.text + "' > '" + Path(name) + "'");
    const RunResult run = Submit({"--max-attempts", "1", "--max-bad-records", "9", "--lib", "LIB/libbad_operators.so",
                                  "--format", c.format, "bad", "--how", c.how, "--input", "IN/" + name},
                                 name + "_out");
    EXPECT_EQ(run.exit, 1) << run.err;
    const std::string place = c.place[0] == ',' ? name + c.place : c.place;
    EXPECT_THAT(run.err, testing::ContainsRegex(place + "[^0-9]")) << c.format;
    EXPECT_THAT(run.err, HasSubstr("thrown at '!"));
  }
}

// A file:// path names a file of the workers' machines. Another file under that path, on the client's machine, refuses
// nothing.
TEST_F(BadInputTest, AFileThatOnlyTheClientSeesRefusesNoJob) {
  Shell("cd '" + cluster_->directory() +
        "' && mkdir theirs ours && printf 'city,n\nx,1\n' > theirs/t.csv && printf 'id\n1\n' > ours/t.csv");
  const std::string submit = BinaryDirectory() +
                             "/mrctl --no-progress submit aggregate --by city --agg count --input 'file://" +
                             Path("theirs/t.csv") + "' --output 'file://" + Path("theirs_out") + "'";
  const RunResult run = RunProgram({"/usr/bin/unshare", "-m", "sh", "-c",
                                    "mount --bind '" + Path("ours") + "' '" + Path("theirs") +
                                        "' || exit 99; MR_MASTER=" + cluster_->master_address() + " exec " + submit},
                                   Seconds(90));
  if (run.exit == 99 || run.err.find("unshare") != std::string::npos) GTEST_SKIP() << "no right to mount: " << run.err;
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(ReadParts(Path("theirs_out")), HasSubstr("x,1\n"));
}

TEST_F(BadInputTest, WhatTheBlockStoresFilesCannotBeIsToldAtSubmit) {
  Shell("cd '" + cluster_->directory() +
        "' && printf 'id,name\\n1,a\\n' > stored.csv && printf 'BZh91AY&SYNothing' > stored.bz2");
  for (const char* name : {"stored.csv", "stored.bz2"}) {
    ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path(name), std::string("/") + name}).exit, 0);
  }
  for (const char* verb : {"submit", "explain"}) {
    const RunResult column =
        cluster_->Mrctl({verb, "aggregate", "--by", "nam", "--input", "/stored.csv", "--output", "/never"});
    EXPECT_EQ(column.exit, 2) << column.err;
    EXPECT_THAT(column.err, HasSubstr("stored.csv has no column 'nam' (did you mean 'name'?)"));
    const RunResult packed = cluster_->Mrctl({verb, "wordcount", "--input", "/stored*", "--output", "/never"});
    EXPECT_EQ(packed.exit, 2) << packed.err;
    EXPECT_THAT(packed.err, HasSubstr("stored.bz2 is a bzip2 file"));
  }
}

TEST_F(BadInputTest, CutLinesOfALogCostThemselvesAndTheNextOne) {
  Shell("cd '" + cluster_->directory() +
        "' && for i in $(seq 1 302); do printf '10.0.0.1 - - [x y] \"GET /p'; "
        "case $i in 100|200) echo cut;; *) echo ' HTTP/1.1\" 200 5';; esac; done > cut.log");
  const RunResult run = Submit({"--max-bad-records", "10", "--conf", "max_split_bytes=1k", "aggregate", "--no-header",
                                "--separator", " ", "--by", "7", "--input", "IN/cut.log"},
                               "cut_log");
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(ReadParts(Path("cut_log")), "200 298\n");
  EXPECT_THAT(run.err, testing::ContainsRegex("4 bad records were skipped, [0-9]+ B of the input"));
}

TEST_F(BadInputTest, WhatAnOperatorPrintsIsNoOutput) {
  const RunResult run =
      Submit({"--lib", "LIB/libbad_operators.so", "bad", "--how", "prints", "--input", "IN/words"}, "printed");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(ReadParts(Path("printed")), Shell("cat '" + Path("words") + "'"));
}

TEST_F(BadInputTest, AnInputThatGoesWhileTheJobRunsFailsItAndIsNamed) {
  Shell("cd '" + cluster_->directory() + "' && mkdir going && for i in 1 2 3 4 5 6; do cp words going/$i; done");
  // The first commands are slow, so that others have not begun when their input goes.
  auto job = cluster_->MrctlInBackground({"--no-progress", "submit", "--max-attempts", "1", "stream", "--map",
                                          "touch '" + Path("began") + "'; sleep 1; cat", "--input",
                                          "file://" + Path("going"), "--output", "file://" + Path("gone_out")},
                                         "going_job");
  ASSERT_TRUE(job.ok());
  Shell("until [ -e '" + Path("began") + "' ]; do sleep 0.01; done; rm -r '" + Path("going") + "'");
  EXPECT_EQ(job->Wait(Seconds(60)), 1);
  EXPECT_THAT(*ReadFile(Path("going_job.err")), HasSubstr("going/"));
  EXPECT_FALSE(PathExists(Path("gone_out")));
  ExpectAlive();
}

TEST_F(BadInputTest, OfTwoJobsWithOneOutputTheSecondIsRefused) {
  auto first = cluster_->MrctlInBackground(
      {"submit", "--detach", "sleep", "--ms", "60000", "--tasks", "1", "--output", "file://" + Path("shared_out")},
      "first_job");
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first->Wait(Seconds(30)), 0);
  const RunResult second = Submit({"wordcount", "--input", "IN/words"}, "shared_out");
  EXPECT_EQ(second.exit, 3) << second.err;
  EXPECT_THAT(second.err, HasSubstr("shared_out"));
  std::string id = *ReadFile(Path("first_job.out"));
  id = id.substr(0, id.find('\n'));
  EXPECT_EQ(cluster_->Mrctl({"kill", id}).exit, 0);
}

}  // namespace
}  // namespace mr::test
