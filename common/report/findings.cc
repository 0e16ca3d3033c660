#include "common/report/findings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/abi/operator_table.h"
#include "common/base/count.h"
#include "common/base/text.h"
#include "common/report/one_line.h"
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
constexpr uint64_t kSplitBytes = 16 << 20;          // of a task, worth splitting
constexpr uint32_t kAttemptsPerMaster = 1000;       // AttemptId::number: so many for each restart of the master
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
    MissedDeadline();
    LostWorkers();
    HotKeys();
    UnusedCombiners();
    UnevenInput();
    SlowWorkers();
    SlowTasks();
    FullQueue();
    for (uint32_t s = 0; s < run_.spec.stages.size(); ++s) {
      TooFewTasks(s);
      TooManyTasks(s);
    }
    // The failure of a job goes before its delays.
    const bool job_failed = run_.job.state == JobState::kFailed;
    std::stable_sort(found_.begin(), found_.end(), [job_failed](const Finding& a, const Finding& b) {
      const auto ends = [&](const Finding& f) { return job_failed && std::string_view(f.id) == "failed_attempts"; };
      if (ends(a) != ends(b)) return ends(a);
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
  // Returns the share of the critical path that waited for the repetition of such attempts; below 0: none did.
  template <class Counts>
  double RepeatedShare(Counts counts) const {
    uint64_t us = 0;
    for (const Segment& s : path_.segments) {
      if (s.kind == SegmentKind::kFailed && s.attempt != SIZE_MAX && counts(timeline_.attempts()[s.attempt]))
        us += s.us();
    }
    return us == 0 ? -1 : ShareOf(us);
  }
  bool Comparable(uint32_t stage) const {
    return usual_[stage].committed >= kComparable && usual_[stage].ran_us >= kShortTaskUs;
  }
  double Ratio(const Interval& at) const {
    return static_cast<double>(at.worked()) / static_cast<double>(usual_[at.id.task.stage].ran_us);
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
    const double share = RepeatedShare(
        [](const Interval& at) { return at.status->failure == "user" || at.status->failure == "environment"; });
    const bool problem = run_.job.state == JobState::kFailed || share >= kShare;
    Finding f{"failed_attempts", problem, last->id.task.stage, "", share, "", "", ""};
    f.text = CountOf(user + environment, "attempt") + " failed after " + Us(ran) + " of slot time";
    if (user > 0 && environment > 0) f.text += ", " + Grouped(user) + " by the operator";
    const std::string& message = last->status->message;
    f.text = Sentence(f.text) + " " +
             Sentence("The last one was " + last->status->id + " on " + last->status->worker +
                      (message.empty() ? "" : ": " + OneLine(message)));
    f.advice = !run_.kept_logs.empty() ? "Read its log: " + run_.kept_logs + "/" + last->status->id + "."
               : run_.gone             ? "Run the job again with --keep-logs DIRECTORY, and read its log."
               : user > 0              ? ReplayAdvice(*last)
                                       : "Read its log.";
    f.command = "mrctl logs " + last->status->id;
    found_.push_back(std::move(f));
  }

  void MissedDeadline() {
    const uint64_t late = LateUs(run_.job);
    if (late == 0) return;
    const DeadlineStatus& deadline = *run_.job.deadline;
    Finding f{"missed_deadline", true, kNoStage, "", -1, "", "", ""};
    f.text = "The job missed its deadline of " + Us(deadline.deadline_us) + " by " + Us(late) +
             (Ended(run_.job.state) ? "." : " so far.");
    f.advice =
        !deadline.steered ? "No policy of the cluster's list gives slots by deadlines (mrctl schedulers)."
        : deadline.runs == 0
            ? "It was steered by a guess, since no earlier run was known. The next run is steered by this one."
            : "mrctl explain JOB --deadline TIME shows how many slots it needs. The other findings say what made "
              "it slower.";
    f.command = "mrctl job show " + Name(run_.job);
    found_.push_back(std::move(f));
  }

  std::string ReplayAdvice(const Interval& at) const {
    const uint32_t stage = at.id.task.stage;
    if (stage >= run_.spec.stages.size()) return "Read its log.";
    const bool own_library = !run_.spec.library.empty() && !run_.spec.stages[stage].builtin;
    return "Read its log, and run it again on this machine: mrctl task replay " + at.status->id +
           (own_library ? " --lib FILE.so, with the library of the job." : ".");
  }

  // An attempt is lost with its worker, and so is the output of one that had committed when a later one was launched.
  void LostWorkers() {
    struct Loss {
      size_t attempts = 0, outputs = 0;
    };
    std::map<std::string, Loss> lost;
    std::map<std::pair<uint32_t, uint32_t>, const Interval*>
        committed;  // by task: the last one, in the order of launch
    for (const Interval& at : timeline_.attempts()) {
      if (at.status->failure == "lost") ++lost[at.status->worker].attempts;
      const std::pair task{at.id.task.stage, at.id.task.task};
      const auto before = committed.find(task);
      if (before != committed.end() && before->second->ended <= at.launched) {
        ++lost[before->second->status->worker].outputs;
        committed.erase(before);
      }
      if (at.status->won) committed[task] = &at;
    }
    for (const auto& [worker, loss] : lost) {
      const double share = RepeatedShare([&name = worker](const Interval& at) { return at.status->worker == name; });
      Finding f{"lost_worker", true, kNoStage, worker, share, "", "", ""};
      f.text = "Worker " + worker + " or its data were lost: ";
      if (loss.attempts > 0) f.text += CountOf(loss.attempts, "attempt");
      if (loss.attempts > 0 && loss.outputs > 0) f.text += " and ";
      if (loss.outputs > 0) f.text += CountOf(loss.outputs, "output");
      f.text += " had to be made again.";
      f.advice = "See what happened to it, and read the log of its mrworker.";
      f.command = "mrctl why " + worker;
      found_.push_back(std::move(f));
    }
  }

  void HotKeys() {
    for (const SkewStatus& skew : run_.job.skew) {
      for (uint32_t s = 0; s < run_.spec.stages.size(); ++s) {
        const std::vector<uint32_t> upstream = UpstreamOf(run_.spec.stages[s]);
        if (std::find(upstream.begin(), upstream.end(), skew.stage) == upstream.end()) continue;
        const Interval* slowest = nullptr;
        for (const size_t at : timeline_.CommittedOf(s)) {
          const Interval& attempt = timeline_.attempts()[at];
          if (slowest == nullptr || attempt.worked() > slowest->worked()) slowest = &attempt;
        }
        // A key makes the task slow that reads it, which then has more input than others.
        if (slowest == nullptr || !MoreInput(*slowest)) continue;
        const uint64_t excess = slowest->worked() - std::min(slowest->worked(), usual_[s].ran_us);
        if (ShareOf(excess) < kShare) continue;
        Finding f{"hot_key", true, s, "", ShareOf(excess), "", "", ""};
        const double part =
            skew.stage_bytes == 0 ? 0 : static_cast<double>(skew.bytes) / static_cast<double>(skew.stage_bytes);
        f.text = "Stage " + StageName(s) + " waited " + Percent(f.share) + " of the job's time for one hot key. '" +
                 skew.key + "'" + (skew.cut ? "..." : "") + " has " + Percent(part) + " of the bytes of its input.";
        f.advice =
            std::string(Combines(skew.stage, s)
                            ? "Spread the key: add"
                            : "The plan does not combine before this shuffle: do so if the operator has a "
                              "combiner (Shuffle({.combine = true})). Else spread the key: add") +
            " a number to it and merge the parts in a second stage. A join may read the small side by broadcast.";
        found_.push_back(std::move(f));
        break;
      }
    }
  }

  // Returns whether the first of these stages combines the records that the second one reads.
  bool Combines(uint32_t from, uint32_t to) const {
    const std::vector<PortSpec>& ports = run_.spec.stages[from].ports;
    const std::vector<InputSpec>& inputs = run_.spec.stages[to].inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](const InputSpec& input) {
      return input.is_edge && input.stage == from && input.port < ports.size() && ports[input.port].combine;
    });
  }

  // Stages that read what an operator with a combiner wrote, where the plan does not use the combiner.
  void UnusedCombiners() {
    for (uint32_t s = 0; s < run_.spec.stages.size(); ++s) {
      const double share = path_.ShareOf(SegmentKind::kCompute, s) + path_.ShareOf(SegmentKind::kShuffle, s);
      if (share < kStageShare || share * static_cast<double>(path_.us) < kShortTaskUs) continue;
      for (const uint32_t from : UpstreamOf(run_.spec.stages[s])) {
        if (from >= s || (run_.spec.stages[from].flags & MR_ASSOCIATIVE) == 0 || Combines(from, s)) continue;
        Finding f{"unused_combiner", false, s, "", share, "", "", ""};
        f.text = "Stage " + StageName(s) + " took " + Percent(share) + " of the job's time. The operator of stage " +
                 StageName(from) + ", whose output it reads, has a combiner that the plan does not use.";
        f.advice = "Combine at its shuffle (Shuffle({.combine = true})): fewer records then reach stage " +
                   StageName(s) + ", also those of a hot key.";
        found_.push_back(std::move(f));
        break;
      }
    }
  }

  // A task with far more input than others, which no known key explains.
  void UnevenInput() {
    for (const Segment& s : path_.segments) {
      if (s.attempt == SIZE_MAX) continue;
      const Interval& at = timeline_.attempts()[s.attempt];
      const uint32_t stage = at.id.task.stage;
      if (!Comparable(stage) || !MoreInput(at) || Ratio(at) < kSlowTask) continue;
      const uint64_t excess = std::min(s.us(), at.worked() - usual_[stage].ran_us);
      const bool named = std::any_of(found_.begin(), found_.end(), [&](const Finding& f) {
        return f.stage == stage && (std::string_view(f.id) == "uneven_input" || std::string_view(f.id) == "hot_key");
      });
      if (named || ShareOf(excess) < kShare) continue;
      const StageSpec& spec = run_.spec.stages[stage];
      const uint64_t bytes = input_bytes_.at(Name(at.id.task, spec.letter()));
      Finding f{"uneven_input", true, stage, "", ShareOf(excess), "", "", ""};
      f.text = "Stage " + StageName(stage) + " waited " + Percent(f.share) + " of the job's time for " + at.status->id +
               ". Its task had " + HumanBytes(bytes) + " to read, the median of its stage is " +
               HumanBytes(usual_[stage].input_bytes) + "; it took " + TimesOf(Ratio(at)) + " the median.";
      f.advice = spec.reads_files()
                     ? "Smaller splits make tasks more equal (--conf max_split_bytes=SIZE); compressed files are not "
                       "split."
                     : "One part of the keys has much of the input: more reduces (--reduces) divide it, unless one key "
                       "has it.";
      f.command = "mrctl why " + at.status->id;
      found_.push_back(std::move(f));
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
      if (at.worked() > usual) seen.excess += at.worked() - usual;
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
    const double share = ShareOf(on_path) * (1 - 1 / ratio);
    Finding f{"slow_worker", share >= kShare, kNoStage, worker, on_path == 0 ? -1 : share, "", "", ""};
    f.text = "Worker " + worker + " was slow: " + CountOf(ratios.size(), "attempt") + " took " + TimesOf(ratio) +
             " the median of their stage" +
             (overtaken == 0 ? "." : "; " + CountOf(overtaken, "attempt") + " were overtaken elsewhere.");
    f.advice = "Look for other load or a failing disk there. mrctl worker drain takes it out of use meanwhile.";
    f.command = "mrctl worker show " + worker;
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
      const uint64_t excess = std::min(s.us(), at.worked() - usual_[stage].ran_us);
      const bool named = std::any_of(found_.begin(), found_.end(), [&](const Finding& f) {
        return std::string_view(f.id) == "slow_task" && f.stage == stage;
      });
      if (named || ShareOf(excess) < kShare) continue;
      Finding f{"slow_task", true, stage, at.status->worker, ShareOf(excess), "", "", ""};
      f.text = "Stage " + StageName(stage) + " waited " + Percent(f.share) + " of the job's time for " + at.status->id +
               ". It took " + TimesOf(Ratio(at)) + " the median of its stage with no more input.";
      f.advice = "See what was decided about it.";
      f.command = "mrctl why " + at.status->id;
      found_.push_back(std::move(f));
    }
  }

  // Returns how often the master was restarted since the submission, up to the newest attempt.
  uint32_t Restarts() const {
    uint32_t newest = 0;
    for (const Interval& at : timeline_.attempts()) newest = std::max(newest, at.id.number);
    return newest / kAttemptsPerMaster;
  }

  // A wait for slots that attempts of this job held is not in the path.
  void FullQueue() {
    const double share = path_.ShareOf(SegmentKind::kQueue);
    if (share * static_cast<double>(path_.us) < kLongTaskUs || share < kQueueShare) return;
    Finding f{"full_queue", true, kNoStage, "", share, "", "", ""};
    f.text = "The job waited " + Percent(share) + " of its time for slots that none of its own attempts held (queue " +
             (run_.job.queue.empty() ? "default" : run_.job.queue) + ").";
    const uint32_t restarts = Restarts();
    if (restarts > 0) {
      f.text += " The master was restarted meanwhile (" + CountOf(restarts, "time") +
                "): without it, and until its workers are back, nothing is launched.";
    }
    const uint32_t most = run_.queue_max_share;
    f.advice = run_.workers.empty() ? "No worker is registered: start one (mrworker --master)."
               : most > 0
                   ? "The queue may hold " + CountOf(most, "slot") +
                         " (its max share): if its jobs held them, raise it (mrctl queue set --max-share). If jobs of "
                         "other queues held the slots, raise the queue's weight or min share."
                   : "If other jobs held them, raise the queue's weight or min share (mrctl queue set), or the job's "
                     "priority, or add workers.";
    f.command = "mrctl queues";
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
    if (!shuffled && !spec.reads_files()) return;
    if (status->input_bytes / status->tasks < kSplitBytes) return;
    Finding f{"too_few_tasks", false, s, "", share, "", "", ""};
    f.text = "Stage " + spec.name + " ran with " + CountOf(status->tasks, "task") + " on a cluster of " +
             CountOf(slots, "slot") + ", for " + Percent(share) + " of the job's time. More tasks can use more slots.";
    f.advice = shuffled ? "Raise --reduces, for example to " + Grouped(std::min(slots, 4 * status->tasks)) +
                              (status->tasks > 1 ? "."
                                                 : ". It helps only if no single key has most of the records: with two "
                                                   "or more reduces, mrctl job show names such a key.")
                        : "Make the splits smaller, for example --conf max_split_bytes=16m.";
    found_.push_back(std::move(f));
  }

  void TooManyTasks(uint32_t s) {
    uint64_t launch = 0, ran = 0;
    for (const size_t i : timeline_.CommittedOf(s)) {
      if (timeline_.attempts()[i].status->started_us == 0) continue;  // not known
      launch += timeline_.attempts()[i].started - timeline_.attempts()[i].launched;
      ran += timeline_.attempts()[i].ran();
    }
    const size_t tasks = timeline_.CommittedOf(s).size();
    if (static_cast<double>(tasks) < kManyWaves * timeline_.slots() || ran == 0) return;
    const double share = static_cast<double>(launch) / static_cast<double>(ran);
    if (share < kLaunchShare || ShareOf(ran / std::max<uint32_t>(1, timeline_.slots())) < kStageShare) return;
    Finding f{"too_many_tasks", false, s, "", -1, "", "", ""};
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

uint64_t LateUs(const JobStatus& job) {
  if (!job.deadline || job.deadline->deadline_us == 0 || job.elapsed_us <= job.deadline->deadline_us) return 0;
  return job.elapsed_us - job.deadline->deadline_us;
}

std::vector<Finding> FindProblems(const JobRun& run, const Timeline& timeline, const CriticalPath& path) {
  return Finder(run, timeline, path).Find();
}

}  // namespace mr::report
