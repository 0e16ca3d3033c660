// The keys between the stages of job aggregate: (group, tag, value). Tag 0 marks the states of all measures. Tag 1 + n
// marks a value of stream n (measure.h), so that a group's values are reduced one after the other, without memory. All
// records of a group go to one partition.
//
// The values of these records: a state has a byte kStates and the states of the measures. A text of a stream has no
// value. A number of a stream has a byte kTimes and its multiplicity.
#pragma once

#include <cstddef>
#include <string_view>

namespace mr::builtin::group_key {

inline constexpr char kStates = 0, kTimes = 1;

// Returns the bytes of the group within a key. Its columns are escaped and terminated like those of tuples (codec.h).
inline size_t GroupBytes(std::string_view key, size_t columns) {
  std::string_view rest = key;
  for (size_t i = 0; i < columns; ++i) {
    for (size_t zero; (zero = rest.find('\0')) != rest.npos && zero + 1 < rest.size();) {
      const bool end = rest[zero + 1] == '\0';
      rest.remove_prefix(zero + 2);
      if (end) break;
    }
  }
  return key.size() - rest.size();
}

}  // namespace mr::builtin::group_key
