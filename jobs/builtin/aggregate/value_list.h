// The values of list(COLUMN, N): kept after their lengths, and written as a JSON array of strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mr::builtin {

// The most bytes of one list (guess: a record may have 16 MiB, and the state is a part of one).
inline constexpr size_t kMostListBytes = 4u << 20;

// Adds a value. Errors: FinalError if the list gets longer than kMostListBytes.
void AppendListValue(std::string_view value, std::string* list);

// Adds up to `most` of the `count` values of another list. Returns their number. Errors: as AppendListValue.
uint64_t AppendList(std::string_view other, uint64_t count, uint64_t most, std::string* list);

// Returns the list as a JSON array of strings: ["a","b"]. Bytes that are no UTF-8 become U+FFFD.
std::string ListText(std::string_view list);

}  // namespace mr::builtin
