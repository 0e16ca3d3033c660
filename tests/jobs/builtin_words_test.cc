#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "common/base/rng.h"
#include "jobs/builtin/word_table.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Words of all lengths, many of them again and again, and every kind of white space.
std::string RandomText(uint64_t seed, int words) {
  Rng rng(seed);
  std::string text;
  for (int i = 0; i < words; ++i) {
    const uint64_t word = rng.Below(1 + rng.Below(60));
    for (uint64_t n = 0; n <= word % 23; ++n) text += static_cast<char>('a' + (word * 7 + n) % 26);
    text += " \t\n\v\f\r"[rng.Below(6)];
    if (rng.Below(9) == 0) text += "\n";
  }
  return text;
}

std::map<std::string, int64_t> CountByHand(const std::string& text) {
  std::map<std::string, int64_t> counts;
  std::string word;
  for (char c : text + " ") {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      if (!word.empty()) ++counts[word];
      word.clear();
    } else {
      word += c;
    }
  }
  return counts;
}

TEST(WordcountTest, EqualsAPlainCountInEveryShape) {
  const std::string text = RandomText(1, 3000);
  std::vector<std::string> expected;
  for (const auto& [word, n] : CountByHand(text)) expected.push_back(word + "\t" + std::to_string(n));
  for (const LocalOptions& shape : Shapes()) {
    LocalJob job(Builtins(), shape);
    const size_t cut = text.find('\n', text.size() / 2);
    job.Input("a", text.substr(0, cut)).Input("b", text.substr(cut), 1);
    const LocalResult result = job.Run("wordcount");
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(SortedLinesOf(result.Output()), expected) << shape.split_bytes;
    EXPECT_EQ(result.parts.size(), shape.reduces);
    for (const auto& part : result.parts) {
      const auto lines = LinesOf(part);
      EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
    }
  }
}

TEST(WordcountTest, AnEmptyInputGivesEmptyParts) {
  LocalJob job(Builtins());
  job.Input("a", "").Input("b", " \n \t");
  const LocalResult result = job.Run("wordcount");
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_THAT(result.parts, ElementsAre("", "", ""));
}

// The words of texts that end where their memory ends.
class Counts {
 public:
  Counts(size_t max_words, size_t max_bytes) : table_(max_words, max_bytes) {}
  void Add(const std::string& text) {
    const std::vector<char> exact(text.begin(), text.end());
    table_.Count({exact.data(), exact.size()}, flush_);
    for (const auto& [word, n] : CountByHand(text)) expected_[word] += n;
  }
  void Check() {
    table_.Drain(flush_);
    EXPECT_EQ(got_, expected_);
  }

 private:
  WordTable table_;
  std::map<std::string, int64_t> expected_, got_;
  const std::function<void(std::string_view, int64_t)> flush_ = [this](std::string_view word, int64_t n) {
    got_[std::string(word)] += n;
  };
};

TEST(WordTableTest, AFullTableEmptiesItselfAndLosesNothing) {
  for (size_t max_words : {1u, 2u, 7u, 100000u}) {
    Counts counts(max_words, 200);
    Rng rng(max_words);
    for (int i = 0; i < 2000; ++i) {
      std::string text;
      for (uint64_t n = rng.Below(20); n > 0; --n) {
        text += std::string(1 + rng.Below(40), static_cast<char>('a' + rng.Below(26))) + " \n"[rng.Below(2)];
      }
      counts.Add(text);
    }
    counts.Check();
  }
}

TEST(WordTableTest, WordsThatDifferInTheirLengthOrInOneByteAreKeptApart) {
  Counts counts(100000, 100000);
  for (size_t length = 1; length <= 40; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string word(length, '\0');
      counts.Add(word);
      word[at] = 'x';
      counts.Add(" " + word);
    }
  }
  counts.Check();
}

TEST(WordTableTest, TextsOfAnyBytesAreSplitAtWhiteSpace) {
  Rng rng(9);
  for (const size_t max_words : {50u, 100000u}) {
    Counts counts(max_words, 1000);
    for (int i = 0; i < 1000; ++i) {
      std::string text(rng.Below(3000), ' ');
      // From words of one byte to words that are longer than the text.
      const uint64_t space = 1 + rng.Below(1 + rng.Below(4000));
      for (char& c : text) {
        c = rng.Below(space) == 0 ? " \t\n\v\f\r"[rng.Below(6)] : static_cast<char>(rng.Next());
      }
      counts.Add(text);
    }
    counts.Check();
  }
}

TEST(WordTableTest, EmitsInTheOrderOfFirstSight) {
  WordTable table;
  const auto ignore = [](std::string_view, int64_t) { FAIL() << "it was not full"; };
  table.Count("z a z m", ignore);
  std::vector<std::string> order;
  table.Drain([&](std::string_view word, int64_t n) { order.push_back(std::string(word) + std::to_string(n)); });
  EXPECT_THAT(order, ElementsAre("z2", "a1", "m1"));
}

TEST(TopwordsTest, GivesTheCommonestByCountThenByWord) {
  const std::string text = RandomText(2, 3000);
  std::vector<std::pair<int64_t, std::string>> best;
  for (const auto& [word, n] : CountByHand(text)) best.emplace_back(-n, word);
  std::sort(best.begin(), best.end());
  for (const auto& [top, shown] : {std::pair<std::string, size_t>{"3", 3}, {"7", 7}, {"900", best.size()}}) {
    std::string expected;
    for (size_t i = 0; i < std::min(shown, best.size()); ++i) {
      expected += best[i].second + "\t" + std::to_string(-best[i].first) + "\n";
    }
    for (const LocalOptions& shape : Shapes()) {
      LocalJob job(Builtins(), shape);
      job.Input("in", text);
      const LocalResult result = job.Run("topwords", {"--top", top});
      ASSERT_TRUE(result.ok) << result.error;
      EXPECT_THAT(result.parts, ElementsAre(expected));
      EXPECT_EQ(result.counters.at({"sum", "distinct words"}), static_cast<int64_t>(best.size()));
    }
  }
}

TEST(TopwordsTest, RefusesATopThatIsNone) {
  EXPECT_THAT(PlanRefusal("topwords", {"--top", "0"}), HasSubstr("out of range"));
  EXPECT_THAT(PlanRefusal("topwords", {"--topp", "3"}), HasSubstr("did you mean '--top'?"));
}

}  // namespace
}  // namespace mr::builtin
