#include "tests/master/sched/random_order/reasons.h"

#include "master/sched/reason_text.h"

namespace mr::sched {

namespace {

// The name has the policy in it, since files are compiled in groups and share their unnamed namespace.
constexpr ReasonText kRandomOrderTexts[] = {
    {RandomOrderReason::kDrawn, "drawn",
     [](const Reason& r) -> std::string { return "drawn from " + text::Count(r, 0, "task", "tasks"); }},
};

}  // namespace

std::span<const ReasonText> RandomOrderReasons() { return kRandomOrderTexts; }

}  // namespace mr::sched
