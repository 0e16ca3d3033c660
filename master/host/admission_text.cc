#include "master/host/admission_text.h"

#include <cmath>

#include "common/base/text.h"

namespace mr::master {
namespace {

std::string SlotsText(uint32_t n) { return std::to_string(n) + (n == 1 ? " slot" : " slots"); }

// Returns why the job is not admitted. chain: the words for the chain of tasks on the critical path.
std::string WhyNot(const sched::Admission& a, uint32_t slots, const std::string& chain) {
  switch (a.answer) {
    case sched::Admission::Answer::kAdmitted: break;
    case sched::Admission::Answer::kBelowCriticalPath:
      return chain + " of tasks alone takes about " + HumanDuration(FromSeconds(a.critical_path));
    case sched::Admission::Answer::kTooFewSlots:
      return slots == 0 ? "the cluster has no slots now"
                        : "all " + SlotsText(slots) + " of the cluster are too few for it";
    case sched::Admission::Answer::kTaken:
      return "it needs " + SlotsText(a.slots) + ", and of the cluster's " + std::to_string(slots) + " only " +
             std::to_string(a.available) + (a.available == 1 ? " is" : " are") + " not guaranteed to others";
  }
  return "";
}

std::string OrEarliest(const sched::Admission& a) {
  const Duration earliest = Earliest(a);
  return earliest.ns > 0 ? "; the earliest deadline that can be met is " + HumanDuration(earliest) : "";
}

}  // namespace

Duration Earliest(const sched::Admission& a) {
  if (!std::isfinite(a.earliest)) return {};
  // One percent more, rounded up to the precision of HumanDuration.
  const double more = a.earliest * 1.01, step = more < 60 ? .1 : more < 3600 ? 1 : 60;
  return Millis(static_cast<int64_t>(std::ceil(more / step) * step * 1000));
}

std::string RefusalText(const sched::Admission& a, Duration deadline, uint32_t slots) {
  if (a.answer == sched::Admission::Answer::kAdmitted) return "";
  return "the deadline of " + HumanDuration(deadline) + " cannot be met: " + WhyNot(a, slots, "its longest chain") +
         OrEarliest(a) + " (--best-effort submits it all the same)";
}

std::string LateText(const sched::Admission& a, const sched::Job& job, uint32_t slots) {
  if (a.answer == sched::Admission::Answer::kAdmitted) return "";
  return "the deadline of " + HumanDuration(job.deadline) +
         " after its submission is not likely to be met: " + WhyNot(a, slots, "what is left of its longest chain") +
         OrEarliest(a) + (job.prediction.runs == 0 ? " (by a bound from its input: no earlier run is known)" : "");
}

}  // namespace mr::master
