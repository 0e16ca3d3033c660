// An operator that counts lines, and fails, crashes or looks at a side file or a variable at those that say so.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "paceline/paceline.h"

namespace {

class Lines : public mr::LineMapper<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    if (line == "fail") throw mr::JobError("this line is not to be here");
    if (line == "crash") raise(SIGSEGV);
    if (line == "look") {
      counter("bytes beside") += static_cast<int64_t>(std::filesystem::file_size(context().side_file("beside")));
    }
    if (line == "variable") {
      const char* const value = std::getenv("REPLAYED");
      if (value == nullptr || *value == '\0') throw mr::JobError("$REPLAYED is empty");
    }
    if (line == "say") std::printf("said by task %u\n", context().task());
    ++counter("lines");
    out.Emit(line, 1);
  }
};

class Sum : public mr::Reducer<std::string, int64_t, mr::Text, mr::Text> {
 public:
  void Reduce(std::string_view line, mr::Values<int64_t>& counts, Out& out) {
    int64_t n = 0;
    if (line == "crash in reduce") raise(SIGSEGV);
    for (int64_t c : counts) n += c;
    out.Emit(line, n);
  }
};

void Plan(const std::vector<std::string>& args, mr::JobPlan& plan) {
  mr::Args("replayed").Parse(args);
  auto& map = plan.Map("map", "replayed.map").ReadFiles().Shuffle();
  plan.Reduce("reduce", "replayed.reduce").Group(map).WriteFiles();
}

}  // namespace

PACELINE_LIBRARY(PACELINE_OPERATOR(Lines, "replayed.map", MR_DETERMINISTIC)
                     PACELINE_OPERATOR(Sum, "replayed.reduce", MR_DETERMINISTIC)
                         PACELINE_JOB("replayed", "counts lines", Plan))
