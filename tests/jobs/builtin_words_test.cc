#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
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

TEST(WordTableTest, AFullTableEmptiesItselfAndLosesNothing) {
  for (size_t max_words : {1u, 2u, 7u, 100000u}) {
    WordTable table(max_words, 200);
    std::map<std::string, int64_t> expected, got;
    const auto flush = [&](std::string_view word, int64_t n) { got[std::string(word)] += n; };
    Rng rng(max_words);
    std::deque<std::string> kept;  // words are counted later
    for (int i = 0; i < 20000; ++i) {
      const std::string& word = kept.emplace_back(1 + rng.Below(40), static_cast<char>('a' + rng.Below(26)));
      ++expected[word];
      // With and without bytes behind it that may be looked at.
      const std::string& longer = kept.emplace_back(word + "some other bytes");
      const std::string_view view = i % 2 ? std::string_view(word) : std::string_view(longer).substr(0, word.size());
      table.Count(view, view.data() + (i % 2 ? word.size() : longer.size()), flush);
      if (i % 1000 == 999) table.Settle(flush);
    }
    table.Drain(flush);
    EXPECT_EQ(got, expected);
  }
}

TEST(WordTableTest, WordsThatDifferInTheirLengthOrInOneByteAreKeptApart) {
  WordTable table;
  std::map<std::string, int64_t> expected, got;
  const auto flush = [&](std::string_view word, int64_t n) { got[std::string(word)] += n; };
  std::deque<std::string> kept;
  for (size_t length = 1; length <= 40; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string word(length, '\0');
      word[at] = 'x';
      for (const std::string& each : {word, std::string(length, '\0')}) {
        ++expected[each];
        const std::string& w = kept.emplace_back(each);
        table.Count(w, w.data() + w.size(), flush);
      }
    }
  }
  table.Settle(flush);
  table.Drain(flush);
  EXPECT_EQ(got, expected);
}

TEST(WordTableTest, EmitsInTheOrderOfFirstSight) {
  WordTable table;
  const auto ignore = [](std::string_view, int64_t) { FAIL() << "it was not full"; };
  for (std::string_view word : {"z", "a", "z", "m"}) table.Count(word, word.end(), ignore);
  table.Settle(ignore);
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
