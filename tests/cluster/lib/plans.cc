// Jobs with plans that are wrong in one way each, one that prints, and one that needs arguments. As library
// `same_names` (MR_SAME_NAMES) it has two jobs with one name. As library `needs_part` (MR_NEEDS_PART) it needs another
// shared library of its own.
#include <cstdio>
#include <cstdlib>

#include "paceline/paceline.h"

#ifdef MR_NEEDS_PART
int OwnPart();
#else
static int OwnPart() { return 0; }
#endif

namespace {

class Copy : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  void Map(std::string_view line, Out& out) { out.Line(line.substr(static_cast<size_t>(OwnPart()))); }
};

using Words = std::vector<std::string>;

void Prints(const Words&, mr::JobPlan& plan) {
  std::puts("a plan that prints");
  plan.Map("map", "copy").ReadFiles().WriteFiles();
}
void Asks(const Words& args, mr::JobPlan& plan) {
  if (args.empty()) mr::Args("asks").Refuse("give a word");
  plan.Map("map", "copy").ReadFiles().WriteFiles();
}
#if !defined(MR_SAME_NAMES) && !defined(MR_NEEDS_PART)
void Unknown(const Words&, mr::JobPlan& plan) { plan.Map("map", "cpoy").ReadFiles().WriteFiles(); }
void TwoStages(const Words&, mr::JobPlan& plan) {
  plan.Map("map", "copy").ReadFiles().WriteFiles();
  plan.Map("map", "copy").ReadFiles().WriteFiles();
}
void Empty(const Words&, mr::JobPlan&) {}
void Throws(const Words&, mr::JobPlan&) { throw 5; }
void Exits(const Words&, mr::JobPlan&) {
  std::puts("gone");
  std::fflush(stdout);
  std::exit(0);
}
#endif

}  // namespace

#ifdef MR_SAME_NAMES
PACELINE_LIBRARY(PACELINE_OPERATOR(Copy, "copy", MR_DETERMINISTIC) PACELINE_JOB("one", "copies", Prints)
                     PACELINE_JOB("one", "copies", Asks))
#elif defined(MR_NEEDS_PART)
PACELINE_LIBRARY(PACELINE_OPERATOR(Copy, "copy", MR_DETERMINISTIC) PACELINE_JOB("prints", "copies", Prints)
                     PACELINE_JOB("asks", "copies", Asks))
#else
PACELINE_LIBRARY(PACELINE_OPERATOR(Copy, "copy", MR_DETERMINISTIC) PACELINE_JOB("prints", "copies", Prints)
                     PACELINE_JOB("asks", "copies", Asks) PACELINE_JOB("unknown", "", Unknown)
                         PACELINE_JOB("two_stages", "", TwoStages) PACELINE_JOB("empty_plan", "", Empty)
                             PACELINE_JOB("throws", "", Throws) PACELINE_JOB("exits", "", Exits))
#endif
