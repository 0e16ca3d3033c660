// Good tasks through a real host and real child processes.
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>

#include "common/base/file_format.h"
#include "tests/worker/host/task_harness.h"
#include "worker/task/compress.h"

namespace mr::worker {
namespace {

std::string Words(int lines) {
  std::string text;
  uint32_t x = 12345;
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < 8; ++k) {
      x = x * 1664525 + 1013904223;
      text += "w" + std::to_string((x >> 16) % 997) + (k % 3 == 0 ? "  " : " ");
    }
    text += '\n';
  }
  return text;
}

std::map<std::string, int64_t> CountWords(const std::string& text) {
  std::map<std::string, int64_t> counts;
  std::istringstream in(text);
  for (std::string w; in >> w;) ++counts[w];
  return counts;
}

TEST_F(TaskTest, ALibraryMayBePreloadedAndAMissingOneHarmsNobody) {
  for (const std::string library : {TEST_LIBRARY, "/nonexistent/library.so"}) {
    TaskHostOptions options;
    options.mrtask_path = MRTASK_PATH;
    options.scratch_directory = *directory_;
    options.preload = library;
    auto host = TaskHost::Start(options);
    ASSERT_TRUE(host.ok()) << host.status().ToString();
    for (int i = 0; i < 2; ++i) {
      TaskSpec s = Spec("nothing");
      s.ports = {Shuffle(1)};
      auto c = std::make_shared<Collector>();
      (*host)->Run(std::move(s), c);
      const TaskResult r = c->Wait();
      EXPECT_EQ(r.end, TaskEnd::kDone) << library << ": " << r.message;
    }
  }
}

TEST_F(TaskTest, MapSortsPartitionsAndCombines) {
  const std::string text = Words(2000);
  const std::string path = Write("words", text);
  TaskSpec s = Spec("tokens", kTokensFlags);
  AddSplit(&s, path);
  s.ports = {Shuffle(3, true)};
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
  EXPECT_EQ(r.records_in, 2000u);
  std::map<std::string, int64_t> got;
  for (uint32_t p = 0; p < 3; ++p) {
    const std::vector<Record> records = c->Records(p);
    EXPECT_TRUE(std::is_sorted(records.begin(), records.end()));
    for (const Record& rec : records) {
      EXPECT_TRUE(got.emplace(rec.key, atoll(rec.value.c_str())).second) << rec.key;
    }
  }
  EXPECT_EQ(got, CountWords(text));
  EXPECT_EQ(r.records_out, got.size());
  ASSERT_EQ(r.counters.size(), 1u);
  EXPECT_EQ(r.counters[0].name, "batches");
}

// The word "hot" is every other one of 60,000.
TEST_F(TaskTest, AHotKeyIsToldWithTheResultWhereItGoesWhereOthersDoNot) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "hot w" + std::to_string(i) + "\n";
  const std::string path = Write("hot", text);
  const auto run = [&](uint32_t partitions, bool combine, bool sorted) {
    TaskSpec s = Spec("tokens", kTokensFlags);
    AddSplit(&s, path);
    s.ports = {Shuffle(partitions, combine, sorted)};
    auto c = std::make_shared<Collector>();
    host_->Run(std::move(s), c);
    TaskResult r = c->Wait();
    EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
    uint32_t home = 0;
    for (uint32_t p = 0; p < partitions; ++p) {
      for (const Record& record : c->Records(p)) home = record.key == "hot" ? p : home;
    }
    for (const HotKey& k : r.hot_keys) EXPECT_EQ(k.partition, home) << k.prefix;
    return r.hot_keys;
  };
  for (const bool sorted : {true, false}) {
    const std::vector<HotKey> keys = run(4, false, sorted);
    ASSERT_EQ(keys.size(), 1u);
    EXPECT_EQ(keys[0].prefix, "hot");
    EXPECT_NEAR(static_cast<double>(keys[0].records), 30'000, 6'000);
    EXPECT_EQ(run(4, false, sorted), keys) << "of equal input";
    EXPECT_TRUE(run(1, false, sorted).empty()) << "one partition";
  }
  EXPECT_TRUE(run(4, true, true).empty()) << "combined it is one record";
}

