// The built-in jobs: each file adds its operators and its job to the library's table. They use the
// SDK alone, as a user's library does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "paceline/context.h"
#include "paceline/library.h"

namespace mr::builtin {

// Most operators here: equal input gives equal output, and nothing stays behind in the process.
inline constexpr uint32_t kPure = MR_DETERMINISTIC | MR_REUSABLE;

// By a part of the key, where all keys with that part belong together (FNV-1a, folded).
inline uint32_t PartitionOf(std::string_view part, uint32_t partitions) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : part) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return static_cast<uint32_t>((hash ^ hash >> 32) % partitions);
}

// Bytes that a table of an operator may grow to: `most`, or a sixteenth of what its attempt may have where that is less
// (guess: growing takes three times as much for a moment).
inline size_t TableBytes(size_t most) {
  const uint64_t limit = Context::memory_limit();
  return limit == 0 ? most : std::min<size_t>(most, limit / 16);
}

// Of job sort, which terasort has as one of its parts.
void PlanSort(const std::vector<std::string>& args, JobPlan& plan);

void AddAggregate(Library& library);
void AddDistinct(Library& library);
void AddGrep(Library& library);
void AddIdle(Library& library);
void AddInvertedIndex(Library& library);
void AddJoin(Library& library);
void AddPageRank(Library& library);
void AddSessionize(Library& library);
void AddSort(Library& library);
void AddStream(Library& library);
void AddTables(Library& library);
void AddTeraSort(Library& library);
void AddTopK(Library& library);
void AddTopwords(Library& library);
void AddTriangles(Library& library);
void AddWordcount(Library& library);

inline void AddAll(Library& library) {
  AddWordcount(library);
  AddTopwords(library);
  AddGrep(library);
  AddSort(library);
  AddTables(library);
  AddJoin(library);
  AddAggregate(library);
  AddDistinct(library);
  AddTopK(library);
  AddTeraSort(library);
  AddInvertedIndex(library);
  AddSessionize(library);
  AddStream(library);
  AddTriangles(library);
  AddPageRank(library);
  AddIdle(library);
}

}  // namespace mr::builtin
