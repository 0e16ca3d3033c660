#include "master/sched/policies/list.h"

#include "master/sched/policies/baselines/blacklist.h"
#include "master/sched/policies/baselines/delay.h"
#include "master/sched/policies/baselines/dryad_speculation.h"
#include "master/sched/policies/baselines/fair.h"
#include "master/sched/policies/baselines/fifo.h"
#include "master/sched/policies/baselines/hadoop_speculation.h"
#include "master/sched/policies/baselines/reasons.h"
#include "master/sched/policies/baselines/spark_speculation.h"
#include "master/sched/policies/coupling/coupling.h"
#include "master/sched/policies/dolly/delay_assignment.h"
#include "master/sched/policies/dolly/dolly.h"
#include "master/sched/policies/dolly/give_back.h"
#include "master/sched/policies/dolly/opportunistic.h"
#include "master/sched/policies/dolly/reasons.h"
#include "master/sched/policies/jockey/jockey.h"
#include "master/sched/policies/jockey/reasons.h"
#include "master/sched/policies/late/late.h"
#include "master/sched/policies/late/reasons.h"
#include "master/sched/policies/mantri/mantri_placement.h"
#include "master/sched/policies/mantri/mantri_recompute.h"
#include "master/sched/policies/mantri/mantri_replication.h"
#include "master/sched/policies/mantri/mantri_restart.h"
#include "master/sched/policies/mantri/reasons.h"

namespace mr::sched {

namespace {

constexpr PolicyEntry kPolicies[] = {
    {"fifo", &MakeFifo, kServesAll | kPlacesWork, &BaselineReasons},
    {"fair", &MakeFair, kServesAll | kPlacesWork | kSharesQueues, &BaselineReasons},
    {"delay", &MakeDelay, kServesAll},
    {"coupling", &MakeCoupling, kServesAll},
    {"jockey", &MakeJockey, kServesAll | kSteers, &JockeyReasons, &DropJockey},
    {"blacklist", &MakeBlacklist, kServesAll, &BaselineReasons},
    {"dolly", &MakeDolly, kClones, &DollyReasons, &DropDolly},
    {"delay_assignment", &MakeDelayAssignment, 0, &DollyReasons, &DropDelayAssignment},
    {"opportunistic", &MakeOpportunistic, kClones, &DollyReasons, nullptr, &GiveBackLentSlots},
    {"hadoop_speculation", &MakeHadoopSpeculation, kSpeculates, &BaselineReasons},
    {"dryad_speculation", &MakeDryadSpeculation, kSpeculates, &BaselineReasons},
    {"spark_speculation", &MakeSparkSpeculation, kSpeculates, &BaselineReasons},
    {"late", &MakeLate, kSpeculates, &LateReasons},
    {"mantri_placement", &MakeMantriPlacement, 0, &MantriReasons},
    {"mantri_replication", &MakeMantriReplication, 0, &MantriReasons},
    {"mantri_recompute", &MakeMantriRecompute, 0, &MantriReasons},
    {"mantri_restart", &MakeMantriRestart, kSpeculates, &MantriReasons},
};

// Placement comes first: a restart replaces a launch that it has left in the draft.
constexpr std::string_view kMantri[] = {"mantri_placement", "mantri_restart", "mantri_replication", "mantri_recompute"};
constexpr PolicyGroup kGroups[] = {{"mantri", kMantri}};

}  // namespace

std::span<const PolicyEntry> AllPolicies() { return kPolicies; }
std::span<const PolicyGroup> PolicyGroups() { return kGroups; }

namespace {

struct TraitText {
  Trait trait;
  std::string_view text;
};
constexpr TraitText kTraits[] = {
    {kPlacesWork, "places work"},          {kSpeculates, "speculates"},      {kClones, "clones"},
    {kSteers, "steers jobs by deadlines"}, {kSharesQueues, "shares queues"},
};

// Phrases about policies, beside those of their traits.
struct PolicyText {
  std::string_view name, does;
};
constexpr PolicyText kPolicyTexts[] = {
    {"delay", "lets a task wait a little for a slot near its input"},
    {"coupling", "starts reduces as their maps progress, and places both near their data"},
    {"blacklist", "keeps first attempts off workers where attempts keep failing"},
    {"delay_assignment", "chooses the replica that each clone of a reading task reads"},
    {"mantri_placement", "places reduces where the network has room for their inputs"},
    {"mantri_replication", "replicates outputs whose loss would cost more than a replica"},
    {"mantri_recompute", "after a failed read makes that worker's other outputs again, before readers need them"},
};

}  // namespace

std::vector<std::string_view> TraitTexts(const PolicyEntry& policy) {
  std::vector<std::string_view> texts;
  for (const TraitText& t : kTraits) {
    if (policy.Is(t.trait)) texts.push_back(t.text);
  }
  for (const PolicyText& p : kPolicyTexts) {
    if (p.name == policy.name) texts.push_back(p.does);
  }
  return texts;
}

}  // namespace mr::sched
