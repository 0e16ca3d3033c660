#include "master/sched/policies/dolly/reasons.h"

#include "master/sched/reason_text.h"

namespace mr::sched {

namespace {

constexpr ReasonText kDollyTexts[] = {
    {DollyReason::kCloned, "cloned",
     [](const Reason& r) -> std::string {
       return "each of " + text::Count(r, 1, "task", "tasks") + " runs as " + text::Count(r, 0, "attempt", "attempts") +
              ": an attempt straggles with a chance of " + text::Decimal(r, 2) + " %";
     }},
    {DollyReason::kOwnReplica, "own_copy",
     [](const Reason& r) -> std::string {
       return "a replica that no other clone of its task reads, finished " + text::Decimal(r, 0) + " s after the first";
     }},
    {DollyReason::kSharedReplica, "shared_copy",
     [](const Reason& r) -> std::string {
       return "a replica that it shares (" + text::Count(r, 0, "reader", "readers") + "): after " +
              text::Decimal(r, 1) + " s there was none for it alone";
     }},
    {DollyReason::kNoMoreReplicas, "no_more_copies",
     [](const Reason& r) -> std::string {
       return "its output has " + text::Count(r, 0, "replica", "replicas") + ", and readers have waited " +
              text::Decimal(r, 1) + " s for another";
     }},
    {DollyReason::kIdleSlot, "idle_slot",
     [](const Reason& r) -> std::string {
       return "a clone on an idle slot (" + text::Count(r, 1, "slot", "slots") + " free on this worker), beside " +
              text::Count(r, 0, "attempt", "attempts") + " of its task; it ends as soon as other work can use the slot";
     }},
    {DollyReason::kToldNothing, "told_nothing",
     [](const Reason&) -> std::string {
       return "it read only the replicas that a policy named, and the list of policies has no such policy any more; "
              "its task runs again";
     }},
    {DollyReason::kSpareClone, "spare_copy",
     [](const Reason& r) -> std::string {
       return "a clone on an idle slot that would only have made a further replica, since its task is done; its slot "
              "is "
              "needed: " +
              text::Count(r, 0, "task waits", "tasks wait") + " that can use it";
     }},
    {DollyReason::kNoBudget, "no_budget",
     [](const Reason& r) -> std::string {
       return "not cloned: clones would take " + text::Count(r, 0, "slot", "slots") + ", and of the " +
              text::Number(r, 2) + " for clones " + text::Number(r, 1) + " are in use";
     }},
    {DollyReason::kTooBusy, "too_busy",
     [](const Reason& r) -> std::string {
       return "not cloned: clones would take " + text::Count(r, 0, "slot", "slots") + ", and with " +
              text::Number(r, 1) + " in use the cluster may fill " + text::Number(r, 2);
     }},
    {DollyReason::kCloneEnough, "clone_enough",
     [](const Reason& r) -> std::string {
       return "not cloned: one attempt each is enough for " + text::Count(r, 0, "task", "tasks") +
              ", since tasks straggle with a chance of " + text::Decimal(r, 1) +
              " %, or since there are too few workers";
     }},
    {DollyReason::kNotSmall, "not_small",
     [](const Reason& r) -> std::string {
       return "not cloned on an idle slot: its phase has " + text::Count(r, 0, "task", "tasks") +
              ", and only phases of at most " + text::Number(r, 1) + " get such clones";
     }},
    {DollyReason::kNoIdleSlot, "no_idle_slot",
     [](const Reason& r) -> std::string {
       return "not cloned on an idle slot now: no worker without an attempt of its task is idle enough (" +
              text::Count(r, 0, "worker", "workers") + " with a free slot)";
     }},
    {DollyReason::kRandomOperator, "random_operator",
     [](const Reason&) -> std::string {
       return "not cloned on an idle slot: its operator, or one whose outputs it reads, gave different content for "
              "equal input";
     }},
    {DollyReason::kQueueFull, "queue_full",
     [](const Reason& r) -> std::string {
       return "not cloned on an idle slot: its queue holds " + text::Count(r, 0, "slot", "slots") + " of at most " +
              text::Number(r, 1) + ", and clones leave the last one to tasks that wait in it";
     }},
    {DollyReason::kDoesNotPay, "does_not_pay",
     [](const Reason& r) -> std::string {
       return "not cloned on an idle slot: such clones shorten phases of its size by " + text::Decimal(r, 0) +
              " ms per slot-second, and at least " + text::Decimal(r, 1) + " ms are asked";
     }},
    {DollyReason::kShareSpent, "share_spent",
     [](const Reason& r) -> std::string {
       const std::string share = "not cloned: such clones may take " + text::Decimal(r, 0) + " % of all slot time";
       return r.numbers.size() < 3
                  ? share + ", and the credit of the jobs that ended did not cover its clones when its phase began"
                  : share + ", and have " + text::Decimal(r, 1) + " slot-seconds left; smaller phases keep " +
                        text::Decimal(r, 2);
     }},
    {DollyReason::kFailedTwice, "failed_twice",
     [](const Reason& r) -> std::string {
       return "not cloned: since its task last committed " + text::Count(r, 0, "attempt", "attempts") +
              " of it failed, and a task that has failed twice gets no clones";
     }},
    {DollyReason::kSmallerPhase, "smaller_phase",
     [](const Reason& r) -> std::string {
       return "preempted: a clone; the clones of a smaller phase (" + text::Count(r, 1, "task", "tasks") + ") lack " +
              text::Count(r, 0, "slot", "slots") + " of the budget";
     }},
};

}  // namespace

std::span<const ReasonText> DollyReasons() { return kDollyTexts; }

}  // namespace mr::sched
