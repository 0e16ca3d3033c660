// The states of a job that people and scripts see, and their published words.
#pragma once

#include <cstdint>

namespace mr {

// Numbers as in client.capnp. kUnknown: of a newer master.
enum class JobState : uint8_t {
  kUnknown = 0,
  kPending = 1,
  kRunning = 2,
  kCommitting = 3,
  kSucceeded = 4,
  kFailed = 5,
  kKilling = 6,
  kKilled = 7,
};

// "RUNNING"
const char* Word(JobState state);
// Nothing changes any more.
bool Ended(JobState state);

}  // namespace mr
