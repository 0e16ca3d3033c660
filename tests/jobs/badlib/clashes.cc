// A good library but for a function of its own that is named as one of zlib's, and exported.
#include "paceline/paceline.h"

extern "C" __attribute__((visibility("default"))) unsigned long crc32(unsigned long, const unsigned char*,
                                                                      unsigned int) {
  return 1;
}

namespace {

class Upper : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  void Map(std::string_view line, Out& out) { out.Line(line); }
};

void Plan(const std::vector<std::string>& args, mr::JobPlan& plan) {
  mr::Args("clashes").Parse(args);
  plan.Map("map", "clashes.map").ReadFiles().WriteFiles();
}

}  // namespace

PACELINE_LIBRARY(PACELINE_OPERATOR(Upper, "clashes.map", MR_DETERMINISTIC)
                     PACELINE_JOB("clashes", "copies lines", Plan))
