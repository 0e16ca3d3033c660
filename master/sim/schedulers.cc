#include "master/sim/schedulers.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/base/text.h"
#include "master/sched/named_lists.h"
#include "master/sched/policies/list.h"

namespace mr::sim {

namespace {

const char* ScopeOf(const sched::PolicyEntry& policy) { return policy.Is(sched::kServesAll) ? "cluster" : "job"; }

std::string Padded(std::string_view text, size_t width) {
  return std::string(text) + std::string(std::max(width, text.size() + 2) - text.size(), ' ');
}

std::string Quoted(std::string_view text) { return "\"" + JsonEscape(std::string(text)) + "\""; }

}  // namespace

std::string SchedulersTable() {
  std::string out = "LISTS\n";
  for (const sched::NamedList& list : sched::NamedLists()) {
    out += Padded(list.name, 16) + std::string(list.what) + "\n" + Padded("", 16) + std::string(list.policies) + "\n";
  }
  out += "\n" + Padded("POLICIES", 22) + Padded("SCOPE", 10) + "DOES\n";
  for (const sched::PolicyEntry& policy : sched::AllPolicies()) {
    std::string does;
    for (const std::string_view text : sched::TraitTexts(policy))
      does += (does.empty() ? "" : ", ") + std::string(text);
    out += Padded(policy.name, 22) + (does.empty() ? ScopeOf(policy) : Padded(ScopeOf(policy), 10) + does) + "\n";
  }
  for (const sched::PolicyGroup& group : sched::PolicyGroups()) {
    std::string members;
    for (const std::string_view name : group.members) members += (members.empty() ? "" : ", ") + std::string(name);
    out += Padded(group.name, 22) + "stands for " + members + "\n";
  }
  return out + "\nmrmaster --scheduler takes the name of a list, or policies. A job takes policies of job scope.\n";
}

std::string SchedulersJson() {
  std::string lists, policies, groups;
  for (const sched::NamedList& list : sched::NamedLists()) {
    lists += (lists.empty() ? "" : ",") + std::string("{\"id\":") + Quoted(list.name) +
             ",\"policies\":" + Quoted(list.policies) + ",\"what\":" + Quoted(list.what) + "}";
  }
  for (const sched::PolicyEntry& policy : sched::AllPolicies()) {
    std::string does;
    for (const std::string_view text : sched::TraitTexts(policy)) does += (does.empty() ? "" : ",") + Quoted(text);
    policies += (policies.empty() ? "" : ",") + std::string("{\"id\":") + Quoted(policy.name) +
                ",\"scope\":" + Quoted(ScopeOf(policy)) + ",\"does\":[" + does + "]}";
  }
  for (const sched::PolicyGroup& group : sched::PolicyGroups()) {
    std::string members;
    for (const std::string_view name : group.members) members += (members.empty() ? "" : ",") + Quoted(name);
    groups +=
        (groups.empty() ? "" : ",") + std::string("{\"id\":") + Quoted(group.name) + ",\"members\":[" + members + "]}";
  }
  return "{\"version\":1,\"lists\":[" + lists + "],\"policies\":[" + policies + "],\"groups\":[" + groups + "]}\n";
}

}  // namespace mr::sim
