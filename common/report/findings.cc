#include "common/report/findings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/base/text.h"
#include "common/report/phrases.h"

namespace mr::report {
namespace {

// Guesses. Less of the job's time is not worth a sentence.
constexpr double kShare = 0.1, kQueueShare = 0.2, kStageShare = 0.3;
constexpr double kSlowWorker = 1.5, kSlowTask = 2;  // times the median of the stage
constexpr double kUsualInput = 1.5;                 // times the median input: longer tasks than that have more to do
constexpr size_t kComparable = 4;                   // committed attempts of a stage, to know what is usual
constexpr uint64_t kShortTaskUs = 100'000;          // below, the start of processes decides
constexpr uint64_t kLongTaskUs = 1'000'000;         // worth splitting
constexpr uint64_t kSplitBytes = 16 << 20;          // per map task, worth splitting
constexpr double kLaunchShare = 0.3, kManyWaves = 4;

class Finder {
 public:
  Finder(const JobRun& run, const Timeline& timeline, const CriticalPath& path)
      : run_(run), timeline_(timeline), path_(path), usual_(run.spec.stages.size()) {
    std::vector<std::vector<uint64_t>> inputs(run.spec.stages.size());
    for (const TaskStatus& task : run.tasks) {
      if (task.stage >= inputs.size()) continue;
      inputs[task.stage].push_back(task.input_bytes);
      input_bytes_[task.id] = task.input_bytes;
    }
    for (uint32_t s = 0; s < usual_.size(); ++s) {
      std::sort(inputs[s].begin(), inputs[s].end());
      const std::vector<uint64_t> times = timeline.RunTimes(s);
      usual_[s] = {times.size(), MedianOf(times), MedianOf(inputs[s])};
    }
  }

  std::vector<Finding> Find() {
    Failures();
    LostWorkers();
    HotKeys();
    SlowWorkers();
    SlowTasks();
    FullQueue();
    for (uint32_t s = 0; s < run_.spec.stages.size(); ++s) {
      TooFewTasks(s);
      TooManyTasks(s);
    }
    std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) {
      return a.problem != b.problem ? a.problem : a.share > b.share;
    });
    return std::move(found_);
  }

 private:
  struct Usual {
    size_t committed = 0;
    uint64_t ran_us = 0, input_bytes = 0;  // medians
  };

  const std::string& StageName(uint32_t stage) const { return run_.spec.stages[stage].name; }
  double ShareOf(uint64_t us) const {
    return path_.us == 0 ? 0 : static_cast<double>(us) / static_cast<double>(path_.us);
  }
  // Not known where no repeated attempt is on the critical path: something else was the cause there.
  double FailedShare() const {
    const double share = path_.ShareOf(SegmentKind::kFailed);
    return share > 0 ? share : -1;
  }
  bool Comparable(uint32_t stage) const {
    return usual_[stage].committed >= kComparable && usual_[stage].ran_us >= kShortTaskUs;
  }
  double Ratio(const Interval& at) const {
    return static_cast<double>(at.ran()) / static_cast<double>(usual_[at.id.task.stage].ran_us);
  }
  // Returns whether its task has more to read than others, so that a longer run says nothing about its worker.
  bool MoreInput(const Interval& at) const {
    const auto it = input_bytes_.find(Name(at.id.task, run_.spec.stages[at.id.task.stage].letter()));
    const double usual = static_cast<double>(usual_[at.id.task.stage].input_bytes);
    return it != input_bytes_.end() && static_cast<double>(it->second) > kUsualInput * usual;
  }

