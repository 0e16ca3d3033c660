// Describes events and decisions in one line each, for debugging.
#pragma once

#include <string>

#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::sim {

// Returns the kind, as "AttemptFinished". The kinds are keys in JSON output and stay as published.
const char* EventName(const sched::Event& event);
// Returns "AttemptFinished of attempt_1_0001_0_m_000003_1 on w2". The letter of a task is always that of maps.
std::string Describe(const sched::Event& event);
// Returns "Launch attempt_1_0001_0_m_000003_1 on w2 (local_input)".
std::string Describe(const sched::Decision& decision);

}  // namespace mr::sim
