#include "master/sched/policies/mantri/reasons.h"

#include "master/sched/reason_text.h"

namespace mr::sched {

namespace {

constexpr ReasonText kMantriTexts[] = {
    {MantriReason::kRedoCostsMore, "redo_costs_more",
     [](const Reason& r) -> std::string {
       return "a replica takes " + text::Decimal(r, 1) + " s to make; the loss of the output would cost " +
              text::Decimal(r, 0) + " s, weighted by how often outputs are lost there";
     }},
    {MantriReason::kWorkerSuspected, "worker_suspected",
     [](const Reason& r) -> std::string {
       return "made a second time: a read from worker w" + text::Number(r, 0) + ", which holds it, has failed";
     }},
    {MantriReason::kRestartSooner, "restart_sooner",
     [](const Reason& r) -> std::string {
       return "restarted elsewhere: it had " + text::Decimal(r, 0) + " s left, and a new attempt takes " +
              text::Decimal(r, 1) + " s (sooner by more than a report period, " + text::Decimal(r, 2) + " s)";
     }},
    {MantriReason::kSpeculativeSaves, "copy_saves",
     [](const Reason& r) -> std::string {
       return "speculative attempt while tasks wait: " + text::Decimal(r, 0) + " s are left, and with a chance of " +
              text::Number(r, 1) + " % one more attempt takes fewer slot-seconds than the " + text::Number(r, 2) +
              " that ran" +
              (r.numbers.size() > 3 && r.numbers[3] > 1 ? ", even if a waiting task takes " + text::Decimal(r, 3) +
                                                              " times as long in the slot that is freed"
                                                        : "");
     }},
    {MantriReason::kSpeculativeSooner, "copy_sooner",
     [](const Reason& r) -> std::string {
       return "speculative attempt: the task has " + text::Decimal(r, 0) + " s left, and a new attempt takes " +
              text::Decimal(r, 1) + " s";
     }},
    {MantriReason::kSlowestAttempt, "slowest_copy",
     [](const Reason& r) -> std::string {
       return "the slowest attempt of its task, with " + text::Decimal(r, 0) + " s left: only the fastest " +
              text::Number(r, 1) + " are kept";
     }},
    {MantriReason::kLargestInput, "largest_input",
     [](const Reason& r) -> std::string {
       return "of " + text::Count(r, 1, "waiting task", "waiting tasks") + " it has the most to read (" +
              text::Number(r, 0) + " bytes)";
     }},
    {MantriReason::kReplicaElsewhere, "copy_elsewhere",
     [](const Reason& r) -> std::string {
       return "worker w" + text::Number(r, 0) + " could not make the replica (try " + text::Number(r, 1) + ")";
     }},
    {MantriReason::kFewTold, "few_told",
     [](const Reason& r) -> std::string {
       return "not judged yet: " + text::Count(r, 0, "attempt of its stage shows", "attempts of its stage show") +
              " how long one takes; at least " + text::Number(r, 1) + " must, and half of those that have begun";
     }},
    {MantriReason::kNoEstimate, "no_estimate",
     [](const Reason& r) -> std::string {
       return "not judged yet: in " + text::Decimal(r, 0) +
              " s it has not reported enough to estimate the time left, and has not taken longer than others did";
     }},
    {MantriReason::kEnoughAttempts, "copies_enough",
     [](const Reason& r) -> std::string {
       return "without another attempt: " + text::Count(r, 0, "attempt of its task runs", "attempts of its task run") +
              ", and no more may run at a time";
     }},
    {MantriReason::kSavesLittle, "saves_little",
     [](const Reason& r) -> std::string {
       return "without a speculative attempt: " + text::Decimal(r, 0) + " s are left, and a new attempt takes " +
              text::Decimal(r, 1) + " s; once all tasks have begun, a new attempt must save more than " +
              text::Decimal(r, 2) + " s";
     }},
    {MantriReason::kSavesLittleNow, "saves_little_now",
     [](const Reason& r) -> std::string {
       const std::string restart = r.numbers.size() < 6 || r.numbers[5] == 1
                                       ? "it must be sooner by more than a report period, " + text::Decimal(r, 2) + " s"
                                       : "there must be more than " + text::Number(r, 5) +
                                             " times that left and a report period, " + text::Decimal(r, 2) + " s";
       return "not restarted, and without a speculative attempt: " + text::Decimal(r, 0) +
              " s are left, and a new attempt takes " + text::Decimal(r, 1) + " s; while tasks wait, " + restart +
              ", or it must save slot time with a chance above " + text::Number(r, 4) + " %, and that is " +
              text::Number(r, 3) + " %";
     }},
    {MantriReason::kSlowSlot, "slow_slot",
     [](const Reason& r) -> std::string {
       return "not restarted, and without a speculative attempt: " + text::Decimal(r, 0) +
              " s are left, and a new attempt takes " + text::Decimal(r, 1) +
              " s elsewhere, but this worker is slow for others, too: a waiting task would take " +
              text::Decimal(r, 2) + " s in this slot";
     }},
    {MantriReason::kPays, "pays",
     [](const Reason& r) -> std::string {
       return "slow: " + text::Decimal(r, 0) + " s are left, and a new attempt takes " + text::Decimal(r, 1) +
              " s: it is restarted or gets a speculative attempt as soon as a worker that never ran its task has a "
              "free "
              "slot";
     }},
};

}  // namespace

std::span<const ReasonText> MantriReasons() { return kMantriTexts; }

}  // namespace mr::sched
