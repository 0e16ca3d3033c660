// Inputs for end-to-end tests and the answers that coreutils give for them, computed at test time.
#pragma once

#include <string>
#include <vector>

#include "tests/support/cluster.h"

namespace mr::test {

// Runs `sh -c script` under LC_ALL=C and pipefail-like strictness; its output. Fails the test where
// the script does not exit with 0.
std::string Shell(const std::string& script, Duration limit = Seconds(120));

// Writes the King James Bible (Debian's bible-kjv), 4.4 MB of text, to `path`; with max_bytes the
// first so many bytes of it, cut behind a line.
void WriteBible(const std::string& path, uint64_t max_bytes = 0);

// All part files of an output directory, in order, as one string. Fails the test where _SUCCESS is
// missing or a name is neither a part, nor hidden.
std::string ReadParts(const std::string& directory);

// The text's lines, sorted by bytes (part order of hash-partitioned output carries no meaning).
std::string SortedLines(const std::string& text);

// "word TAB count" lines, sorted: tr | sort | uniq -c.
std::string ExpectedWordCount(const std::string& input);

// The field "digest" of an output's _SUCCESS: of all parts, whatever their order of arrival.
std::string OutputDigest(const std::string& directory);

// Deterministic text: `lines` lines of 1 to 12 words, skewed like words are. seed: another text.
void WriteWords(const std::string& path, uint64_t lines, uint64_t seed);

}  // namespace mr::test
