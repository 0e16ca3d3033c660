// The columns of a terminal that a text takes. Texts are UTF-8 of any origin: bytes that are not, and control
// characters, take a column as '?'. Pure; independent of the locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mr::ctl {

// Returns the width: 2 for wide characters (CJK, emoji), 0 for combining marks, 1 for others.
size_t Columns(std::string_view text);

// Returns the beginning of the text that fits in so many columns, never a part of a character, with '?' for what a
// terminal should not get. A line end is such a character.
std::string CutToColumns(std::string_view text, size_t columns);

// Returns the text in exactly so many columns: cut with '~' at its end, or padded with spaces.
std::string FitToColumns(std::string_view text, size_t columns);

}  // namespace mr::ctl
