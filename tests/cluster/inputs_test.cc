// A job reads one version of its inputs: files of the block store stay as they were planned until the job ends; a
// change of a local file fails the job and is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

// Input of 80 kB in four splits, the gate behind which each attempt waits once it has begun, and a cluster on which
// two splits are open at a time.
class InputsTest : public testing::Test {
 protected:
  InputsTest() : cluster_({.workers = 2, .slots = 1, .master_flags = {"--scheduler=fifo,dolly"}}) {}
  void SetUp() override {
    const Status started = cluster_.Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    Lines("old", "old");
    Lines("new", "new");
  }
  std::string Path(const std::string& name) const { return cluster_.directory() + "/" + name; }
  // 8,000 lines "WORD N" of ten bytes each.
  void Lines(const std::string& name, const std::string& word) const {
    Shell("seq -f '" + word + " %05g' 10001 18000 > '" + Path(name) + "'");
  }
  void Mrctl(const std::vector<std::string>& args) const {
    const RunResult run = cluster_.Mrctl(args);
    ASSERT_EQ(run.exit, 0) << run.err << cluster_.Logs();
  }
  // A stream job whose attempts say that they began and wait for the gate. fails: the first of them then fails.
  Result<Process> Submit(const std::string& input, const std::string& output, std::vector<std::string> options = {},
                         bool fails = false) const {
    const std::string fail = fails ? "if mkdir '" + Path("failed") + "' 2>/dev/null; then exit 3; fi; " : "";
    const std::string map =
        "touch '" + Path("began") + "'; until [ -e '" + Path("gate") + "' ]; do sleep 0.02; done; " + fail + "cat";
    std::vector<std::string> args = {"--no-progress", "submit", "--conf", "max_split_bytes=20k"};
    args.insert(args.end(), options.begin(), options.end());
    for (const std::string& arg :
         std::vector<std::string>{"stream", "--map", map, "--reduce", "cat", "--input", input, "--output", output}) {
      args.push_back(arg);
    }
    return cluster_.MrctlInBackground(args, "job");
  }
  void UntilBegun() const { Shell("until [ -e '" + Path("began") + "' ]; do sleep 0.01; done"); }
  void OpenGate() const { Shell("touch '" + Path("gate") + "'"); }
  std::string Said() const {
    std::string said;
    for (const char* stream : {"job.out", "job.err"}) {
      if (const auto text = ReadFile(Path(stream)); text.ok()) said += *text;
    }
    return said;
  }
  void ExpectOld(Process& job, const std::string& output) {
    EXPECT_EQ(job.Wait(Seconds(60)), 0) << Said() << cluster_.Logs();
    Mrctl({"fs", "getmerge", output, Path("merged")});
    const auto merged = ReadFile(Path("merged"));
    ASSERT_TRUE(merged.ok());
    EXPECT_TRUE(SortedLines(*merged) == *ReadFile(Path("old"))) << merged->substr(0, 200);
  }
  // Blocks of all files on all workers, as their directories have them.
  int BlocksOnDisk() const {
    return std::stoi(
        Shell("find '" + cluster_.worker_data(0) + "' '" + cluster_.worker_data(1) + "' -name '*.blk' | wc -l"));
  }

  Cluster cluster_;
};

struct StoredChange {
  std::string name;
  std::vector<std::string> mrctl;  // NEW: a file of other lines
  bool clone = false, retry = false, restart = false;
};
void PrintTo(const StoredChange& change, std::ostream* out) { *out << change.name; }

class StoredInputsTest : public InputsTest, public testing::WithParamInterface<StoredChange> {};

TEST_P(StoredInputsTest, AreReadAsTheyWerePlanned) {
  const StoredChange& change = GetParam();
  Mrctl({"fs", "put", Path("old"), "/in"});
  const std::vector<std::string> clone =
      change.clone ? std::vector<std::string>{"--clone", "on"} : std::vector<std::string>{"--clone", "off"};
  auto job = Submit("/in", "/out", clone, change.retry);
  ASSERT_TRUE(job.ok());
  UntilBegun();
  std::vector<std::string> args = change.mrctl;
  std::replace(args.begin(), args.end(), std::string("NEW"), Path("new"));
  Mrctl(args);
  if (change.restart) {
    cluster_.KillMaster();
    ASSERT_TRUE(cluster_.StartMaster().ok()) << cluster_.Logs();
  }
  OpenGate();
  ExpectOld(*job, "/out");
  EXPECT_EQ(PathExists(Path("failed")), change.retry);
  // Blocks that were kept for the job are deleted with it.
  Mrctl({"fs", "rm", "-r", "/out"});
  const int left = args[1] == "rm" ? 0 : 2;
  Shell("until [ $(find '" + cluster_.worker_data(0) + "' '" + cluster_.worker_data(1) +
            "' -name '*.blk' | wc -l) -eq " + std::to_string(left) + " ]; do sleep 0.05; done",
        Seconds(60));
  EXPECT_EQ(BlocksOnDisk(), left);
}

