// LATE (Zaharia et al., OSDI'08): its figures and tables whose numbers are known.
#include <algorithm>

#include "master/sim/studies/late_setups.h"
#include "master/sim/studies/reproduce.h"

namespace mr::sim {

namespace {

struct Ran {
  double seconds = 0, wasted = 0;
  uint64_t speculative = 0, speculative_reduces = 0;
};

// Runs one list. *stopped is set if the simulation stopped.
Ran RunIt(Experiment experiment, std::string* stopped) {
  Simulation run(std::move(experiment));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) *stopped = wrong;
  const Totals& t = run.totals();
  return {run.jobs()[0].ended - run.jobs()[0].submitted, t.wasted, t.extra, t.extra_reduces};
}

Result<std::vector<double>> Numbers(std::vector<double> numbers, const std::string& stopped) {
  if (!stopped.empty()) return Internal("the simulation stopped " + stopped);
  return numbers;
}

constexpr uint64_t kGB = 1'000'000'000;

// Reasons for lines that are missed or above, as the model's own runs show them.
constexpr const char* kSurplus =
    "Progress is exact here, so that Hadoop's rule finds the slow reduces that LATE does, and some others. What its "
    "surplus attempts take is charged "
    "(slots, disks where they run and where they read, adr/0004), but twice the work takes twice the time, no more. "
    "Reads that cost the disks "
    "which serve them four times as much, in a trial, slowed all lists alike (1.05 for 1.12 on uneven machines). "
    "LATE's own measurements of disks give no reason for "
    "more: seven machines on a host write 174 MB/s together, three 161.";
constexpr const char* kSameMaps =
    "Bound by maps that a straggler runs three to five times slow: when they are 60 s old they are more than 20 % "
    "behind, too, so that Hadoop's rule "
    "speculates on them when LATE does. LATE starts two to four times as many speculative attempts, and the others of "
    "them share cores with those that matter.";
constexpr const char* kFewTimesSlower =
    "Four more writers make a straggler's disk three times slow at most, since shares are even, against machines that "
    "are 2.5 times apart "
    "without them; what its reduces read loads it no more than other machines (adr/0004).";
constexpr const char* kMapBound =
    "Bound by maps, which a straggler runs three to five times slow: by how much depends on what a map computes, which "
    "is a guess.";
constexpr const char* kLocal =
    "As on EC2: Hadoop's surplus attempts take disks, but work only adds up. Ten of the 27 reduces begin on machines "
    "that are alone and end first; by then "
    "speculative attempts of the others have free slots, and disks 2.5 to 5 times as fast, under either rule. Load mix "
    "and size "
    "are from memory.";

// Runs one job under the three lists.
Figure Compare(const std::string& id, const std::string& what, const LoadMix& mix, const HadoopJob& job, Line native,
               Line none) {
  Figure f{id, what, {std::move(native), std::move(none)}, nullptr};
  for (const char* line :
       {"none, s", "native, s", "LATE, s", "native, speculative attempts", "LATE, speculative attempts"}) {
    f.lines.push_back({line});
  }
  f.run = [=](const RunContext& c) -> Result<std::vector<double>> {
    std::string stopped;
    const Ran without = RunIt(HadoopRun(mix, job, kNoSpeculation, c.seed), &stopped);
    const Ran hadoop = RunIt(HadoopRun(mix, job, kNative, c.seed), &stopped);
    const Ran late = RunIt(HadoopRun(mix, job, LateWith(""), c.seed), &stopped);
    return Numbers({hadoop.seconds / late.seconds, without.seconds / late.seconds, without.seconds, hadoop.seconds,
                    late.seconds, static_cast<double>(hadoop.speculative), static_cast<double>(late.speculative)},
                   stopped);
  };
  return f;
}

// Sort of 100 GB on machines alone on their hosts, and on seven machines per host.
Figure Packed() {
  Figure f{"packed",
           "LATE 2: Sort of 100 GB on isolated and on packed virtual machines, no speculation",
           {Gain("packed / isolated", 2.7), {"isolated, s", 408}, {"packed, s", 1094}},
           nullptr};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::string stopped;
    const HadoopJob sort = SortJob(100 * kGB, 437);
    const double alone = RunIt(HadoopRun(Ec2Mix({243}, 0), sort, kNoSpeculation, c.seed), &stopped).seconds;
    const double packed =
        RunIt(HadoopRun(Ec2Mix({0, 0, 0, 0, 0, 0, 35}, 0), sort, kNoSpeculation, c.seed), &stopped).seconds;
    return Numbers({packed / alone, alone, packed}, stopped);
  };
  return f;
}

// The load mix of the 243 machines, on 900 machines.
Figure NineHundred() {
  constexpr uint32_t kReduces = 1620;
  Figure f{
      "copies900",
      "LATE 2.2: reduces that Hadoop speculates on at 900 nodes, % (Sort, 128 MB a machine)",
      {{"native, % of reduces speculated on", 80, 60, kNoBound,
        "Machines of one load are equally fast here and end together. When those of one to three on a host do, "
        "which have half of the reduces, the "
        "others still copy: nine in ten reduces of five and more on a host get a speculative attempt, and a third of "
        "those of four."},
       {"native, s"}},
      nullptr};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::string stopped;
    const Ran r = RunIt(
        HadoopRun(Ec2Mix({148, 74, 56, 37, 30, 15, 7}, 0), SortJob(115 * kGB, kReduces), kNative, c.seed), &stopped);
    return Numbers({100.0 * static_cast<double>(r.speculative_reduces) / kReduces, r.seconds}, stopped);
  };
  return f;
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
    const Ran none = RunIt(SleepJob(kNoSpeculation, c.seed), &stopped),
              native = RunIt(SleepJob(kNative, c.seed), &stopped);
    std::vector<Ran> late;
    for (const char* cap : kCaps) {
      late.push_back(RunIt(SleepJob(LateWith(std::string("cap=") + cap), c.seed), &stopped));
    }
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

