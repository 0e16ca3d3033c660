// Events and decisions in a line, for people who look for what went wrong.
#pragma once

#include <string>

#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::sim {

// "AttemptFinished"
const char* EventName(const sched::Event& event);
// "AttemptFinished of attempt_1_0001_0_m_000003_1 on w2"; the letter is always that of maps.
std::string Describe(const sched::Event& event);
// "Launch attempt_1_0001_0_m_000003_1 on w2 (local_input)"
std::string Describe(const sched::Decision& decision);

}  // namespace mr::sim
