#include "master/sched/named_lists.h"

#include "master/sched/defaults.h"

namespace mr::sched {

namespace {

constexpr NamedList kNamedLists[] = {
    {"default", kDefaultPolicies, "clones for small jobs, and on idle slots where they pay; speculation for the rest"},
    {"cautious", kCautiousPolicies, "the default without clones: where idle slots cost something"},
    {"plain", kPlainPolicies, "order of arrival, nothing against stragglers: the control in comparisons"},
    {"nsdi13", kDollyPaper, "Dolly as in its paper"},
    {"osdi10", kMantriPaper, "Mantri as in its paper"},
    {"osdi08", kLatePaper, "LATE as in its paper"},
    {"infocom13", kCouplingPaper, "the Coupling Scheduler as in its paper"},
    {"eurosys12", kJockeyPaper, "Jockey as in its paper, with the speculation of Dryad"},
};

}  // namespace

std::span<const NamedList> NamedLists() { return kNamedLists; }

std::string PoliciesOf(std::string_view text) {
  for (const NamedList& list : kNamedLists) {
    if (list.name == text) return std::string(list.policies);
  }
  return std::string(text);
}

}  // namespace mr::sched
