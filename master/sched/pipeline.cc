#include "master/sched/pipeline.h"
#include "master/sched/named_lists.h"

#include <algorithm>
#include <charconv>

#include "common/base/text.h"
#include "master/sched/policies/list.h"

namespace mr::sched {

namespace {

constexpr char kNone[] = "none";        // in place of a job's own list: no policy
constexpr char kEnabled[] = "enabled";  // parameter of every policy: off leaves it out, where it stands in the list

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
    return InvalidArgument("the policy list has an empty entry; write names with commas between them, e.g. '" +
                           std::string(kPlainPolicies) + "'");
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

bool IsOff(const Item& item) {
  const auto enabled = item.params.find(kEnabled);
  return enabled != item.params.end() && enabled->second == "off";
}

const PolicyGroup* FindGroup(std::string_view name) {
  for (const PolicyGroup& group : PolicyGroups()) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

// Splits at commas outside of parentheses; a group becomes its members.
std::vector<std::string_view> Split(std::string_view list) {
  std::vector<std::string_view> items;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      const std::string_view item = Trim(list.substr(begin, i - begin));
      if (const PolicyGroup* group = FindGroup(item))
        items.insert(items.end(), group->members.begin(), group->members.end());
      else
        items.push_back(item);
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
  if (const PolicyGroup* group = FindGroup(name)) {
    std::string all;
    for (const std::string_view member : group->members) all += (all.empty() ? "" : ", ") + std::string(member);
    return InvalidArgument("'" + name + "' takes no parameters: give them to the policies that it stands for: " + all);
  }
  std::vector<std::string_view> names;
  std::string all;
  for (const PolicyEntry& entry : AllPolicies()) {
    if (entry.name == name) return &entry;
    names.push_back(entry.name);
    all += (all.empty() ? "" : ", ") + std::string(entry.name);
  }
  for (const NamedList& list : NamedLists()) {
    if (list.name == name) {
      return InvalidArgument("'" + name +
                             "' is the name of a whole list, which only mrmaster and mrsim take, and alone");
    }
    names.push_back(list.name);
  }
  return InvalidArgument("there is no policy '" + name + "'" + DidYouMean(name, names) + "; known policies: " + all +
                         "; 'mrctl schedulers' prints them, and lists that have a name");
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
  std::vector<std::string> seen, names;  // names: of those that are not switched off
  const std::vector<std::string_view> items = Trim(list).empty() ? std::vector<std::string_view>{} : Split(list);
  for (const std::string_view text : items) {
    MR_ASSIGN_OR_RETURN(Item item, ParseItem(text));
    MR_ASSIGN_OR_RETURN(const PolicyEntry* entry, Find(item.name));
    if (std::find(seen.begin(), seen.end(), item.name) != seen.end()) {
      return InvalidArgument("policy '" + item.name + "' stands in the list twice");
    }
    seen.push_back(item.name);
    PolicyParams params(std::move(item.params));
    auto enabled = params.Flag(kEnabled, true);
    if (!enabled.ok()) return enabled.status().With("policy '" + item.name + "'");
    auto policy = entry->make(&params);
    if (!policy.ok()) return policy.status().With("policy '" + item.name + "'");
    if (const Status taken = params.AllTaken(); !taken.ok()) {
      return taken.With("policy '" + item.name + "'");
    }
    if (!*enabled) continue;
    names.push_back(item.name);
    pipeline.members_.emplace_back(*std::move(policy), entry->Is(kServesAll));
    places_work = places_work || entry->Is(kPlacesWork);
  }
  for (const Member& m : pipeline.members_) {
    if (const Status checked = m.policy->CheckList(names); !checked.ok())
      return checked.With("policy '" + std::string(m.policy->name()) + "'");
  }
  if (!places_work) {
    PolicyParams none({});
    MR_ASSIGN_OR_RETURN(const PolicyEntry* plain, Find(kPlainPolicies));
    MR_ASSIGN_OR_RETURN(std::unique_ptr<Policy> first, plain->make(&none));
    pipeline.members_.insert(pipeline.members_.begin(), Member{std::move(first), true});
  }
  return pipeline;
}

std::vector<std::string> Pipeline::Items(std::string_view list) {
  if (Trim(list).empty()) return {};
  const std::vector<std::string_view> items = Split(list);
  return {items.begin(), items.end()};
}

std::vector<size_t> Pipeline::Lacking(std::string_view list) {
  std::vector<std::string> names;
  std::vector<std::pair<size_t, std::unique_ptr<Policy>>> made;
  const std::vector<std::string> items = Items(list);
  for (size_t i = 0; i < items.size(); ++i) {
    auto item = ParseItem(items[i]);
    const auto entry = item.ok() ? Find(item->name) : item.status();
    if (!entry.ok() || IsOff(*item)) continue;
    PolicyParams params(std::move(item->params));
    auto policy = (*entry)->make(&params);
    if (!policy.ok()) continue;
    names.push_back(item->name);
    made.emplace_back(i, *std::move(policy));
  }
  std::vector<size_t> lacking;
  for (const auto& [i, policy] : made) {
    if (!policy->CheckList(names).ok()) lacking.push_back(i);
  }
  return lacking;
}

bool Pipeline::AnyIs(std::string_view list, Trait trait) {
  for (const std::string_view text : Trim(list).empty() ? std::vector<std::string_view>{} : Split(list)) {
    const auto item = ParseItem(text);
    const auto entry = item.ok() ? Find(item->name) : item.status();
    if (entry.ok() && (*entry)->Is(trait) && !IsOff(*item)) return true;
  }
  return false;
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
    if (!entry->Is(kServesAll)) continue;
    return InvalidArgument("policy '" + item.name +
                           "' is one for the whole cluster, and no job can choose it: "
                           "leave it out, or start the master with it in --scheduler");
  }
  pipeline.members_.erase(pipeline.members_.begin());  // the policy that Parse put there to place work
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
    if (entry->Is(kServesAll)) continue;
    speculates = speculates || (entry->Is(kSpeculates) && !IsOff(item));
    clones_some = clones_some || (entry->Is(kClones) && !IsOff(item));
    const bool off =
        (entry->Is(kSpeculates) && speculation == Wish::kOff) || (entry->Is(kClones) && clones == Wish::kOff);
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

bool Pipeline::Has(std::string_view policy) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& m) { return m.policy->name() == policy; });
}

Needs Pipeline::needs() const {
  Needs needs;
  for (const Member& m : members_) m.policy->AddNeeds(&needs);
  return needs;
}

}  // namespace mr::sched
