#include "master/sched/policies/jockey/reasons.h"

#include "master/sched/reason_text.h"

namespace mr::sched {

namespace {

constexpr ReasonText kJockeyTexts[] = {
    {JockeyReason::kAllotted, "allotted",
     [](const Reason& r) -> std::string {
       return text::Count(r, 0, "slot", "slots") + " guaranteed: " + text::Decimal(r, 2) + " % done after " +
              text::Decimal(r, 3) + " s; " + text::Number(r, 1) + " would be enough, with about " +
              text::Decimal(r, 4) + " s left" +
              (r.numbers.size() > 5 && r.numbers[5] > 0 ? " of a deadline of " + text::Decimal(r, 5) + " s" : "") +
              (r.numbers.size() > 6 ? "; its tasks take " + text::Decimal(r, 6) + " times as long as before" : "");
     }},
    {JockeyReason::kNotSteered, "not_steered",
     [](const Reason&) -> std::string {
       return "no slots are guaranteed any more: the list of policies has none that steers by deadlines";
     }},
    {JockeyReason::kNoDeadline, "no_deadline",
     [](const Reason&) -> std::string { return "no slots are guaranteed any more: the job has no deadline now"; }},
};

}  // namespace

std::span<const ReasonText> JockeyReasons() { return kJockeyTexts; }

}  // namespace mr::sched
