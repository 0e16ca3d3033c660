// The limit for wordcount: one process, two threads, absl's hash table with XXH3, no engine.
//   count_words_peer THREADS INPUT OUTPUT     lines `word TAB count` in no order
#include <absl/container/flat_hash_map.h>
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "common/base/digest.h"
#include "common/io/files.h"
#include "tests/bench/report.h"

namespace mr::bench {
namespace {

struct Hash {
  size_t operator()(std::string_view s) const { return Hash64(s); }
};

class Counts {
 public:
  void Add(std::string_view word, uint64_t n) {
    const auto it = counts_.find(word);
    if (it != counts_.end()) {
      it->second += n;
    } else {
      counts_.emplace(Keep(word), n);
    }
  }
  const auto& all() const { return counts_; }

 private:
  static constexpr size_t kBlock = 1u << 20;
  std::string_view Keep(std::string_view word) {
    if (blocks_.empty() || blocks_.back().size() + word.size() > blocks_.back().capacity()) {
      blocks_.emplace_back().reserve(std::max(kBlock, word.size()));
    }
    std::string& block = blocks_.back();
    const size_t at = block.size();
    block.append(word);
    return std::string_view(block).substr(at);
  }
  std::deque<std::string> blocks_;
  absl::flat_hash_map<std::string_view, uint64_t, Hash> counts_;
};

bool Space(char c) { return static_cast<unsigned char>(c) <= ' ' && (c == ' ' || (c >= '\t' && c <= '\r')); }

// Counts words that begin in [from, to), into one table per merging thread.
void CountRange(int fd, uint64_t from, uint64_t to, std::vector<Counts>* tables) {
  std::string buffer, word;
  bool skip = from > 0;
  if (from > 0) --from;  // a word that begins earlier belongs to another range
  for (uint64_t at = from;;) {
    buffer.resize(1u << 20);
    const size_t got = OrDie(PreadUpTo(fd, buffer.data(), buffer.size(), at), "reading");
    for (size_t i = 0; i < got;) {
      if (Space(buffer[i])) {
        if (!word.empty()) (*tables)[Hash64(word) >> 32 & (tables->size() - 1)].Add(word, 1);
        word.clear();
        skip = false;
        if (at + i >= to) return;
        ++i;
        continue;
      }
      size_t end = i;
      while (end < got && !Space(buffer[end])) ++end;
      if (!skip && word.empty() && at + i >= to) return;
      if (!skip && word.empty() && end < got) {
        const std::string_view whole(buffer.data() + i, end - i);
        (*tables)[Hash64(whole) >> 32 & (tables->size() - 1)].Add(whole, 1);
      } else if (!skip) {
        word.append(buffer, i, end - i);
      }
      i = end;
    }
    at += got;
    if (got == 0) break;
  }
  if (!word.empty()) (*tables)[Hash64(word) >> 32 & (tables->size() - 1)].Add(word, 1);
}

int Main(size_t threads, const std::string& input, const std::string& output) {
  const UniqueFd in = OrDie(OpenFile(input, O_RDONLY), input);
  const UniqueFd out = OrDie(OpenFile(output, O_WRONLY | O_CREAT | O_TRUNC), output);
  const uint64_t bytes = OrDie(FileSize(input), input);
  std::vector<std::vector<Counts>> tables(threads);
  for (auto& of_thread : tables) of_thread.resize(threads);
  const auto all = [&](auto&& f) {
    std::vector<std::thread> running;
    for (size_t t = 0; t < threads; ++t) running.emplace_back([&f, t] { f(t); });
    for (auto& thread : running) thread.join();
  };
  all([&](size_t t) { CountRange(in.get(), bytes * t / threads, bytes * (t + 1) / threads, &tables[t]); });
  std::vector<std::string> texts(threads);
  all([&](size_t t) {
    for (size_t other = 1; other < threads; ++other) {
      for (const auto& [word, n] : tables[other][t].all()) tables[0][t].Add(word, n);
    }
    for (const auto& [word, n] : tables[0][t].all()) {
      texts[t].append(word).append("\t").append(std::to_string(n)).append("\n");
    }
  });
  for (const auto& text : texts) OrDie(WriteAll(out.get(), text), output);
  std::fflush(nullptr);
  std::_Exit(0);  // skips the destructors of the tables
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  const int threads = argc == 4 ? std::atoi(argv[1]) : 0;
  if (threads < 1 || (threads & (threads - 1)) != 0) {
    std::fprintf(stderr, "usage: count_words_peer THREADS INPUT OUTPUT   (threads: a power of two)\n");
    return 2;
  }
  return mr::bench::Main(static_cast<size_t>(threads), argv[2], argv[3]);
}