  void Failures() {
    size_t user = 0, environment = 0;
    const Interval* last = nullptr;
    uint64_t ran = 0;
    for (const Interval& at : timeline_.attempts()) {
      const std::string& failure = at.status->failure;
      if (failure != "user" && failure != "environment") continue;
      ++(failure == "user" ? user : environment);
      ran += at.ran();
      if (last == nullptr || at.ended >= last->ended) last = &at;
    }
    if (last == nullptr) return;
    Finding f{"failed_attempts", true, last->id.task.stage, "", FailedShare(), "", ""};
    f.text = CountOf(user + environment, "attempt") + " failed after " + Us(ran) + " of slot time";
    if (user > 0 && environment > 0) f.text += ", " + Grouped(user) + " by the operator";
    const std::string& message = last->status->message;
    f.text += ". The last one was " + last->status->id + " on " + last->status->worker +
              (message.empty() ? "." : ": " + message.substr(0, message.find('\n')));
    f.advice = "Read its log: mrctl logs " + last->status->id;
    if (user > 0) f.advice += ". Run it again at your desk: mrctl task replay " + last->status->id;
    found_.push_back(std::move(f));
  }

  void LostWorkers() {
    struct Loss {
      size_t attempts = 0, outputs = 0;
    };
    std::map<std::string, Loss> lost;
    for (const Interval& at : timeline_.attempts()) {
      if (at.status->failure == "lost") ++lost[at.status->worker].attempts;
    }
    for (const DecisionStatus& d : run_.decisions) {
      if (d.what == "output lost") ++lost[d.worker].outputs;
    }
    for (const auto& [worker, loss] : lost) {
      Finding f{"lost_worker", true, kNoStage, worker, FailedShare(), "", ""};
      f.text = "Worker " + worker + " or its data were lost: ";
      if (loss.attempts > 0) f.text += CountOf(loss.attempts, "attempt");
      if (loss.attempts > 0 && loss.outputs > 0) f.text += " and ";
      if (loss.outputs > 0) f.text += CountOf(loss.outputs, "output");
      f.text += " had to be repeated or read elsewhere.";
      f.advice = "See what happened to it: mrctl why " + worker + ", and the log of its mrworker";
      found_.push_back(std::move(f));
    }
  }

  void HotKeys() {
    for (const SkewStatus& skew : run_.job.skew) {
      for (uint32_t s = 0; s < run_.spec.stages.size(); ++s) {
        const std::vector<uint32_t> upstream = UpstreamOf(run_.spec.stages[s]);
        if (std::find(upstream.begin(), upstream.end(), skew.stage) == upstream.end()) continue;
        const std::vector<uint64_t> times = timeline_.RunTimes(s);
        if (times.empty()) continue;
        const uint64_t excess = times.back() - MedianOf(times);
        if (ShareOf(excess) < kShare) continue;
        Finding f{"hot_key", true, s, "", ShareOf(excess), "", ""};
        const double part =
            skew.stage_bytes == 0 ? 0 : static_cast<double>(skew.bytes) / static_cast<double>(skew.stage_bytes);
        f.text = "Stage " + StageName(s) + " waited " + Percent(f.share) + " of the job's time for one hot key: '" +
                 skew.key + "'" + (skew.cut ? "..." : "") + " has " + Percent(part) + " of the bytes of its input.";
        f.advice =
            "Combine before the shuffle where the operator allows it, or spread the key: add a number to it and "
            "merge the parts in a second stage. A join may read the small side by broadcast.";
        found_.push_back(std::move(f));
        break;
      }
    }
  }

