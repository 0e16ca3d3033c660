// Names of whole lists of policies. Where a host takes a list from its user, such a name stands for the list:
// `mrmaster --scheduler cautious`. Journals and histories have the list itself, so a name may come to mean another one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mr::sched {

struct NamedList {
  std::string_view name, policies;
  std::string_view what;  // for people, a line
};

// Ordered as people should read them: the default first. No policy has such a name.
std::span<const NamedList> NamedLists();

// Returns the list of this name, or the text itself.
std::string PoliciesOf(std::string_view text);

// Returns the name of this list, or the list itself where it has none.
std::string NameOrPolicies(std::string_view policies);

}  // namespace mr::sched