TEST_F(TaskTest, MapThenGroupedReduceWritesCountsAsText) {
  const std::string text = Words(3000);
  const std::string path = Write("words2", text);
  std::vector<std::shared_ptr<Collector>> maps;
  const uint64_t half = text.size() / 2;
  for (int m = 0; m < 2; ++m) {
    TaskSpec s = Spec(m == 0 ? "tokens" : "tokens.raw", kTokensFlags | (m == 0 ? 0 : MR_RAW_BLOCKS));
    AddSplit(&s, path, m == 0 ? 0 : half, m == 0 ? half : 0);
    s.ports = {Shuffle(1, true)};
    maps.push_back(std::make_shared<Collector>());
    host_->Run(std::move(s), maps.back());
  }
  for (const char* op : {"sum", "sum.group"}) {
    TaskSpec s = Spec(op, MR_DETERMINISTIC);
    s.letter = TaskLetter::kReduce;
    s.inputs = 1;
    s.edges = {{0, true, false, false, 2}};
    s.ports = {Files()};
    auto c = std::make_shared<Collector>();
    auto task = host_->Run(std::move(s), c);
    for (uint32_t m : {1u, 0u}) {  // segments may come in any order
      ASSERT_EQ(maps[m]->Wait().end, TaskEnd::kDone) << maps[m]->Wait().message;
      for (const auto& chunk : maps[m]->chunks_) task->Feed(0, m, 0, chunk.bytes, false, {});
      task->Feed(0, m, 0, "", true, {});
    }
    const TaskResult r = c->Wait();
    ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
    std::string want;
    for (const auto& [word, n] : CountWords(text)) want += word + "\t" + std::to_string(n) + "\n";
    EXPECT_EQ(c->Bytes(), want);
  }
}

TEST_F(TaskTest, BroadcastComesFirstThenInputsInOrderThenGroupsMerged) {
  TaskSpec s = Spec("trace");
  s.inputs = 4;
  s.edges = {
      {0, true, false, false, 2}, {1, false, false, false, 2}, {2, true, false, false, 1}, {3, false, true, false, 2}};
  s.ports = {Files()};
  auto c = std::make_shared<Collector>();
  auto task = host_->Run(std::move(s), c);
  task->Feed(0, 1, 0, Batch({{"a", "01"}, {"b", "02"}}), true, {});
  task->Feed(2, 0, 0, Batch({{"a", "20"}, {"c", "21"}}), true, {});
  task->Feed(1, 5, 0, Batch({{"x", "5"}}), true, {});
  task->Feed(3, 1, 0, Batch({{"later", "1"}}), true, {});
  task->Feed(0, 0, 0, Batch({{"a", "00"}}), false, {});
  task->Feed(0, 0, 0, Batch({{"b", "03"}}), true, {});
  task->Feed(1, 2, 0, Batch({{"y", "2"}}), true, {});
  task->Feed(3, 0, 0, Batch({{"sooner", "0"}}), true, {});
  const TaskResult r = c->Wait();
  ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
  EXPECT_EQ(c->Lines(), (std::vector<std::string>{"u3/0 sooner=0", "u3/1 later=1", "end 3", "u1/2 y=2", "u1/5 x=5",
                                                  "end 1", "g0/0 a=00", "g0/0 a=01", "g2/0 a=20", "g0/0 b=03",
                                                  "g0/0 b=02", "g2/0 c=21", "end 0", "end 2"}));
  EXPECT_EQ(r.records_in, 10u);
}

