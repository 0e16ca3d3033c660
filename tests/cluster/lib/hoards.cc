// An operator that keeps all values of a key in memory, as careless ones do. For tests/cluster/skew_test.cc.
#include "paceline/paceline.h"

namespace {

class Keyed : public mr::LineMapper<std::string, std::string> {
 public:
  void Map(std::string_view line, Out& out) {
    const size_t tab = line.find('\t');
    out.Emit(line.substr(0, tab), line.substr(tab + 1));
  }
};
class Hoard : public mr::Reducer<std::string, std::string, mr::Text, mr::Text> {
 public:
  void Reduce(std::string_view key, mr::Values<std::string>& values, Out& out) {
    std::vector<std::string> all;
    for (const std::string_view value : values) all.emplace_back(value).reserve(300);
    out.Emit(key, std::to_string(all.size()));
  }
};

void PlanHoard(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  mr::Args("hoard").Parse(argv);
  auto& map = plan.Map("key", "hoard.key").ReadFiles().Shuffle();
  plan.Reduce("keep", "hoard.keep").Group(map).WriteFiles();
}

}  // namespace

PACELINE_LIBRARY(PACELINE_OPERATOR(Keyed, "hoard.key", MR_DETERMINISTIC)
                     PACELINE_OPERATOR(Hoard, "hoard.keep", MR_DETERMINISTIC)
                         PACELINE_JOB("hoard", "counts values by keeping them", PlanHoard))
