// Fits events into records of the journal, before the scheduler sees them: what it has decided by an event cannot be
// taken back when the record turns out to be too long.
#pragma once

#include <cstdint>
#include <string>

#include "master/sched/event.h"

namespace mr::master {

// The longest record of a plan, a commit or a takeover. In other records the decisions come on top, 60 bytes for each
// output that is dropped (at most 500,000 per registration): together they stay below journal::kMaxPayload.
inline constexpr size_t kRecordBytes = 63u << 20;

// "WHAT takes 70 MiB of the journal, and 63 MiB is the most"
std::string TooLong(const std::string& what, uint64_t bytes, uint64_t most);

// Makes the event take at most `most` bytes. A plan that is longer becomes the failure of its job. A job that is taken
// over keeps as many of its committed outputs as have room, those of the last stages first, since what these have read
// need not be there any more. The tasks of the others run again.
// Returns: what was left out, in words; "" where nothing was.
std::string FitRecord(sched::Event* event, uint64_t most);

}  // namespace mr::master
