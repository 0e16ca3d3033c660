// Names of the facts that dolly and its helpers keep.
#pragma once

#include <cstdint>
#include <string>

#include "master/sched/plan.h"
#include "master/sched/view.h"

namespace mr::sched {

inline constexpr char kOfJob[] = "job";  // id: FactId
inline constexpr char kOfAll[] = "all";  // id: 0
inline constexpr char kUsed[] = "used";  // slots of the budget that admitted phases may hold
// Per phase: clones of each task (if more than one); slots charged to the budget; a ReasonCode.
inline std::string Clones(uint32_t stage) { return "clones/" + std::to_string(stage); }
inline std::string Charged(uint32_t stage) { return "charged/" + std::to_string(stage); }
inline std::string Verdict(uint32_t stage) { return "verdict/" + std::to_string(stage); }

inline constexpr char kDolly[] = "dolly";  // the owner of these facts; a job's own list adds its mark

// Forgets the charges of a policy list that no longer has dolly, since no policy would refund them when jobs end. Keeps
// the statistics of stragglers, which stay valid.
void ForgetCharges(const View& view, Plan* plan);

}  // namespace mr::sched
