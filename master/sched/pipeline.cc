#include "master/sched/pipeline.h"

#include <algorithm>
#include <charconv>

#include "common/base/text.h"
#include "master/sched/policies/baselines/blacklist.h"
#include "master/sched/policies/baselines/delay.h"
#include "master/sched/policies/baselines/dryad_speculation.h"
#include "master/sched/policies/baselines/fair.h"
#include "master/sched/policies/baselines/fifo.h"
#include "master/sched/policies/baselines/hadoop_speculation.h"
#include "master/sched/policies/baselines/spark_speculation.h"
#include "master/sched/policies/coupling/coupling.h"
#include "master/sched/policies/dolly/delay_assignment.h"
#include "master/sched/policies/dolly/dolly.h"
#include "master/sched/policies/dolly/opportunistic.h"
#include "master/sched/policies/jockey/jockey.h"
#include "master/sched/policies/late/late.h"
#include "master/sched/policies/mantri/mantri_placement.h"
#include "master/sched/policies/mantri/mantri_recompute.h"
#include "master/sched/policies/mantri/mantri_replication.h"
#include "master/sched/policies/mantri/mantri_restart.h"

namespace mr::sched {

namespace {

// Families of policies that a job's --speculation and --clone refer to.
enum class Family { kOther, kSpeculation, kCloning };

struct PolicyEntry {
  std::string_view name;
  bool places_work;  // launches first attempts; a list needs one such policy
  bool cluster;      // serves all jobs; other policies a job may choose for itself
  Result<std::unique_ptr<Policy>> (*make)(PolicyParams* params);
  Family family = Family::kOther;
};

constexpr char kNone[] = "none";  // in place of a job's own list: no policy

// All policies. A new one is a file in the folder of its paper and a line here.
constexpr PolicyEntry kPolicies[] = {
    {"fifo", true, true, &MakeFifo},
    {"fair", true, true, &MakeFair},
    {"delay", false, true, &MakeDelay},
    {"coupling", false, true, &MakeCoupling},
    {"jockey", false, true, &MakeJockey},
    {"blacklist", false, true, &MakeBlacklist},
    {"dolly", false, false, &MakeDolly, Family::kCloning},
    {"delay_assignment", false, false, &MakeDelayAssignment},
    {"opportunistic", false, false, &MakeOpportunistic, Family::kCloning},
    {"hadoop_speculation", false, false, &MakeHadoopSpeculation, Family::kSpeculation},
    {"dryad_speculation", false, false, &MakeDryadSpeculation, Family::kSpeculation},
    {"spark_speculation", false, false, &MakeSparkSpeculation, Family::kSpeculation},
    {"late", false, false, &MakeLate, Family::kSpeculation},
    {"mantri_placement", false, false, &MakeMantriPlacement},
    {"mantri_replication", false, false, &MakeMantriReplication},
    {"mantri_recompute", false, false, &MakeMantriRecompute},
    {"mantri_restart", false, false, &MakeMantriRestart, Family::kSpeculation},
};

// One name for several policies. Placement comes first: a restart replaces a launch that it has left in the draft.
constexpr std::string_view kMantri = "mantri";
constexpr std::string_view kMantriParts[] = {"mantri_placement", "mantri_restart", "mantri_replication",
                                             "mantri_recompute"};

std::string_view Trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// "name" or "name(a=1,b=2)".
struct Item {
  std::string name;
  std::map<std::string, std::string> params;
};

Result<Item> ParseItem(std::string_view text) {
  Item item;
  const size_t open = text.find('(');
  item.name = Trim(text.substr(0, open));
  if (item.name.empty()) {
    return InvalidArgument("the policy list has an empty entry; write e.g. 'fifo' or 'fifo,late(cap=0.2)'");
  }
  if (open == std::string_view::npos) return item;
  if (text.back() != ')') {
    return InvalidArgument("policy '" + std::string(text) + "': the parenthesis is not closed");
  }
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  while (!Trim(inside).empty()) {
    const size_t comma = inside.find(',');
    const std::string_view pair = inside.substr(0, comma);
    inside = comma == std::string_view::npos ? "" : inside.substr(comma + 1);
    const size_t equals = pair.find('=');
    const std::string key(Trim(pair.substr(0, equals)));
    if (equals == std::string_view::npos || key.empty()) {
      return InvalidArgument("policy '" + item.name + "': '" + std::string(Trim(pair)) +
                             "' is not of the form name=value");
    }
    if (!item.params.emplace(key, Trim(pair.substr(equals + 1))).second) {
      return InvalidArgument("policy '" + item.name + "': parameter '" + key + "' is given twice");
    }
  }
  return item;
}

// Splits at commas outside of parentheses; `mantri` becomes its parts.
std::vector<std::string_view> Split(std::string_view list) {
  std::vector<std::string_view> items;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      const std::string_view item = Trim(list.substr(begin, i - begin));
      if (item != kMantri)
        items.push_back(item);
      else
        items.insert(items.end(), std::begin(kMantriParts), std::end(kMantriParts));
      begin = i + 1;
    } else if (list[i] == '(') {
      ++depth;
    } else if (list[i] == ')') {
      --depth;
    }
  }
  return items;
}

