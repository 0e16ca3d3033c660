// The states of a job that people and scripts see, and their published words.
#pragma once

#include <cstdint>

namespace mr {

// The numbers are those of client.capnp. kUnknown: a state that only a newer master knows.
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

// Returns the published word, such as "RUNNING".
const char* Word(JobState state);
// Returns whether the state is final.
bool Ended(JobState state);

}  // namespace mr
