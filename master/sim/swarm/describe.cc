#include "master/sim/swarm/describe.h"

#include <iterator>

#include "master/sched/reason.h"

namespace mr::sim {

namespace {

constexpr const char* kEventNames[] = {
    "ConfigChanged", "WorkerRegistered", "WorkerLost",      "WorkerDraining",  "JobSubmitted",   "JobKillAsked",
    "StagePlanned",  "AttemptStarted",   "AttemptProgress", "AttemptFinished", "AttemptFailed",  "AttemptRefused",
    "AttemptKilled", "FetchDone",        "FetchFailed",     "CopyMade",        "CopyLost",       "ProfileLoaded",
    "TimerDue",      "JobTakenOver",     "QueueSet",        "CopyNotMade",     "OperatorsKnown", "WorkerAway",
    "JobSet",        "LeaseSet",         "JobGivenUp",      "InputsMissing",   "OutputsLeaving"};
static_assert(std::size(kEventNames) == std::variant_size_v<sched::Event>, "a new event has a name here");

// Names need a letter, which is not known here: use that of maps.
std::string Subject(const AttemptId& id) { return Name(id, TaskLetter::kMap); }

constexpr const char* kDecisionNames[] = {"Launch",
                                          "Bind",
                                          "Kill",
                                          "TakeBack",
                                          "Accept",
                                          "Refuse",
                                          "ReplicateOutput",
                                          "DropReplica",
                                          "PlanStage",
                                          "SetShare",
                                          "CommitJob",
                                          "FailJob",
                                          "MarkIndeterminate",
                                          "Remember",
                                          "WakeAt",
                                          "Spare"};
static_assert(std::size(kDecisionNames) == std::variant_size_v<sched::Decision>, "a new decision has a name here");

}  // namespace

const char* EventName(const sched::Event& event) { return kEventNames[event.index()]; }

std::string Describe(const sched::Event& event) {
  std::string text = EventName(event);
  std::visit(
      [&text](const auto& e) {
        if constexpr (requires { e.attempt; }) {
          text += " of " + Subject(e.attempt);
        } else if constexpr (requires { e.reader; }) {
          text += " by " + Subject(e.reader);
        } else if constexpr (requires { e.job; }) {
          text += " of " + Name(e.job);
        } else if constexpr (requires { e.submitted; }) {
          text += " of " + Name(e.submitted.job);
        } else if constexpr (requires { e.policy; }) {
          text += " of " + e.policy + "/" + std::to_string(e.id);
        } else if constexpr (requires { e.policies; }) {
          text += " to '" + e.policies + "'";
        } else if constexpr (requires { e.queue; }) {
          text += " of '" + e.queue + "'";
        } else if constexpr (requires { e.replica; }) {
          text += " of " + Subject({e.replica.output.task, e.replica.attempt});
        }
        if constexpr (requires { e.worker; }) text += " on " + Name(e.worker);
      },
      event);
  return text;
}

std::string Describe(const sched::Decision& decision) {
  std::string text = kDecisionNames[decision.index()];
  std::visit(
      [&text](const auto& d) {
        if constexpr (requires { d.attempt; }) {
          text += " " + Subject(d.attempt);
        } else if constexpr (requires { d.reader; }) {
          text += " " + Subject(d.reader);
        } else if constexpr (requires { d.job; }) {
          text += " " + Name(d.job);
        } else if constexpr (requires { d.policy; }) {
          text += " " + d.policy;
        }
        if constexpr (requires { d.worker; }) text += " on " + Name(d.worker);
        if constexpr (requires { d.reason; }) text += std::string(" (") + sched::ReasonName(d.reason.code) + ")";
      },
      decision);
  return text;
}

}  // namespace mr::sim
