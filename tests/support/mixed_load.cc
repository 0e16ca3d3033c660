#include "tests/support/mixed_load.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "tests/support/answers.h"

namespace mr::test {
namespace {

constexpr int kFiles = 4;
// After this time a command counts as hung. It is far above the seconds that a command takes, even beside faults.
constexpr Duration kCommandLimit = Seconds(240);

// Returns the first line in which two sorted answers differ, for a message.
std::string FirstDifference(const std::string& got, const std::string& expected) {
  size_t at = 0;
  while (at < got.size() && at < expected.size() && got[at] == expected[at]) ++at;
  const auto line = [at](const std::string& text) {
    if (at >= text.size()) return std::string("(its end)");
    const size_t from = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return "'" + text.substr(from, std::min<size_t>(text.find('\n', at), text.size()) - from) + "'";
  };
  return std::to_string(got.size()) + " bytes for " + std::to_string(expected.size()) + ", first at byte " +
         std::to_string(at) + ": " + line(got) + " for " + line(expected);
}

}  // namespace

MixedLoad::MixedLoad(Cluster& cluster, Options options)
    : cluster_(cluster),
      options_(std::move(options)),
      began_(static_cast<size_t>(options_.job_clients) + 1),
      ended_(static_cast<size_t>(options_.job_clients) + 1) {}

MixedLoad::~MixedLoad() {
  stop_ = true;
  for (std::thread& client : clients_) client.join();
}

void MixedLoad::Violation(const std::string& text) {
  std::lock_guard lock(mutex_);
  violations_.insert(text);
}

std::string MixedLoad::Violations() const {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const std::string& text : violations_) all += text + "\n";
  return all;
}

void MixedLoad::Start() {
  ASSERT_TRUE(MakeDirectories(Path("")).ok());
  const std::string lines = std::to_string(options_.lines);
  WriteWords(Path("words"), options_.lines, options_.seed);
  Shell("awk 'BEGIN {srand(" + std::to_string(options_.seed) + "); print \"id,a\"; for (i = 0; i < " + lines +
        "; ++i) print int(rand() * " + lines + ") \",\" int(rand() * 1e9)}' > '" + Path("l.csv") +
        "'; awk '"
        "BEGIN {print \"id,b\"; for (i = 0; i < " +
        lines + "; i += 2) print i \",r\" i}' > '" + Path("r.csv") + "'");
  for (const char* name : {"words", "l.csv", "r.csv"}) {
    const RunResult put = cluster_.Mrctl({"fs", "put", Path(name), std::string("/load/") + name});
    ASSERT_EQ(put.exit, 0) << put.err;
  }
  const std::string sorted = Shell("sort '" + Path("words") + "'");
  kinds_ = {
      {"sort", {"sort", "--input", "file://" + Path("words"), "--reduces", "3"}, sorted},
      {"wordcount", {"wordcount", "--input", "dfs:///load/words", "--reduces", "2"}, ExpectedWordCount(Path("words"))},
      {"join",
       {"join", "--left", "dfs:///load/l.csv", "--right", "file://" + Path("r.csv"), "--on", "id", "--broadcast-bytes",
        "0", "--reduces", "3"},
       SortedLines(Shell("join -t, <(tail -n +2 '" + Path("l.csv") + "' | sort -t, -k1,1) <(tail -n +2 '" +
                         Path("r.csv") + "' | sort -t, -k1,1)"))},
      {"stream",
       {"stream", "--map", "sleep .3; cat", "--reduce", "sort", "--reduces", "2", "--input", "dfs:///load/words"},
       sorted},
  };
  for (int i = 0; i < kFiles; ++i) {
    files_.push_back(Path("file" + std::to_string(i)));
    WriteWords(files_.back(), options_.lines / 2 + static_cast<uint64_t>(i) * 500,
               options_.seed + 10 + static_cast<uint64_t>(i));
  }
  for (int i = 0; i < options_.job_clients; ++i) clients_.emplace_back([this, i] { RunJobs(i); });
  clients_.emplace_back([this] { PutFiles(options_.job_clients); });
}

