// Context lines of grep (-A, -B, -C), as GNU grep prints them: -- between groups that do not touch, and - after the
// file and number of a context line.
//
// Context crosses the borders of splits, and no operator sees another's lines. So a first stage searches each split and
// reports only where its first and last selected lines stand. From these numbers each task of the second stage
// derives which lines at the ends of its own splits are context of lines in other splits:
//   borders of each split --broadcast--> grep
// Both stages read the same splits, so their tasks have the same numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "jobs/builtin/builtin.h"
#include "jobs/builtin/line_search.h"

namespace mr::builtin {

// A run of lines that a task reads from one file without a gap: (task, number of the run in the task). The order of
// runs is the order of files and of the lines in them.
using GrepPlace = std::tuple<uint32_t, uint32_t>;

// A run: byte offset in its file; lines; 1 if any is selected; lines before its first selected line; lines after its
// last one.
using GrepBorder = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint64_t>;

// The position of each run of one task among all lines of its file. Pure.
struct GrepRun {
  static constexpr uint64_t kNever = UINT64_MAX;
  uint64_t offset = 0;             // in the file
  uint64_t lines_before = 0;       // in the file
  uint64_t since = kNever;         // lines between the last selected line before the run and the run; in its file
  uint64_t until = kNever;         // lines between the run and the next selected line behind it; in its file
  uint64_t until_inside = kNever;  // lines between the begin of the run and the next selected line, in it or behind
  bool output_before = false;      // an earlier run of any file has a selected line
};

// Returns the runs of `task` in order. Takes the borders of all tasks, in any order.
std::vector<GrepRun> RunsOfTask(std::vector<std::pair<GrepPlace, GrepBorder>> borders, uint32_t task);

void AddGrepContext(Library& library);

// Adds both stages. Config: pattern, ignore_case, invert, file, number, before and after (lines), separator (between
// groups; missing: none).
void PlanGrepContext(const Config& config, JobPlan& plan);

}  // namespace mr::builtin