INSTANTIATE_TEST_SUITE_P(
    , StoredInputsTest,
    testing::Values(StoredChange{"Replaced", {"fs", "put", "--overwrite", "NEW", "/in"}, false, true},
                    StoredChange{"ReplacedUnderClones", {"fs", "put", "--overwrite", "NEW", "/in"}, true},
                    StoredChange{"Removed", {"fs", "rm", "/in"}, true, true},
                    StoredChange{"RemovedBeforeTheMasterRestarts", {"fs", "rm", "/in"}, false, false, true},
                    StoredChange{"Renamed", {"fs", "mv", "/in", "/elsewhere"}, false, true}),
    [](const auto& info) { return info.param.name; });

struct LocalChange {
  std::string name;
  std::string shell;  // in the directory of `in`, `old` and `new`
  int exit = 1;
  std::string says;
  bool local = false;  // --local
  std::vector<std::string> options;
  std::string input = "in";
};
void PrintTo(const LocalChange& change, std::ostream* out) { *out << change.name; }

class LocalInputsTest : public InputsTest, public testing::WithParamInterface<LocalChange> {};

TEST_P(LocalInputsTest, AChangeFailsTheJobAndIsNamed) {
  const LocalChange& change = GetParam();
  Shell("cd '" + cluster_.directory() + "' && cp old in && gzip -k in");
  std::vector<std::string> options = change.options;
  options.insert(options.end(), {"--clone", change.local ? "auto" : "off"});
  if (change.local) options.push_back("--local=1");
  const std::string uri = "file://" + Path(change.input);
  auto job = Submit(uri, "file://" + Path("out"), options, false);
  ASSERT_TRUE(job.ok());
  UntilBegun();
  Shell("cd '" + cluster_.directory() + "' && " + change.shell);
  OpenGate();
  EXPECT_EQ(job->Wait(Seconds(60)), change.exit) << Said() << cluster_.Logs();
  const std::string said = Said();
  EXPECT_THAT(said, HasSubstr("input " + uri));
  EXPECT_THAT(said, HasSubstr(change.says));
  if (change.exit == 0) {
    EXPECT_EQ(SortedLines(ReadParts(Path("out"))), *ReadFile(Path("old")));
    const size_t at = said.find("grew");
    EXPECT_EQ(said.find("grew", at + 1), std::string::npos) << "one warning for each file: " << said;
  } else {
    EXPECT_THAT(said, HasSubstr(" failed 1 time,"));
    EXPECT_FALSE(PathExists(Path("out")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , LocalInputsTest,
    testing::Values(
        LocalChange{"Replaced", "cp new next && mv next in", 1, "it was replaced"},
        LocalChange{"Removed", "rm in", 1, "it was removed or renamed"},
        LocalChange{"Renamed", "mv in elsewhere", 1, "it was removed or renamed"},
        LocalChange{"Truncated", "truncate -s 70000 in", 1, "it became shorter (70000 bytes, planned 80000)"},
        LocalChange{"WrittenInPlace", "dd if=new of=in conv=notrunc status=none", 1, "it was written to"},
        LocalChange{"Appended", "cat new >> in", 0, "grew while the job ran"},
        LocalChange{"AppendedAndStrict",
                    "cat new >> in",
                    1,
                    "it grew (160000 bytes, planned 80000)",
                    false,
                    {"--strict-inputs"}},
        // One split, open when its file changes: found when the attempt ends.
        LocalChange{"CompressedAndWrittenInPlace", "touch in.gz", 1, "it was written to", false, {}, "in.gz"},
        LocalChange{"CompressedAndAppended",
                    "cat in.gz >> in.gz.more; cat in.gz.more >> in.gz",
                    0,
                    "grew while the job ran",
                    false,
                    {},
                    "in.gz"},
        LocalChange{"ReplacedUnderALocalRun", "cp new next && mv next in", 1, "it was replaced", true},
        LocalChange{"AppendedUnderALocalRun", "cat new >> in", 0, "grew while the job ran", true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mr::test
