// The list of all policies. A new policy is a folder and a line in list.cc; nothing else names it. The README of
// master/sched has the steps.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"
#include "master/sched/reason.h"

namespace mr::sched {

// Properties of a policy that hosts and users rely on. A policy may have several.
enum Trait : uint32_t {
  // Cluster scope: serves all jobs, and only the master's --scheduler may name it. Without this trait a policy has job
  // scope: a job may name it in its own list (`mrctl submit --scheduler`), which replaces those of the cluster's list.
  kServesAll = 1,
  // Launches first attempts. A list without such a policy gets fifo as its first. Requires kServesAll.
  kPlacesWork = 2,
  kSpeculates = 4,    // launches speculative attempts: `--speculation off` drops it
  kClones = 8,        // runs tasks as clones: `--clone off` drops it
  kSteers = 16,       // steers jobs by their deadlines; the host predicts these jobs
  kSharesQueues = 32  // serves queues by their settings
};

inline std::span<const ReasonText> NoReasons() { return {}; }

struct PolicyEntry {
  std::string_view name;
  Result<std::unique_ptr<Policy>> (*make)(PolicyParams* params) = nullptr;
  uint32_t traits = 0;
  // The policy's own reasons. Policies of one folder may share them.
  std::span<const ReasonText> (*reasons)() = &NoReasons;
  // Ends what the policy has left behind: called when a new list comes into force that does not have it. The view
  // shows the jobs that the cluster's list serves. The reasons of these edits carry no policy's name.
  void (*on_dropped)(const View&, Plan*) = nullptr;
  // Ends attempts on lent slots for tasks that wait. Called under every list, since attempts may outlive the list.
  // Returns false if it has not examined all that wait; it is then called again one offer period later.
  bool (*give_back)(const View&, Plan*) = nullptr;

  bool Is(Trait trait) const { return (traits & trait) != 0; }
};

// One name for several policies, in this order.
struct PolicyGroup {
  std::string_view name;
  std::span<const std::string_view> members;
};

// Returns phrases for people that say what the policy does, at least one.
std::vector<std::string_view> TraitTexts(const PolicyEntry& policy);

std::span<const PolicyEntry> AllPolicies();
std::span<const PolicyGroup> PolicyGroups();

}  // namespace mr::sched