  // A worker counts as slow in a stage if at least two of its attempts there are, and not by their input.
  void SlowWorkers() {
    struct Seen {
      std::vector<double> ratios;
      uint64_t excess = 0;
      size_t overtaken = 0;
    };
    std::map<std::string, std::map<uint32_t, Seen>> by_worker;
    for (const Interval& at : timeline_.attempts()) {
      if (at.runs || !Comparable(at.id.task.stage) || MoreInput(at)) continue;
      const bool killed = at.status->failure == "killed";
      if (!at.status->won && !killed) continue;
      const double ratio = Ratio(at);
      Seen& seen = by_worker[at.status->worker][at.id.task.stage];
      if (killed && ratio < kSlowWorker) continue;  // it was stopped too early to know
      const uint64_t usual = usual_[at.id.task.stage].ran_us;
      seen.ratios.push_back(ratio);
      seen.overtaken += killed;
      if (at.ran() > usual) seen.excess += at.ran() - usual;
    }
    if (by_worker.size() < 2) return;
    for (auto& [worker, stages] : by_worker) {
      Seen slow;
      for (auto& [stage, seen] : stages) {
        std::sort(seen.ratios.begin(), seen.ratios.end());
        if (seen.ratios.size() < 2 || seen.ratios[(seen.ratios.size() - 1) / 2] < kSlowWorker) continue;
        slow.ratios.insert(slow.ratios.end(), seen.ratios.begin(), seen.ratios.end());
        slow.excess += seen.excess;
        slow.overtaken += seen.overtaken;
      }
      if (slow.ratios.empty() || ShareOf(slow.excess) < kShare) continue;
      slow_workers_.push_back(worker);
      AddSlowWorker(worker, slow.ratios, slow.overtaken);
    }
  }

  void AddSlowWorker(const std::string& worker, std::vector<double> ratios, size_t overtaken) {
    std::sort(ratios.begin(), ratios.end());
    const double ratio = ratios[(ratios.size() - 1) / 2];
    uint64_t on_path = 0;
    for (const Segment& s : path_.segments) {
      if (s.attempt != SIZE_MAX && timeline_.attempts()[s.attempt].status->worker == worker) on_path += s.us();
    }
    Finding f{"slow_worker", true, kNoStage, worker, ShareOf(on_path) * (1 - 1 / ratio), "", ""};
    f.text = "Worker " + worker + " was slow: " + CountOf(ratios.size(), "attempt") + " took " + TimesOf(ratio) +
             " the median of their stage" +
             (overtaken == 0 ? "." : "; " + CountOf(overtaken, "attempt") + " were overtaken elsewhere.");
    f.advice = "Look for other load or a failing disk: mrctl worker show " + worker +
               ". Take it out of use meanwhile: mrctl worker drain " + worker;
    found_.push_back(std::move(f));
  }

  // Slow attempts on the critical path that neither their input nor their worker explains.
  void SlowTasks() {
    for (const Segment& s : path_.segments) {
      if (s.attempt == SIZE_MAX) continue;
      const Interval& at = timeline_.attempts()[s.attempt];
      const uint32_t stage = at.id.task.stage;
      if (!Comparable(stage) || MoreInput(at) || Ratio(at) < kSlowTask) continue;
      if (std::find(slow_workers_.begin(), slow_workers_.end(), at.status->worker) != slow_workers_.end()) continue;
      const uint64_t excess = std::min(s.us(), at.ran() - usual_[stage].ran_us);
      const bool named = std::any_of(found_.begin(), found_.end(), [&](const Finding& f) {
        return std::string_view(f.id) == "slow_task" && f.stage == stage;
      });
      if (named || ShareOf(excess) < kShare) continue;
      Finding f{"slow_task", true, stage, at.status->worker, ShareOf(excess), "", ""};
      f.text = "Stage " + StageName(stage) + " waited " + Percent(f.share) + " of the job's time for " + at.status->id +
               ", which took " + TimesOf(Ratio(at)) + " the median of its stage with no more input.";
      f.advice = "See what was decided about it: mrctl why " + at.status->id;
      found_.push_back(std::move(f));
    }
  }

  void FullQueue() {
    uint64_t waited = 0;
    double own = 0;  // slot time of this job meanwhile
    for (const Segment& s : path_.segments) {
      if (s.kind != SegmentKind::kQueue) continue;
      waited += s.us();
      own += timeline_.MeanRunning(s.from, s.to) * static_cast<double>(s.us());
    }
    if (waited < kLongTaskUs || ShareOf(waited) < kQueueShare) return;
    // Slots that the job itself held are no wait for others.
    if (own / static_cast<double>(waited) >= 0.5 * timeline_.slots()) return;
    Finding f{"full_queue", true, kNoStage, "", ShareOf(waited), "", ""};
    f.text = "The job waited " + Percent(f.share) + " of its time for slots that other jobs held (queue " +
             (run_.job.queue.empty() ? "default" : run_.job.queue) + ").";
    f.advice =
        "See who holds them: mrctl queues. Raise the queue's weight or min share (mrctl queue set), or the "
        "job's priority, or add workers.";
    found_.push_back(std::move(f));
  }