Result<const PolicyEntry*> Find(const std::string& name) {
  if (name == kMantri)
    return InvalidArgument("'mantri' takes no parameters: give them to mantri_restart and the others that it names");
  std::vector<std::string_view> names;
  std::string all;
  for (const PolicyEntry& entry : kPolicies) {
    if (entry.name == name) return &entry;
    names.push_back(entry.name);
    all += (all.empty() ? "" : ", ") + std::string(entry.name);
  }
  return InvalidArgument("there is no policy '" + name + "'" + DidYouMean(name, names) + "; known policies: " + all);
}

}  // namespace

std::optional<std::string> PolicyParams::Take(const std::string& name) {
  known_.push_back(name);
  const auto it = values_.find(name);
  if (it == values_.end()) return std::nullopt;
  std::string text = it->second;
  values_.erase(it);
  return text;
}

Result<double> PolicyParams::Number(const std::string& name, double otherwise, double low, double high) {
  const std::optional<std::string> given = Take(name);
  if (!given) return otherwise;
  const std::string& text = *given;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high)) {
    return InvalidArgument("parameter '" + name + "' must be a number from " + std::to_string(low) + " to " +
                           std::to_string(high) + ", not '" + text + "'");
  }
  return value;
}

Result<Duration> PolicyParams::Time(const std::string& name, Duration otherwise) {
  const std::optional<std::string> text = Take(name);
  if (!text) return otherwise;
  if (*text == "0" || *text == "0s") return Duration{};
  const Result<Duration> value = ParseDuration(*text);
  if (!value.ok()) return value.status().With("parameter '" + name + "'");
  return *value;
}

Result<Duration> PolicyParams::TimeOr(const std::string& name,
                                      const std::vector<std::pair<std::string_view, Duration>>& words) {
  const auto it = values_.find(name);
  std::string all;
  for (const auto& [word, value] : words) {
    if (it == values_.end() || it->second == word) {
      Take(name);
      return value;
    }
    all += std::string(word) + ", ";
  }
  const std::string text = it->second;
  Result<Duration> time = Time(name, {});
  if (time.ok()) return time;
  return InvalidArgument("parameter '" + name + "' must be " + all + "or a time such as 2.5s, not '" + text + "'");
}

Result<bool> PolicyParams::Flag(const std::string& name, bool otherwise) {
  const std::optional<std::string> text = Take(name);
  if (!text) return otherwise;
  if (*text == "on") return true;
  if (*text == "off") return false;
  return InvalidArgument("parameter '" + name + "' must be on or off, not '" + *text + "'");
}

Result<size_t> PolicyParams::Choice(const std::string& name, const std::vector<std::string_view>& words) {
  const std::optional<std::string> text = Take(name);
  if (!text) return size_t{0};
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == *text) return i;
    all += (all.empty() ? "" : " or ") + std::string(words[i]);
  }
  return InvalidArgument("parameter '" + name + "' must be " + all + ", not '" + *text + "'" +
                         DidYouMean(*text, words));
}

Status PolicyParams::AllTaken() const {
  if (values_.empty()) return Status::Ok();
  const std::string& name = values_.begin()->first;
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  return InvalidArgument("there is no parameter '" + name + "'" + DidYouMean(name, known));
}