// Seconds at each value of one parameter, and the spread (largest / smallest) from value `flat_from` on.
Figure Threshold(const std::string& id, const std::string& parameter, std::vector<std::string> values,
                 size_t flat_from) {
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
      {"slots", "2 maps and 2 reduces at a time on each node", "Hadoop's default; LATE 5.1: 486 maps on 243 machines"},
      {"offer_period, reports", "3 s", "Hadoop's heartbeat"},
      {"launch_delay", "3 s", "a heartbeat"},
      {"lists", "none: fifo; native: fifo,hadoop_speculation; LATE: fifo,late (its defaults)", "LATE 2.1, 4.1"},
      {"disk by machines on a host", "61.8, 56.5, 53.6, 46.4, 34.2, 25.4, 24.8 MB/s each, while so many use it",
       "LATE 5.1"},
      {"hosts by load", "40, 20, 15, 10, 8, 4, 2; in proportion where there are 100, 204 or 900 machines", "LATE 5.1"},
      {"local disks and hosts", "52.1, 20.9, 10.1 MB/s with 1, 2, 4 machines; 5, 3, 1 hosts", "LATE 5.2, from memory"},
      {"network", "1 Gbit/s a host", "Dolly's cluster (NSDI'13, 6)"},
      {"cores", "1 for each machine", "EC2's small instance"},
      {"computing", "merge 40 MB/s, Sort as a merge, Grep 2 MB/s and WordCount 1 MB/s a map, their reduces 10 MB/s",
       "guesses: TaskModel's; Sort changes nothing; the others for jobs of some minutes"},
      {"bytes out per byte in", "Sort 1, Grep 0.2, WordCount 0.05, shuffled and written",
       "Sort: its definition; the others are guesses"},
      {"blocks, replicas", "64 MB, 2 of input and output", "LATE 5.1: 486 maps of 30 GB; Hadoop; from memory"},
      {"disk bytes per byte",
       "read 1, map's output 1, reduce's output 1 on each of two; copied: 4 times 9.4 where it "
       "goes to, 9.4 where it comes from",
       "a block, an output: one stream, as of the dd that measured the disks; copying (write, merge, read) is of many "
       "small files, and the slowest phase of a "
       "reduce (LATE 2.2); its factor is calibrated on one absolute time: isolated Sort takes 408 s (LATE 2), "
       "on 243 machines"},
      {"stragglers", "4 processes that compute and 4 that write, for ever", "LATE 5.1, from memory"},
      {"noise", "lognormal, sigma 0.15, of computing", "a guess, as in model.h"},
      {"sleep job",
       "40 nodes, 80 maps of 15 s, 76 reduces of 100 naps of U(0, 1.4 s) by the node's factor: 1 or 1.5, "
       "five 3, one 10",
       "LATE 5.4; the number of tasks: all slots in one wave, 95 % of them for the reduces"},
  };
  const LoadMix het = Ec2Mix({40, 20, 15, 10, 8, 4, 2}, 0), hundred = Ec2Mix({16, 8, 6, 4, 3, 2, 1}, 8),
                two_hundred = Ec2Mix({35, 17, 12, 8, 7, 3, 2}, 8);
  Line none_sort = Gain("none / LATE", 3.2, kFewTimesSlower);
  none_sort.low = 2;  // lowest accepted ratio
  s.figures = {
      Packed(),
      Compare("heterogeneous", "LATE 5.1: Sort of 30 GB on 243 virtual machines of 99 hosts", het,
              SortJob(30 * kGB, 437), Gain("native / LATE", 1.27, kSurplus), Gain("none / LATE", 1.31)),
      Compare("stragglers", "LATE 5.1: Sort of 25 GB on 100 virtual machines, 8 stragglers", hundred,
              SortJob(25 * kGB, 180), Gain("native / LATE", 1.58, kSurplus), none_sort),
      Compare("grep", "LATE 5.1: Grep in 43 GB on 204 virtual machines, 8 stragglers", two_hundred,
              GrepJob(43 * kGB, 367), Gain("native / LATE", 1.36, kSameMaps), Gain("none / LATE", 1.57, kMapBound)),
      Compare("wordcount", "LATE 5.1: WordCount of 21 GB on 204 virtual machines, 8 stragglers", two_hundred,
              WordCountJob(21 * kGB, 367), Gain("native / LATE", 1.085, kSameMaps),
              Gain("none / LATE", 2.79, kMapBound)),
      Compare("local", "LATE 5.2: Sort of 2 GB on 15 virtual machines of 9 hosts", LocalMix(0),
              SortJob(1'920'000'000, 27), Gain("native / LATE", 2.62, kLocal), Gain("none / LATE", 2.04, kLocal)),
      Compare("local_stragglers", "LATE 5.2: the same with 2 stragglers", LocalMix(2), SortJob(1'920'000'000, 27),
              Gain("native / LATE", 1.53, kLocal), Gain("none / LATE", 2.21, kLocal)),
      NineHundred(),
      SpeculativeCap(),
      Threshold("fig11", "slow_task", {"0.05", "0.1", "0.15", "0.25", "0.5", "0.75", "1"}, 3),
      Threshold("fig12", "slow_node", {"0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5"}, 2)};
  return s;
}

}  // namespace mr::sim
