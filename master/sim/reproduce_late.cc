// LATE (Zaharia et al., OSDI 2008): its figures and tables as far as papers.md 3 has numbers for them.
#include <algorithm>

#include "master/sim/late_setups.h"
#include "master/sim/reproduce.h"

namespace mr::sim {

namespace {

struct Ran {
  double seconds = 0, wasted = 0;
};

// One run of one list; *stopped is set where the simulation stopped.
Ran RunIt(Experiment experiment, std::string* stopped) {
  Simulation run(std::move(experiment));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) *stopped = wrong;
  return {run.jobs()[0].ended - run.jobs()[0].submitted, run.totals().wasted};
}

Result<std::vector<double>> Numbers(std::vector<double> numbers, const std::string& stopped) {
  if (!stopped.empty()) return Internal("the simulation stopped " + stopped);
  return numbers;
}

constexpr double kSleepNodes = 40;

Figure SpeculativeCap() {
  Figure f{"fig10", "sleep job of 5.4: SpeculativeCap", {}, nullptr};
  f.lines = {Within("none, s", 745, .05),
             {"native / none", 247.0 / 745, 0, .40},
             {"LATE cap 10 % / none", kNoNumber, 0, .36},
             {"LATE cap 20 % / none", kNoNumber, 0, .27},
             {"LATE cap 20 % / native", kNoNumber, 0, .9999},
             {"LATE cap 50 % / cap 20 %", 1, .95, 1.05},
             {"LATE cap 100 % / cap 20 %", 1, .95, 1.05},
             {"native, s", 247},
             {"native, wasted s per node", 35}};
  static constexpr const char* kCaps[] = {"0.025", "0.05", "0.1", "0.2", "0.5", "1"};
  for (const char* cap : kCaps) {
    f.lines.push_back({std::string("LATE cap=") + cap + ", s"});
    f.lines.push_back({std::string("LATE cap=") + cap + ", wasted s per node"});
  }
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::string stopped;
    const Ran none = RunIt(SleepJob(kNoCopies, c.seed), &stopped), native = RunIt(SleepJob(kNative, c.seed), &stopped);
    std::vector<Ran> late;
    for (const char* cap : kCaps) late.push_back(RunIt(SleepJob(LateWith(std::string("cap=") + cap), c.seed), &stopped));
    std::vector<double> out = {none.seconds,
                               native.seconds / none.seconds,
                               late[2].seconds / none.seconds,
                               late[3].seconds / none.seconds,
                               late[3].seconds / native.seconds,
                               late[4].seconds / late[3].seconds,
                               late[5].seconds / late[3].seconds,
                               native.seconds,
                               native.wasted / kSleepNodes};
    for (const Ran& r : late) {
      out.push_back(r.seconds);
      out.push_back(r.wasted / kSleepNodes);
    }
    return Numbers(std::move(out), stopped);
  };
  return f;
}

// Seconds at each value of one parameter, and the spread (largest / smallest) from number `flat_from` on.
Figure Threshold(const std::string& id, const std::string& parameter, std::vector<std::string> values, size_t flat_from) {
  Figure f{id, "sleep job of 5.4, cap 20 %: " + parameter, {}, nullptr};
  f.lines = {{"slowest / fastest from " + values[flat_from] + " up", 1, 1, 1.10}};
  for (const std::string& v : values) f.lines.push_back({parameter + "=" + v + ", s"});
  f.run = [=](const RunContext& c) -> Result<std::vector<double>> {
    std::string stopped;
    std::vector<double> out(1, 0);
    for (const std::string& v : values) {
      out.push_back(RunIt(SleepJob(LateWith("cap=0.2," + parameter + "=" + v), c.seed), &stopped).seconds);
    }
    const auto flat = out.begin() + 1 + static_cast<std::ptrdiff_t>(flat_from);
    out[0] = *std::max_element(flat, out.end()) / *std::min_element(flat, out.end());
    return Numbers(std::move(out), stopped);
  };
  return f;
}

}  // namespace

Study LateStudy() {
  Study s;
  s.name = "late";
  s.title = "LATE: Zaharia et al., Improving MapReduce Performance in Heterogeneous Environments, OSDI 2008";
  s.parameters = {
      {"slots", "2 maps and 2 reduces at a time on each node", "Hadoop's default, papers.md 3.2: 486 maps on 243 VMs"},
      {"offer_period", "3 s", "Hadoop's heartbeat"},
      {"lists", "none: fifo; native: fifo,hadoop_speculation; LATE: fifo,late (its defaults)", "LATE 4.1"},
      {"sleep job", "40 nodes, 80 maps of 15 s, 76 reduces of 100 naps of U(0, 1.4 s) by the node's factor: 1 or 1.5, five 3, one 10",
       "LATE 5.4 as in papers.md 3.3; the number of tasks: its replica run"},
  };
  s.figures = {SpeculativeCap(),
               Threshold("fig11", "slow_task", {"0.05", "0.1", "0.15", "0.25", "0.5", "0.75", "1"}, 3),
               Threshold("fig12", "slow_node", {"0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5"}, 2)};
  return s;
}

}  // namespace mr::sim