TEST_F(TaskTest, GroupsSpanBatchesByNextBatch) {
  TaskSpec s = Spec("sum.group", MR_DETERMINISTIC);
  s.inputs = 1;
  s.edges = {{0, true, false, false, 2}};
  s.sort_buffer_bytes = 100'000;  // so that segments also spill
  s.ports = {Files()};
  auto c = std::make_shared<Collector>();
  auto task = host_->Run(std::move(s), c);
  for (uint32_t up = 0; up < 2; ++up) {
    for (int chunk = 0; chunk < 10; ++chunk) {
      task->Feed(0, up, 0, Batch(std::vector<Record>(30'000, {"key", "1"})), chunk == 9, {});
    }
  }
  const TaskResult r = c->Wait();
  ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
  EXPECT_EQ(c->Bytes(), "key\t600000\n");
  ASSERT_EQ(r.counters.size(), 1u);  // next_batch() was what went on
  EXPECT_GT(r.counters[0].value, 3);
}

TEST_F(TaskTest, SameBytesInEveryRun) {
  const std::string path = Write("again", Words(20000));
  std::string first;
  for (int i = 0; i < 3; ++i) {
    TaskSpec s = Spec("tokens", kTokensFlags);
    AddSplit(&s, path);
    s.sort_buffer_bytes = 300'000;
    s.ports = {Shuffle(4, false)};
    auto c = std::make_shared<Collector>();
    host_->Run(std::move(s), c);
    ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
    if (i == 0) first = c->Bytes();
    EXPECT_EQ(c->Bytes(), first);
    EXPECT_GT(c->chunks_.size(), 3u);
  }
}

TEST_F(TaskTest, LargeRecordsTravelInChunksOfTheirOwn) {
  for (const uint32_t bytes : {2u << 20, kMaxRecordBytes - 1}) {
    TaskSpec s = Spec("big");
    s.config = std::to_string(bytes);
    AddSplit(&s, Write("one", "x\n"));
    s.ports = {Shuffle(2)};
    auto c = std::make_shared<Collector>();
    host_->Run(std::move(s), c);
    const TaskResult r = c->Wait();
    ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
    ASSERT_EQ(c->chunks_.size(), 1u);
    const std::vector<Record> records = c->Records(c->chunks_[0].partition);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].value, std::string(bytes, 'b'));

    TaskSpec reduce = Spec("echo");  // and in again
    reduce.inputs = 1;
    reduce.edges = {{0, true, false, false, 1}};
    reduce.ports = {Files("raw")};
    auto d = std::make_shared<Collector>();
    host_->Run(std::move(reduce), d)->Feed(0, 0, 0, c->chunks_[0].bytes, true, {});
    ASSERT_EQ(d->Wait().end, TaskEnd::kDone);
    EXPECT_EQ(d->Bytes(), "k" + std::string(bytes, 'b'));
  }
}

TEST_F(TaskTest, TheHeaderOfACsvFileIsNotCountedAndHasAFrameOfItsOwn) {
  const std::string path = Write("rows", "a,b\n1,2\n3,4\n");
  for (const std::string format : {"csv", "csv.gz", "csv.zst"}) {
    TaskSpec s = Spec("echo");
    AddSplit(&s, path);
    s.ports = {Files(format)};
    auto c = std::make_shared<Collector>();
    host_->Run(std::move(s), c);
    const TaskResult r = c->Wait();
    ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
    uint32_t records = 0;
    for (const auto& chunk : c->chunks_) records += chunk.records;
    EXPECT_EQ(records, 2u) << format;
    std::string expected = format == "csv" ? "a,b\n1,2\n3,4\n" : "";
    if (const auto frames = task::MakeCompressor(CompressionOfName(format))) {
      ASSERT_TRUE(frames->Add("a,b\n", &expected).ok() && frames->EndFrame(&expected).ok());
      ASSERT_TRUE(frames->Add("1,2\n3,4\n", &expected).ok() && frames->Finish(&expected).ok());
    }
    EXPECT_TRUE(c->Bytes() == expected) << format;
  }
}

TEST_F(TaskTest, ACsvFileWithoutAHeaderFailsItsTask) {
  TaskSpec s = Spec("nothing");
  s.ports = {Files("csv")};
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal);
  EXPECT_THAT(r.message, testing::HasSubstr("operator nothing emitted no header"));
}

TEST_F(TaskTest, PartitionsCountOverAllPorts) {
  TaskSpec s = Spec("deal");
  AddSplit(&s, Write("deal", "a\nb\nc\nd\n"));
  s.ports = {Shuffle(1, false, false), Shuffle(2)};
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
  EXPECT_EQ(c->Records(0), (std::vector<Record>{{"a", ""}, {"c", ""}}));
  std::vector<Record> odd = c->Records(1);
  for (const Record& r : c->Records(2)) odd.push_back(r);
  std::sort(odd.begin(), odd.end());
  EXPECT_EQ(odd, (std::vector<Record>{{"b", ""}, {"d", ""}}));
}

TEST_F(TaskTest, CustomPartitionIsTheOperators) {
  TaskSpec s = Spec("echo");
  AddSplit(&s, Write("kv", "2\tx\n0\ty\n2\tw\n"), 0, 0, "kv");
  OutputPort port = Shuffle(3);
  port.custom_partition = true;
  s.ports = {port};
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
  EXPECT_EQ(c->Records(0), (std::vector<Record>{{"0", "y"}}));
  EXPECT_TRUE(c->Records(1).empty());
  EXPECT_EQ(c->Records(2), (std::vector<Record>{{"2", "x"}, {"2", "w"}}));  // equal keys as emitted
}

