// Good tasks through a real host and real child processes.
#include <algorithm>
#include <sstream>

#include "tests/worker/host/task_harness.h"

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
    s.edges = {{0, true, false, 2}};
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

}  // namespace
}  // namespace mr::worker
