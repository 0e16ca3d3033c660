// The chain of waits and attempts that decided when a job ended: each part of the job's time belongs to exactly one
// segment, so the shares add up to one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/report/timeline.h"

namespace mr::report {

enum class SegmentKind : uint8_t {
  kQueue,    // a task that could run had no slot, and no attempt of this job ended to give it one
  kInput,    // no task can run, since their input is not there
  kFailed,   // until a failed or lost attempt was repeated
  kSlow,     // a slow attempt ran until the one that won was launched
  kLaunch,   // from having a slot to the start of the operator's process
  kShuffle,  // copied the outputs of earlier stages
  kCompute,  // ran the operator, read input files, sorted, wrote
  kCommit,   // from the end of the last attempt to the end of the job
  kStop,     // the same of a job that failed or was killed
};
const char* Word(SegmentKind kind);

inline constexpr uint32_t kNoStage = UINT32_MAX;

struct Segment {
  SegmentKind kind = SegmentKind::kCompute;
  uint32_t stage = kNoStage;  // kNoStage: of the job
  size_t attempt = SIZE_MAX;  // index of Timeline::attempts; SIZE_MAX: none
  uint64_t from = 0, to = 0;  // microseconds since the submission
  uint64_t us() const { return to - from; }
};

// The time of all segments of one kind and stage.
struct Share {
  SegmentKind kind = SegmentKind::kCompute;
  uint32_t stage = kNoStage;
  uint64_t us = 0;
  double share = 0;  // of the job's time
};

struct CriticalPath {
  uint64_t us = 0;                // the job's time
  std::vector<Segment> segments;  // in the order of time, without gaps, from 0 to `us`
  std::vector<Share> shares;      // in the order in which they first occur
  // Returns the share of all segments of this kind; of any stage where stage is kNoStage.
  double ShareOf(SegmentKind kind, uint32_t stage = kNoStage) const;
};

// Follows the job back from its end: from the attempt that ended last to the input that it got last, and so on. A wait
// for an upstream output belongs to the attempt that made the output. A wait for a slot that another attempt of this
// job held belongs to that attempt. Cost: n log n in the attempts.
CriticalPath TraceCriticalPath(const JobRun& run, const Timeline& timeline);

// Returns a segment's description for people: "stage map: waited for a slot".
std::string Describe(SegmentKind kind, uint32_t stage, const JobRun& run);

}  // namespace mr::report
