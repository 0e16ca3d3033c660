// The built-in jobs. Each file adds its operators and its job to the library's table. Like a user's library, they use
// only the SDK.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "paceline/context.h"
#include "paceline/library.h"

namespace mr::builtin {

// Flags of most operators here: equal input gives equal output, and no state stays in the process.
inline constexpr uint32_t kPure = MR_DETERMINISTIC | MR_REUSABLE;

// Returns the partition of a part of the key (FNV-1a, folded), so that all keys with that part are together.
inline uint32_t PartitionOf(std::string_view part, uint32_t partitions) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : part) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return static_cast<uint32_t>((hash ^ hash >> 32) % partitions);
}

// Returns the bytes to which an operator's table may grow: `most`, or a sixteenth of the attempt's memory limit if that
// is less (guess: growing takes three times as much for a moment).
inline size_t TableBytes(size_t most) {
  const uint64_t limit = Context::memory_limit();
  return limit == 0 ? most : std::min<size_t>(most, limit / 16);
}

// The plan of job sort, which is also a part of terasort.
void PlanSort(const std::vector<std::string>& args, JobPlan& plan);

void AddAggregate(Library& library);
void AddDistinct(Library& library);
void AddGrep(Library& library);
void AddIdle(Library& library);
void AddInvertedIndex(Library& library);
void AddJoin(Library& library);
void AddParse(Library& library);
void AddPageRank(Library& library);
void AddSelect(Library& library);
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
  AddParse(library);
  AddSelect(library);
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
