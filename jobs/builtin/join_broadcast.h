// A join that sends its small side whole to each task of the large side, so that the large side is not shuffled:
//   small side's rows (join.table) --broadcast--> join (join.lookup), which reads the large side's splits and writes
// Not for join types that output rows of the small side without a partner: no single task knows them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "jobs/builtin/join_rows.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {

// Largest side that is broadcast by default (guess: a task reads it and builds its table in some tenths of a second,
// about the time of a split of one block).
inline constexpr uint64_t kBroadcastBytes = 32u << 20;
// Smallest ratio of the other side to the broadcast side. Small inputs have up to eight splits
// (master/host/planner.h), so all tasks together read no more of the small side than the large side has.
inline constexpr uint64_t kBroadcastPart = 8;
// A side of up to one split is broadcast whatever the ratio is (kMinSplitBytes in planner.h).
inline constexpr uint64_t kAlwaysBroadcast = 2u << 20;
// Bytes of memory of a table per byte of its file: the sizes of RowTable's records for rows of 20 bytes, doubled for a
// growing table. Beyond its memory ProbeRows uses files.
inline constexpr uint64_t kTableGrowth = 8;
// Fraction of an attempt's memory that rows may use, as elsewhere in the join.
inline constexpr uint64_t kRowsPart = 3;

// Whether tasks may each read a part of the other side and all of this one. The output for a row then must not depend
// on other rows of its side, and no row of this side is output for lack of a partner.
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
// Chooses the side to broadcast. bytes: sizes of the sides' files, if known.
BroadcastChoice ChooseBroadcast(JoinKind kind, const std::array<std::optional<uint64_t>, 2>& bytes,
                                const BroadcastLimits& limits);
// Returns whether any sizes could lead to a broadcast.
bool MayBroadcast(JoinKind kind, const BroadcastLimits& limits);

// Adds the two stages after `found` (FindColumns).
void PlanBroadcastJoin(JoinKind kind, size_t small, const TableFormat& format, const std::array<TableSide, 2>& sides,
                       int64_t left_bytes, const JobPlan::Stage& found, JobPlan* plan);

void AddBroadcastJoin(Library& library);

}  // namespace mr::builtin