Result<Pipeline> Pipeline::Parse(std::string_view list) {
  Pipeline pipeline;
  bool places_work = false;
  std::vector<std::string> seen;
  const std::vector<std::string_view> items = Trim(list).empty() ? std::vector<std::string_view>{} : Split(list);
  for (const std::string_view text : items) {
    MR_ASSIGN_OR_RETURN(Item item, ParseItem(text));
    MR_ASSIGN_OR_RETURN(const PolicyEntry* entry, Find(item.name));
    if (std::find(seen.begin(), seen.end(), item.name) != seen.end()) {
      return InvalidArgument("policy '" + item.name + "' stands in the list twice");
    }
    seen.push_back(item.name);
    PolicyParams params(std::move(item.params));
    auto policy = entry->make(&params);
    if (!policy.ok()) return policy.status().With("policy '" + item.name + "'");
    if (const Status taken = params.AllTaken(); !taken.ok()) {
      return taken.With("policy '" + item.name + "'");
    }
    pipeline.members_.push_back({*std::move(policy), entry->cluster});
    places_work = places_work || entry->places_work;
  }
  const auto has = [&](const char* name) { return std::find(seen.begin(), seen.end(), name) != seen.end(); };
  if (has("jockey") && !has("fair")) {
    return InvalidArgument(
        "policy 'jockey' guarantees slots, which only 'fair' serves: put fair before it, e.g. 'fair,jockey'");
  }
  if (!places_work) {
    PolicyParams none({});
    MR_ASSIGN_OR_RETURN(std::unique_ptr<Policy> fifo, MakeFifo(&none));
    pipeline.members_.insert(pipeline.members_.begin(), Member{std::move(fifo), true});
  }
  return pipeline;
}

std::vector<std::string> Pipeline::Items(std::string_view list) {
  if (Trim(list).empty()) return {};
  const std::vector<std::string_view> items = Split(list);
  return {items.begin(), items.end()};
}

Result<Pipeline> Pipeline::ParseOfJob(std::string_view list) {
  if (Trim(list).empty() || Trim(list) == kNone) return Pipeline();
  for (const std::string_view text : Split(list)) {
    MR_ASSIGN_OR_RETURN(const Item item, ParseItem(text));
    if (item.name == kNone) return InvalidArgument("'none' stands alone: it is a list without a policy");
  }
  MR_ASSIGN_OR_RETURN(Pipeline pipeline, Parse(list));
  for (const std::string_view text : Split(list)) {
    MR_ASSIGN_OR_RETURN(const Item item, ParseItem(text));
    MR_ASSIGN_OR_RETURN(const PolicyEntry* entry, Find(item.name));
    if (!entry->cluster) continue;
    return InvalidArgument("policy '" + item.name +
                           "' is one for the whole cluster, and no job can choose it: "
                           "leave it out, or start the master with it in --scheduler");
  }
  pipeline.members_.erase(pipeline.members_.begin());  // the fifo that Parse put there
  return pipeline;
}

Result<std::vector<std::string>> Pipeline::ForJob(const std::string& cluster, const std::vector<std::string>& own,
                                                  Wish speculation, Wish clones) {
  std::string list;
  for (const std::string& item : own) list += (list.empty() ? "" : ",") + item;
  MR_RETURN_IF_ERROR(ParseOfJob(list).status());
  const std::string base = Trim(list) == kNone ? "" : own.empty() ? cluster : list;
  std::vector<std::string> kept;
  bool speculates = false, clones_some = false, dropped = false;
  for (const std::string_view text : Trim(base).empty() ? std::vector<std::string_view>{} : Split(base)) {
    MR_ASSIGN_OR_RETURN(const Item item, ParseItem(text));
    MR_ASSIGN_OR_RETURN(const PolicyEntry* entry, Find(item.name));
    if (entry->cluster) continue;
    speculates = speculates || entry->family == Family::kSpeculation;
    clones_some = clones_some || entry->family == Family::kCloning;
    const bool off = (entry->family == Family::kSpeculation && speculation == Wish::kOff) ||
                     (entry->family == Family::kCloning && clones == Wish::kOff);
    if (off)
      dropped = true;
    else
      kept.emplace_back(text);
  }
  const auto missing = [&](const char* option, const char* kind) {
    return InvalidArgument(std::string(option) + " on: there is no policy for " + kind + " in " +
                           (own.empty() ? "the cluster's list '" + cluster + "'" : "the job's --scheduler") +
                           "; name one with --scheduler, or leave it at auto");
  };
  if (speculation == Wish::kOn && !speculates) return missing("--speculation", "speculative attempts");
  if (clones == Wish::kOn && !clones_some) return missing("--clone", "clones");
  if (!dropped) return own;
  if (kept.empty()) kept.emplace_back(kNone);
  return kept;
}

Sharing Pipeline::sharing() const {
  Sharing sharing;
  for (const Member& m : members_) m.policy->Ask(&sharing);
  return sharing;
}

StatisticsWanted Pipeline::WantsStatistics() const {
  StatisticsWanted wanted;
  for (const Member& m : members_) wanted = wanted | m.policy->WantsStatistics();
  return wanted;
}

}  // namespace mr::sched
