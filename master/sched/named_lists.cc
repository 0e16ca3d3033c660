#include "master/sched/named_lists.h"

#include "master/sched/defaults.h"

namespace mr::sched {

namespace {

constexpr NamedList kNamedLists[] = {
    {"default", kDefaultPolicies, "clones for small jobs, and on idle slots where they pay; speculation for the rest"},
    {"cautious", kCautiousPolicies, "the default without clones: where idle slots cost something"},
    {"plain", kPlainPolicies, "order of arrival, nothing against stragglers: the control in comparisons"},
    {kDollyPaperName, kDollyPaper, "Dolly as in its paper (NSDI 2013)"},
    {kMantriPaperName, kMantriPaper, "Mantri as in its paper (OSDI 2010)"},
    {kLatePaperName, kLatePaper, "LATE as in its paper (OSDI 2008)"},
    {kCouplingPaperName, kCouplingPaper, "the Coupling Scheduler as in its paper (INFOCOM 2013)"},
    {kJockeyPaperName, kJockeyPaper, "Jockey as in its paper (EuroSys 2012), with the speculation of Dryad"},
};

}  // namespace

std::span<const NamedList> NamedLists() { return kNamedLists; }

std::string PoliciesOf(std::string_view text) {
  for (const NamedList& list : kNamedLists) {
    if (list.name == text) return std::string(list.policies);
  }
  return std::string(text);
}

std::string NameOrPolicies(std::string_view policies) {
  for (const NamedList& list : kNamedLists) {
    if (list.policies == policies) return std::string(list.name);
  }
  return std::string(policies);
}

}  // namespace mr::sched
