#include "master/sched/policies/late/reasons.h"

#include <cmath>

#include "master/sched/reason_text.h"

namespace mr::sched {

namespace {

// Version 24 and before gave two numbers.
std::string TimesAsked(const Reason& r) {
  if (r.numbers.size() < 4 || r.numbers[2] == 1) return "";
  const char* const why = r.numbers[2] > r.numbers[3] ? ", since the last speculative attempts saved little" : "";
  return "; more than " + text::Decimal(r, 2) + " times as long is asked" + why;
}

// Returns a rate in percent per second. Where tasks take milliseconds, their exact rates are noise.
std::string LateRate(const Reason& r, size_t i) {
  constexpr double kMost = 1000;
  return i < r.numbers.size() && r.numbers[i] > kMost ? "more than 1000" : text::Decimal(r, i);
}

constexpr ReasonText kLateTexts[] = {
    {LateReason::kLongestToEnd, "longest_to_end",
     [](const Reason& r) -> std::string {
       return "speculative attempt: the task is slow, at " + LateRate(r, 1) + " % per second against a limit of " +
              LateRate(r, 2) +
              (!r.numbers.empty() && std::isinf(r.numbers[0])  // version 18 and before
                   ? ", and has not moved yet"
                   : ", and of the slow ones it would end last, in " + text::Decimal(r, 0) + " s");
     }},
    {LateReason::kNotSlow, "not_slow",
     [](const Reason& r) -> std::string {
       return "without a speculative attempt: it is not slow, at " + LateRate(r, 0) +
              " % per second against a limit of " + LateRate(r, 1);
     }},
    {LateReason::kNoGain, "no_gain",
     [](const Reason& r) -> std::string {
       return "without a speculative attempt: it would end in " + text::Decimal(r, 0) +
              " s, and a new attempt would take " + text::Decimal(r, 1) + " s" + TimesAsked(r);
     }},
    {LateReason::kNoGainByCopying, "no_gain_by_copying",
     [](const Reason& r) -> std::string {
       return "without a speculative attempt: it copies its input and would end in " + text::Decimal(r, 0) +
              " s. A new attempt would take " + text::Decimal(r, 1) +
              " s and copy through the same links, so more than " + text::Decimal(r, 2) + " times as long is asked";
     }},
    {LateReason::kAtCap, "at_cap",
     [](const Reason& r) -> std::string {
       return "without a speculative attempt now: " +
              text::Count(r, 0, "speculative attempt runs", "speculative attempts run") +
              " already, and no more may run at a time";
     }},
    {LateReason::kSlowButNotYet, "slow_but_not_yet",
     [](const Reason& r) -> std::string {
       return "slow, at " + LateRate(r, 1) + " % per second against a limit of " + LateRate(r, 2) + " and with " +
              text::Decimal(r, 0) +
              " s to go: it gets a speculative attempt as soon as a worker that never ran its task, and is not slow, "
              "has a free slot";
     }},
    {LateReason::kNotReported, "not_reported",
     [](const Reason& r) -> std::string {
       return "without a speculative attempt: it has run " + text::Decimal(r, 0) +
              " s without a report, and one is overdue after " + text::Decimal(r, 1) + " s";
     }},
    {LateReason::kOutpaced, "outpaced",
     [](const Reason& r) -> std::string {
       return "a speculative attempt that gains too little: it would end in " + text::Decimal(r, 0) +
              " s, and the attempt that it should beat in " + text::Decimal(r, 1) + " s";
     }},
    {LateReason::kSlowNode, "slow_node",
     [](const Reason& r) -> std::string {
       return "no speculative attempts of " + text::JobName(r) + " there: its attempts made " + text::Decimal(r, 2) +
              " tasks' worth of progress, and workers below " + text::Decimal(r, 3) + " count as slow";
     }},
};

}  // namespace

std::span<const ReasonText> LateReasons() { return kLateTexts; }

}  // namespace mr::sched
