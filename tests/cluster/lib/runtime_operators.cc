// Operators that use what the engine offers while they run: bad records, failures that ask for another try, side files,
// cancellation, memory of a stage. For tests/cluster/runtime_test.cc.
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <fstream>

#include "paceline/paceline.h"

namespace {

// Counts the memory limit of the first task of a stage, in MiB.
void CountMemory(mr::Context& context) {
  rlimit data{};
  if (context.task() == 0 && getrlimit(RLIMIT_DATA, &data) == 0) {
    context.counter("memory MiB") += static_cast<int64_t>(data.rlim_cur >> 20);
  }
}

class Parse : public mr::LineMapper<std::string, int64_t> {
 public:
  void Open() { CountMemory(context()); }
  void Map(std::string_view line, Out& out) {
    out.Emit("lines", 1);  // taken back where the line is bad
    int64_t n = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), n);
    if (error != std::errc() || end != line.data() + line.size()) {
      throw mr::BadRecord("'" + std::string(line.substr(0, 20)) + "' is no number");
    }
    out.Emit("sum", n);
  }
};
class Total : public mr::Reducer<std::string, int64_t, mr::Text, mr::Text> {
 public:
  void Open() { CountMemory(context()); }
  void Reduce(std::string_view key, mr::Values<int64_t>& values, Out& out) {
    int64_t sum = 0;
    for (const int64_t n : values) sum += n;
    out.Emit(key, sum);
  }
};
void PlanNumbers(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  mr::Args("numbers").Parse(argv);
  auto& map = plan.Map("map", "rt.parse").Memory(600 << 20).ReadFiles().Shuffle();
  plan.Reduce("reduce", "rt.total").Group(map).WriteFiles();
}

// Asks for another try in so many attempts of each task.
class Unlucky : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  void Map(std::string_view line, Out& out) {
    if (context().attempt() <= context().config().Int("times")) throw mr::RetryableError("the licence server is busy");
    out.Line(line);
  }
};
void PlanUnlucky(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  int64_t times = 0;
  mr::Args("unlucky").Add("--times", &times, 0, 1000).Parse(argv);
  plan.Map("map", "rt.unlucky").Configure(mr::Config().Set("times", times)).ReadFiles().WriteFiles();
}

// Finds that the input is of another kind.
class Refuses : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  void Map(std::string_view, Out&) { throw mr::FinalError("this is no picture"); }
};
void PlanRefuses(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  mr::Args("refuses").Parse(argv);
  plan.Map("map", "rt.refuses").ReadFiles().WriteFiles();
}

// Each line with what the side file says of it.
class Lookup : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  void Open() {
    std::ifstream in(context().side_file("names"));
    for (std::string key, value; in >> key >> value;) names_[key] = value;
    std::ifstream empty(context().side_file("empty"));
    nothing_ = empty.peek() == std::ifstream::traits_type::eof();
  }
  void Map(std::string_view line, Out& out) { out.Emit(line, names_[std::string(line)] + (nothing_ ? "" : "?")); }

 private:
  std::map<std::string, std::string> names_;
  bool nothing_ = false;
};
void PlanLookup(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  mr::Args("lookup").Parse(argv);
  plan.Map("map", "rt.lookup").ReadFiles().WriteFiles();
}

// Numbers go to the main files; what is none, and its length, to further ones.
class Sieve : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  void Map(std::string_view line, Out& out) {
    if (!line.empty() && line.find_first_not_of("0123456789") == line.npos) return out.Line(line);
    out.Port(1).Line(line);
    out.Port(2).Emit(line, line.size());
  }
};
void PlanSieve(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  mr::Args("sieve").Parse(argv);
  plan.Map("map", "rt.sieve").ReadFiles().WriteFiles().Named("errors").Named("lengths", "text.gz");
}

// Computes for ever, or until it is cancelled. It writes its state to the file.
class Patient : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  void Map(std::string_view, Out&) {
    const std::string file = context().config().Text("file");
    for (bool asked = false; !context().cancelled(); usleep(1000)) {
      if (!asked) std::ofstream(file) << "asked";
      asked = true;
    }
    std::ofstream(file) << "cancelled";
  }
};
void PlanPatient(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  std::string file;
  mr::Args("patient").Add("--file", &file).Parse(argv);
  plan.Map("map", "rt.patient").Configure(mr::Config().Set("file", file)).ReadFiles().WriteFiles();
}

}  // namespace

PACELINE_LIBRARY(
    PACELINE_OPERATOR(Parse, "rt.parse", MR_DETERMINISTIC) PACELINE_OPERATOR(Total, "rt.total", MR_DETERMINISTIC)
        PACELINE_OPERATOR(Unlucky, "rt.unlucky", MR_DETERMINISTIC)
            PACELINE_OPERATOR(Refuses, "rt.refuses", MR_DETERMINISTIC) PACELINE_OPERATOR(Lookup, "rt.lookup",
                                                                                         MR_DETERMINISTIC)
                PACELINE_OPERATOR(Sieve, "rt.sieve", MR_DETERMINISTIC) PACELINE_OPERATOR(Patient, "rt.patient",
                                                                                         MR_DETERMINISTIC | MR_REUSABLE)
                    PACELINE_JOB("numbers", "adds up the numbers of its lines",
                                 PlanNumbers) PACELINE_JOB("refuses", "finds that it cannot be", PlanRefuses)
                        PACELINE_JOB("unlucky", "asks to be tried again\n  --times N", PlanUnlucky)
                            PACELINE_JOB("lookup", "each line with what the side file names says of it",
                                         PlanLookup) PACELINE_JOB("sieve", "numbers, and what is none", PlanSieve)
                                PACELINE_JOB("patient", "computes until it is cancelled\n  --file PATH", PlanPatient))
