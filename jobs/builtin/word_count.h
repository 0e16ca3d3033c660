// The map side of wordcount and topwords.
#pragma once

#include <string_view>

#include "jobs/builtin/builtin.h"
#include "jobs/builtin/word_table.h"
#include "paceline/operator.h"

namespace mr::builtin {

// Counts runs of ASCII letters, in lower case.
class CountLetterWords : public BlockMapper<std::string, int64_t> {
 public:
  void Map(const Block& block, Out& out) {
    const auto flush = [&out](std::string_view word, int64_t count) { out.Emit(word, count); };
    // Replaces all other bytes by blanks, in a copy, so that only the words remain.
    letters_.assign(block.text);
    for (char& c : letters_) {
      const char lower = static_cast<char>(c | 0x20);
      c = lower >= 'a' && lower <= 'z' ? lower : ' ';
    }
    table_.Count(letters_, flush);
  }
  void End(Out& out) {
    table_.Drain([&out](std::string_view word, int64_t count) { out.Emit(word, count); });
  }

 private:
  std::string letters_;
  WordTable table_{TableBytes(WordTable::kMostBytes)};
};

// Emits (word, count). Most words of a task have been summed already.
class CountWords : public BlockMapper<std::string, int64_t> {
 public:
  void Map(const Block& block, Out& out) {
    const auto flush = [&out](std::string_view word, int64_t count) { out.Emit(word, count); };
    table_.Count(block.text, flush);
  }
  void End(Out& out) {
    table_.Drain([&out](std::string_view word, int64_t count) { out.Emit(word, count); });
  }

 private:
  WordTable table_{TableBytes(WordTable::kMostBytes)};
};

}  // namespace mr::builtin