bool MixedLoad::Repeat(const std::vector<std::string>& args, RunResult* run) {
  const Instant limit = Now() + kCommandLimit;
  while (true) {
    *run = cluster_.Mrctl(args, kCommandLimit);
    if (run->exit == 0) return true;
    std::string command;
    for (const std::string& arg : args) command += arg + " ";
    // 3: no worker took a block.
    const bool usual = run->exit == 5 || run->exit == 124 || (run->exit == 3 && args[0] == "fs");
    const bool allowed = options_.may_fail ? options_.may_fail(*run) : usual;
    if (!allowed || Now() > limit) {
      Violation((allowed ? "never acknowledged: " : "exit " + std::to_string(run->exit) + ": ") + command + "\n" +
                run->err);
      return false;
    }
    if (stop_) return false;
    ++repeated_;
  }
}

bool MixedLoad::OneJob(int client, uint64_t number, const Kind& kind) {
  const std::string id = "load" + std::to_string(client) + "_" + std::to_string(number);
  const std::string out = Path(id);
  std::vector<std::string> args = {"--no-progress", "submit"};
  args.insert(args.end(), kind.args.begin(), kind.args.end());
  // A submit that was killed may have been accepted. The same id then returns the same job.
  args.insert(args.end(), {"--submission-id", id, "--output", "file://" + out, "--overwrite"});
  RunResult run;
  if (!Repeat(args, &run)) return false;
  if (!PathExists(out + "/_SUCCESS")) {
    Violation(kind.name + " " + id + " ended with 0 and has no _SUCCESS:\n" + run.err);
    return false;
  }
  std::string got = SortedLines(ReadParts(out));
  if (kind.name == "join") {
    // Each part of a table has its header.
    for (size_t at; (at = got.find("id,a,b\n")) != std::string::npos;) got.erase(at, 7);
  }
  if (got != SortedLines(kind.answer)) {
    Violation(kind.name + " " + id + " gave a wrong answer: " + FirstDifference(got, SortedLines(kind.answer)));
  }
  (void)RemoveTree(out);
  ++jobs_done_;
  return true;
}

void MixedLoad::RunJobs(int client) {
  Rng rng = Rng::Stream(options_.seed, "client" + std::to_string(client));
  for (uint64_t number = 0; !stop_; ++number) {
    ++began_[static_cast<size_t>(client)];
    OneJob(client, number, kinds_[rng.Below(kinds_.size())]);
    ended_[static_cast<size_t>(client)] = began_[static_cast<size_t>(client)].load();
  }
}

void MixedLoad::PutFiles(int client) {
  Rng rng = Rng::Stream(options_.seed, "puts");
  for (uint64_t number = 0; !stop_; ++number) {
    ++began_[static_cast<size_t>(client)];
    const size_t file = rng.Below(files_.size());
    // Some puts replace earlier files. After a put that was not acknowledged, either content may be stored.
    const bool again = number > 0 && rng.Below(4) == 0;
    const std::string path = "/load/put" + std::to_string(again ? rng.Below(number) : number);
    {
      std::lock_guard lock(mutex_);
      put_.erase(path);
    }
    RunResult run;
    if (Repeat({"fs", "put", "--overwrite", files_[file], path}, &run)) {
      std::lock_guard lock(mutex_);
      put_[path] = file;
      ++files_put_;
    }
    ended_[static_cast<size_t>(client)] = began_[static_cast<size_t>(client)].load();
  }
}

bool MixedLoad::WaitForProgress(Duration limit) {
  const Instant end = Now() + limit;
  std::vector<uint64_t> before;
  for (const auto& began : began_) before.push_back(began);
  for (size_t i = 0; i < before.size(); ++i) {
    while (ended_[i] <= before[i]) {
      if (Now() > end) {
        Violation("client " + std::to_string(i) + " hangs");
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  return true;
}

void MixedLoad::Finish() {
  stop_ = true;
  for (std::thread& client : clients_) client.join();
  clients_.clear();
  for (const auto& [path, file] : put_) {
    const RunResult cat = cluster_.Mrctl({"fs", "cat", path});
    const std::string expected = *ReadFile(files_[file]);
    if (cat.exit != 0) {
      Violation("acknowledged, and cannot be read (exit " + std::to_string(cat.exit) +
                (cat.exit == -1 ? ", no answer in time): " : "): ") + path + "\n" + cat.err);
    } else if (cat.out != expected) {
      Violation("acknowledged and changed: " + path + ": " + FirstDifference(cat.out, expected));
    }
  }
}

}  // namespace mr::test
