// Writes inputs for end-to-end tests and computes the expected answers by coreutils, at test time.
#pragma once

#include <string>
#include <vector>

#include "tests/support/cluster.h"

namespace mr::test {

// Runs `sh -c script` with LC_ALL=C and pipefail-like strictness, and returns its output. Fails the test if the script
// does not exit with 0.
std::string Shell(const std::string& script, Duration limit = Seconds(120));

// Writes the King James Bible (Debian's bible-kjv), 4.4 MB of text, to `path`. max_bytes: writes at most its first
// bytes, up to the end of a line; 0: all.
void WriteBible(const std::string& path, uint64_t max_bytes = 0);

// Returns the content of all part files of an output directory, in order. Fails the test if _SUCCESS is missing, or if
// a file is neither a part nor hidden.
std::string ReadParts(const std::string& directory);

// Returns the text's lines, sorted by bytes: the order of hash-partitioned parts has no meaning.
std::string SortedLines(const std::string& text);

// Returns sorted lines "word TAB count", computed by tr | sort | uniq -c.
std::string ExpectedWordCount(const std::string& input);

// Returns the field "digest" of an output's _SUCCESS. It covers all parts and does not depend on their order.
std::string OutputDigest(const std::string& directory);

// Writes a deterministic text: `lines` lines of 1 to 12 words, with word frequencies as skewed as in natural text. Each
// seed gives another text.
void WriteWords(const std::string& path, uint64_t lines, uint64_t seed);

}  // namespace mr::test
