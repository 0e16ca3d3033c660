// The project's words: what it no longer says, and how often it still does. The numbers only shrink.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace mr::tidy {
namespace {

struct Banned {
  const char* words;
  size_t left;  // lines of the tree that have them: lower it with each one that goes
  const char* instead;
};

constexpr Banned kBanned[] = {
    {"// Of ", 0, "a noun phrase or a sentence: \"Jobs that ...\""},
    {"// What ", 0, "a noun phrase, or a verb: \"Returns the ...\""},
    {"// Who ", 0, "the field's noun: the reader, the caller, the worker"},
    {"// Whose ", 0, "a sentence of its own"},
    {"// As ", 0, "say it, or name what it is like: \"Like Erase, but ...\""},
    {"// Made for ", 0, "say when it is sent or called"},
    {"lately", 0, "recent, recently"},
    {"foretell", 0, "predict"},
    {"foretold", 0, "predicted"},
    {"is told", 0, "receives, is notified of"},
    {"are told", 0, "receive, are notified of"},
    {"was told", 0, "received"},
    {"be told", 0, "receive, be notified of"},
    {"tells", 2, "reports, returns, logs"},
    {"be had", 0, "is possible, is available"},
    {"no news", 0, "expected, not an error"},
    {"for who ", 0, "for callers that"},
    {"for whom", 0, "for callers that"},
    {"must not read one at a time", 0, "not safe for concurrent use"},
    {"papers.md", 0, "the paper and its section"},
    {"design.md", 0, "the fact: no page outside the tree"},
    {"reliability.md", 0, "the fact: no page outside the tree"},
    {"limits.md", 0, "the fact: no page outside the tree"},
    {"speculative copy", 0, "speculative attempt"},
    {"speculative copies", 0, "speculative attempts"},
    {"begun anew", 0, "restarted"},
    {"of which", 0, "two sentences"},
    {"whom", 0, "that, which"},
};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Letters beside it would make it another word.
bool Has(const std::string& line, const std::string& words) {
  for (size_t at = line.find(words); at != std::string::npos; at = line.find(words, at + 1)) {
    const size_t end = at + words.size();
    const bool begins = !IsWord(words.front()) || at == 0 || !IsWord(line[at - 1]);
    const bool ends = !IsWord(words.back()) || end == line.size() || !IsWord(line[end]);
    if (begins && ends) return true;
  }
  return false;
}

// Prose stands in code, schemas and pages. This folder names the words.
bool IsProse(const SourceFile& file) {
  return (IsCode(file) || EndsWith(file.path, ".md") || EndsWith(file.path, ".capnp")) &&
         !StartsWith(file.path, "tests/tidy/");
}

TEST(WordsTest, MatchesWholeWordsOnly) {
  EXPECT_TRUE(Has("  // Of jobs that have not ended.", "// Of "));
  EXPECT_FALSE(Has("  // Offers come later.", "// Of "));
  EXPECT_TRUE(Has("the worker is told.", "is told"));
  EXPECT_FALSE(Has("a basis toldo", "is told"));
}

TEST(WordsTest, WhatIsBannedOnlyGetsLess) {
  std::vector<std::vector<std::string>> found(std::size(kBanned));
  for (const SourceFile& file : SourceTree()) {
    if (!IsProse(file)) continue;
    size_t number = 0;
    for (const std::string& line : file.lines()) {
      ++number;
      for (size_t i = 0; i < std::size(kBanned); ++i) {
        if (Has(line, kBanned[i].words)) found[i].push_back(file.path + ":" + std::to_string(number));
      }
    }
  }
  for (size_t i = 0; i < std::size(kBanned); ++i) {
    const Banned& banned = kBanned[i];
    if (found[i].size() < banned.left) {
      ADD_FAILURE() << '"' << banned.words << "\" is left in " << found[i].size() << " lines: lower its number in "
                    << __FILE__;
    }
    if (found[i].size() <= banned.left) continue;
    std::string places;
    for (size_t k = 0; k < std::min<size_t>(found[i].size(), 400); ++k) places += "\n  " + found[i][k];
    ADD_FAILURE() << '"' << banned.words << "\" stands in " << found[i].size() << " lines, " << banned.left
                  << " are left to be rewritten; write " << banned.instead << ". Lines:" << places;
  }
}

}  // namespace
}  // namespace mr::tidy
