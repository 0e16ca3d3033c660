// SQL functions beside SQLite's own, and functions that expressions may not call.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string_view>

namespace mr::expr {

// The state of random(): equal for equal rows, in all attempts of a task.
struct RowRandom {
  uint64_t seed = 0;
  uint64_t position = 0;  // of the row
  uint64_t calls = 0;     // in this row
};

// Adds to the database:
//   X REGEXP P, regexp(P, X)          1 if the RE2 pattern P matches a part of X
//   regexp_extract(X, P [, GROUP])    the first match of P in X, or a group of it; NULL without one
//   regexp_replace(X, P, R)           X with all matches of P replaced; \1 in R is group 1
//   split_part(X, SEPARATOR, N)       part N of X, from 1, or from the end if N < 0; '' if there are fewer
//   to_time(X [, FORMAT])             seconds since 1970 of a time, in a format of times.h; an error for other texts
//   time_text(T [, FORMAT])           the text of such seconds, in UTC
//   cast_argument(X, TYPE)            X; an error for a text that is no number. The engine writes it into each CAST
//   random()                          a whole number from the row's position
// random: must live as long as the database. Errors: throws std::bad_alloc.
void AddFunctions(sqlite3* db, RowRandom* random);

// The start of the message for a pattern that RE2 refuses.
inline constexpr std::string_view kInvalidPattern = "the pattern '";

// The start of the message for a format of times that does not exist.
inline constexpr std::string_view kInvalidTimeFormat = "the time format ";

// The function that checks the argument of a CAST to a number, and values of TYPE; the third one is REAL.
inline constexpr const char* kCastArgument = "cast_argument";
inline constexpr std::string_view kCastToInteger = "INTEGER", kCastToNumeric = "NUMERIC";

// Returns whether expressions may call a function: its result follows from its arguments, the row and the constants.
bool MayCall(const char* function);

}  // namespace mr::expr