TEST_F(TaskTest, BytesBehindTheDescriptorAreAskedFor) {
  const std::string text = "first\nsecond line\nthird\n";
  const std::string path = Write("block", text.substr(0, 10));  // the block ends within line 2
  TaskSpec s = Spec("echo");
  AddSplit(&s, path);
  s.splits[0].file_bytes = text.size();
  s.ports = {Files()};
  auto c = std::make_shared<Collector>();
  c->more_ = [&](uint64_t offset, uint32_t length) -> Result<std::string> { return text.substr(offset, length); };
  host_->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
  EXPECT_EQ(c->Bytes(), "first\nsecond line\n");
}

TEST_F(TaskTest, ReusableOperatorsShareAProcessUntilTheJobEnds) {
  const std::string path = Write("reuse", "one two\n");
  std::set<int> pids;
  for (int i = 0; i < 5; ++i) {
    TaskSpec s = Spec(i % 2 ? "tokens.reusable" : "nothing.reusable", MR_REUSABLE);
    AddSplit(&s, path);
    s.ports = {Shuffle(1)};
    auto c = std::make_shared<Collector>();
    c->hold_ = i % 2;
    auto task = host_->Run(std::move(s), c);
    while (!c->ended() && (c->count() == 0 || i % 2 == 0)) {
      if (task->pid() != 0) pids.insert(task->pid());
      std::this_thread::yield();
    }
    if (i % 2) {
      EXPECT_FALSE(c->ended());  // not before its output is in safety
      c->Release();
    }
    ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
  }
  ASSERT_LE(pids.size(), 1u);
  host_->EndJob({1, 1});
  for (int pid : pids) {
    for (int i = 0; i < 400 && kill(pid, 0) == 0; ++i) usleep(5000);
    EXPECT_NE(kill(pid, 0), 0);
  }
}

// Environment, memory and side files are what a process has once and for all; and jobs do not share one.
TEST_F(TaskTest, AProcessIsReusedOnlyByTasksThatWantTheSameOfIt) {
  const std::string path = Write("reuse", "one two\n");
  const auto pid_of = [&](const std::function<void(TaskSpec*)>& change) {
    TaskSpec s = Spec("tokens.reusable", MR_REUSABLE);
    AddSplit(&s, path);
    s.ports = {Shuffle(1)};
    change(&s);
    auto c = std::make_shared<Collector>();
    c->hold_ = true;
    auto task = host_->Run(std::move(s), c);
    while (!c->ended() && c->count() == 0) std::this_thread::yield();
    const int pid = task->pid();
    c->Release();
    EXPECT_EQ(c->Wait().end, TaskEnd::kDone);
    return pid;
  };
  const auto same = [](TaskSpec*) {};
  const int first = pid_of(same);
  EXPECT_EQ(pid_of(same), first);
  EXPECT_NE(pid_of([](TaskSpec* s) { s->attempt.task.job = {1, 2}; }), first) << "another job";
  EXPECT_NE(pid_of([](TaskSpec* s) { s->env = {{"A", "1"}}; }), first) << "another environment";
  EXPECT_NE(pid_of([](TaskSpec* s) { s->memory_bytes = 1 << 30; }), first) << "another limit of memory";
  EXPECT_NE(pid_of([](TaskSpec* s) { s->files_directory = "/tmp"; }), first) << "other side files";
  EXPECT_EQ(pid_of(same), first) << "it was idle meanwhile";
}

