#include "common/model/job_state.h"

namespace mr {

const char* Word(JobState state) {
  switch (state) {
    case JobState::kUnknown: return "UNKNOWN";
    case JobState::kPending: return "PENDING";
    case JobState::kRunning: return "RUNNING";
    case JobState::kCommitting: return "COMMITTING";
    case JobState::kSucceeded: return "SUCCEEDED";
    case JobState::kFailed: return "FAILED";
    case JobState::kKilling: return "KILLING";
    case JobState::kKilled: return "KILLED";
  }
  return "UNKNOWN";
}

bool Ended(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed || state == JobState::kKilled;
}

}  // namespace mr
