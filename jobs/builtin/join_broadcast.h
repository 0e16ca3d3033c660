// A join whose small side is sent whole to each task that reads the large one, so that the large side is not shuffled:
//   small side's rows (join.small) --broadcast--> join (join.probe), which reads the large side's splits and writes
// For a type of join that never asks whether any of the large side's rows met a row of the small one: only all tasks
// together would know.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "jobs/builtin/join_rows.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {

// Of a side that is sent to all tasks, where nobody says otherwise (guess: a task reads it and makes a table of it in
// some tenths of a second, as long as it takes for a split of a block), ...
inline constexpr uint64_t kBroadcastBytes = 32u << 20;
// ... and at most this part of the other side: small inputs have up to eight splits (master/server/planner.h), so that
// the tasks together read no more of the small side than there is of the large one ...
inline constexpr uint64_t kBroadcastPart = 8;
// ... but what one split has is sent in any case (kMinSplitBytes there).
inline constexpr uint64_t kAlwaysBroadcast = 2u << 20;
// Bytes of memory of a table for each byte of its file (by the sizes of RowTable's records, for rows of 20 bytes),
// twice for what a table that grows has for a moment. Where it is more, ProbeRows goes by way of files.
inline constexpr uint64_t kTableGrowth = 8;
// Part of an attempt's memory that rows may take, as elsewhere in the join.
inline constexpr uint64_t kRowsPart = 3;

// Whether tasks may have a part of the other side each and all of this one: what becomes of a row does not depend on
// others of its side, and nothing is said of this side's rows without a partner.
bool MayBeWhole(JoinKind kind, size_t side);

struct BroadcastLimits {
  std::optional<uint64_t> most;  // --broadcast-bytes
  uint64_t left_bytes = 0;       // --left-bytes
  uint64_t memory_bytes = 0;     // of an attempt; 0: not known
};
struct BroadcastChoice {
  std::optional<size_t> side;  // index in kJoinSides; none: both are shuffled
  std::string why;
};
// bytes: of the sides' files; nothing where that is not known.
BroadcastChoice ChooseBroadcast(JoinKind kind, const std::array<std::optional<uint64_t>, 2>& bytes,
                                const BroadcastLimits& limits);
// Whether it can be anything else than a shuffle, whatever the sizes are.
bool MayBroadcast(JoinKind kind, const BroadcastLimits& limits);

// Adds the two stages behind `found` (FindColumns).
void PlanBroadcastJoin(JoinKind kind, size_t small, const TableFormat& format, const std::array<TableSide, 2>& sides,
                       int64_t left_bytes, const JobPlan::Stage& found, JobPlan* plan);

void AddBroadcastJoin(Library& library);

}  // namespace mr::builtin