TEST_F(TaskTest, SlowStoreHoldsTheOperatorBack) {
  std::string text;
  while (text.size() < 40u << 20) text.append(1023, 'l').push_back('\n');
  TaskSpec s = Spec("echo");
  AddSplit(&s, Write("slow", text));  // more than the arena has slots for
  s.ports = {Files()};
  auto c = std::make_shared<Collector>();
  c->hold_ = true;
  auto task = host_->Run(std::move(s), c);
  usleep(300'000);
  EXPECT_FALSE(c->ended());
  EXPECT_LT(c->count(), 16u);
  c->Release();
  EXPECT_EQ(c->Wait().end, TaskEnd::kDone);
  EXPECT_EQ(c->Bytes().size(), 40u << 20);
}

TEST_F(TaskTest, EnvironmentHasTheTaskAndNoLoaderVariables) {
  TaskSpec s = Spec("environment");
  AddSplit(&s, Write("env", "x\n"));
  s.env = {{"MY_SETTING", "42"}, {"LD_PRELOAD", "/evil.so"}};
  s.ports = {Files()};
  auto c = std::make_shared<Collector>();
  const std::string attempt = Name(s.attempt, TaskLetter::kMap);
  host_->Run(std::move(s), c);
  ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
  EXPECT_THAT(c->Lines(), testing::IsSupersetOf({std::string("MY_SETTING=42"), "MR_ATTEMPT_ID=" + attempt}));
  EXPECT_EQ(c->Bytes().find("\nLD_"), std::string::npos);
}

TEST_F(TaskTest, ProgressCountsWhatTheOperatorTook) {
  TaskSpec s = Spec("tokens", kTokensFlags);
  AddSplit(&s, Write("progress", "a b\nc d\n"));
  s.ports = {Shuffle(1)};
  auto c = std::make_shared<Collector>();
  auto task = host_->Run(std::move(s), c);
  ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
  EXPECT_EQ(task->Progress().taken_bytes, 6u);
  EXPECT_EQ(task->Progress().total_bytes, 8u);
  EXPECT_EQ(task->Progress().records, 2u);
  EXPECT_EQ(task->pid(), 0);
}

TEST_F(TaskTest, RecordContainersAreReadAsWritten) {
  TaskSpec s = Spec("echo");
  AddSplit(&s, Write("kv2", "k\tv\nl\tw\n"), 0, 0, "kv");
  s.ports = {Files("record")};
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
  std::string bytes = c->Bytes();
  for (const bool damaged : {false, true}) {
    if (damaged) bytes[bytes.size() - 2] ^= 1;
    TaskSpec t = Spec("echo");
    AddSplit(&t, Write("container", bytes), 0, 0, "record");
    t.ports = {Files()};
    auto d = std::make_shared<Collector>();
    host_->Run(std::move(t), d);
    const TaskResult r = d->Wait();
    if (damaged) {
      EXPECT_EQ(r.end, TaskEnd::kUserFinal);
      EXPECT_NE(r.message.find("checksum"), std::string::npos) << r.message;
    } else {
      ASSERT_EQ(r.end, TaskEnd::kDone) << r.message;
      EXPECT_EQ(d->Bytes(), "k\tv\nl\tw\n");
    }
  }
}

TEST_F(TaskTest, FeedIsTakenChunkByChunk) {
  TaskSpec s = Spec("nothing");
  s.inputs = 1;
  s.edges = {{0, false, false, false, 1}};
  auto c = std::make_shared<Collector>();
  auto task = host_->Run(std::move(s), c);
  std::atomic<int> taken{0};
  for (int i = 0; i < 20; ++i) {
    task->Feed(0, 0, 0, Batch(std::vector<Record>(100'000, {"12345678", "1"})), i == 19, [&] { ++taken; });
  }
  ASSERT_EQ(c->Wait().end, TaskEnd::kDone);
  EXPECT_EQ(taken.load(), 20);
}

// Holds the host's loop for a while at the end of its task.
class SlowToEnd final : public Collector {
 public:
  void OnEnd(TaskResult result) override {
    ::poll(nullptr, 0, 30);
    Collector::OnEnd(std::move(result));
  }
};

// The destructor joined the loop's thread under a lock that closures which it had posted before were waiting for, so
// some workers never stopped.
TEST_F(TaskTest, AHostEndsWhileItsLoopIsSlow) {
  for (int i = 0; i < 20; ++i) {
    TaskHostOptions options;
    options.mrtask_path = MRTASK_PATH;
    options.scratch_directory = *directory_;
    auto host = TaskHost::Start(options).value();
    auto end = std::make_shared<SlowToEnd>();
    TaskSpec s = Spec("spin");
    AddSplit(&s, Write("in" + std::to_string(s.attempt.task.task), "a line\n"));
    s.ports = {Shuffle(2)};
    host->Run(std::move(s), end);
    host.reset();
    EXPECT_TRUE(end->ended());
  }
}

}  // namespace
}  // namespace mr::worker