  void TooFewTasks(uint32_t s) {
    const StageSpec& spec = run_.spec.stages[s];
    const StageStatus* status = s < run_.job.stages.size() ? &run_.job.stages[s] : nullptr;
    const double share = path_.ShareOf(SegmentKind::kCompute, s) + path_.ShareOf(SegmentKind::kShuffle, s);
    if (status == nullptr || share < kStageShare || usual_[s].ran_us < kLongTaskUs) return;
    const uint32_t slots = timeline_.slots();
    if (status->tasks == 0 || status->tasks * 2 > slots) return;
    const bool shuffled = std::any_of(spec.inputs.begin(), spec.inputs.end(), [](const InputSpec& input) {
      return input.is_edge && input.kind == EdgeKind::kAllToAll;
    });
    if (!shuffled && (!spec.reads_files() || status->input_bytes / status->tasks < kSplitBytes)) return;
    uint64_t from = UINT64_MAX, to = 0;
    for (const size_t i : timeline_.CommittedOf(s)) {
      from = std::min(from, timeline_.attempts()[i].launched);
      to = std::max(to, timeline_.attempts()[i].ended);
    }
    const double busy = timeline_.MeanRunning(from, to);
    if (busy * 2 > slots) return;
    Finding f{"too_few_tasks", false, s, "", share, "", ""};
    f.text = Grouped(static_cast<uint64_t>(slots - std::lround(busy))) + " of " + Grouped(slots) +
             " slots were idle for lack of tasks while stage " + spec.name + " ran with " +
             CountOf(status->tasks, "task") + " (" + Percent(share) + " of the job's time).";
    f.advice = shuffled ? "Raise --reduces, for example to " + Grouped(slots) + "."
                        : "Make the splits smaller, for example --conf max_split_bytes=16m.";
    found_.push_back(std::move(f));
  }

  void TooManyTasks(uint32_t s) {
    uint64_t launch = 0, ran = 0;
    for (const size_t i : timeline_.CommittedOf(s)) {
      launch += timeline_.attempts()[i].started - timeline_.attempts()[i].launched;
      ran += timeline_.attempts()[i].ran();
    }
    const size_t tasks = timeline_.CommittedOf(s).size();
    if (static_cast<double>(tasks) < kManyWaves * timeline_.slots() || ran == 0) return;
    const double share = static_cast<double>(launch) / static_cast<double>(ran);
    if (share < kLaunchShare || ShareOf(ran / std::max<uint32_t>(1, timeline_.slots())) < kStageShare) return;
    Finding f{"too_many_tasks", false, s, "", -1, "", ""};
    f.text = "Stage " + StageName(s) + " has " + CountOf(tasks, "task") + " of " + Us(usual_[s].ran_us) +
             " each, and " + Percent(share) + " of that is the start of processes.";
    f.advice = run_.spec.stages[s].is_map() ? "Make the splits larger (--conf max_split_bytes), or merge small files."
                                            : "Lower --reduces.";
    found_.push_back(std::move(f));
  }

  const JobRun& run_;
  const Timeline& timeline_;
  const CriticalPath& path_;
  std::vector<Usual> usual_;  // by stage
  std::map<std::string, uint64_t> input_bytes_;
  std::vector<std::string> slow_workers_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> FindProblems(const JobRun& run, const Timeline& timeline, const CriticalPath& path) {
  return Finder(run, timeline, path).Find();
}

}  // namespace mr::report
