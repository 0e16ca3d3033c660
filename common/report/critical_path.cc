#include "common/report/critical_path.h"

#include <algorithm>

namespace mr::report {
namespace {

constexpr size_t kNone = SIZE_MAX;
// From the end of an attempt to the launch of the next one in its slot: two offer periods of the master, a guess.
constexpr uint64_t kHandOverUs = 200'000;

// Builds the segments from the end to the beginning.
class Tracer {
 public:
  Tracer(const JobRun& run, const Timeline& timeline)
      : run_(run), timeline_(timeline), all_(timeline.attempts()), ends_of_worker_(timeline.workers().size()) {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].runs) ends_.push_back(i);
    }
    std::stable_sort(ends_.begin(), ends_.end(), [this](size_t a, size_t b) { return all_[a].ended < all_[b].ended; });
    for (const size_t i : ends_) ends_of_worker_[all_[i].worker].push_back(i);
  }

  std::vector<Segment> Trace() {
    cursor_ = run_.job.elapsed_us;
    size_t at = Last();
    Tail(at == kNone ? 0 : all_[at].ended);
    // An attempt is on the path once. Attempts of no length, in damaged records, could name each other.
    for (size_t steps = 0; at != kNone && cursor_ > 0 && steps < all_.size(); ++steps) at = Attempt(at);
    Until(0, SegmentKind::kQueue, segments_.empty() ? kNoStage : segments_.back().stage, kNone);
    std::reverse(segments_.begin(), segments_.end());
    return std::move(segments_);
  }

 private:
  // Returns whether an attempt may have decided when the job ended. Those that lost did not.
  bool Counts(const Interval& at) const {
    if (at.status->won) return true;
    if (!Ended(run_.job.state) && run_.job.state != JobState::kKilling) return at.runs;
    if (run_.job.state == JobState::kFailed) return at.status->state == "failed";
    return run_.job.state != JobState::kSucceeded && run_.job.state != JobState::kCommitting;
  }

  // Returns the attempt that ended last.
  size_t Last() const {
    size_t last = kNone;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!Counts(all_[i])) continue;
      const bool later = last == kNone || all_[i].ended > all_[last].ended;
      if (later || (all_[i].ended == all_[last].ended && all_[i].status->won)) last = i;
    }
    return last;
  }

  // Adds the time after the last attempt.
  void Tail(uint64_t ended) {
    const JobState state = run_.job.state;
    if (state == JobState::kSucceeded || state == JobState::kCommitting)
      Until(ended, SegmentKind::kCommit, kNoStage, kNone);
    else if (Ended(state) || state == JobState::kKilling)
      Until(ended, SegmentKind::kStop, kNoStage, kNone);
    else
      Until(ended, WaitsForInput() ? SegmentKind::kInput : SegmentKind::kQueue, FirstOpenStage(), kNone);
  }

  // Returns whether the master says why nothing runs, and names no pending task.
  bool WaitsForInput() const {
    const auto pending = [](const std::string& line) { return line.find(" is pending: ") != std::string::npos; };
    return !run_.job.waits.empty() && std::none_of(run_.job.waits.begin(), run_.job.waits.end(), pending);
  }

  uint32_t FirstOpenStage() const {
    for (uint32_t s = 0; s < run_.job.stages.size(); ++s) {
      const StageStatus& stage = run_.job.stages[s];
      if (!stage.planned || stage.done < stage.tasks) return s;
    }
    return kNoStage;
  }

  // Adds the segment from `from` to the cursor, and moves the cursor there.
  void Until(uint64_t from, SegmentKind kind, uint32_t stage, size_t attempt) {
    if (from >= cursor_) return;
    segments_.push_back({kind, stage, attempt, from, cursor_});
    cursor_ = from;
  }

  // Adds the segments of an attempt and of the wait before it. Returns the attempt that goes on with the path.
  size_t Attempt(size_t index) {
    const Interval& at = all_[index];
    const uint32_t stage = at.id.task.stage;
    const uint64_t ready = std::min(at.ready, cursor_);
    Until(std::max(at.inputs, ready), SegmentKind::kCompute, stage, index);
    Until(std::max(at.started, ready), SegmentKind::kShuffle, stage, index);
    Until(std::max(at.launched, ready), SegmentKind::kLaunch, stage, index);
    if (cursor_ <= ready) return at.input;
    if (const size_t lost = LostOutput(at); lost != kNone) {
      // The output was there. It is not known when it was lost.
      Until(std::max(ready, all_[lost].ended), SegmentKind::kFailed, stage, lost);
      return EndedBefore(cursor_, kNone);
    }
    Earlier(at, ready);
    if (cursor_ <= ready) return at.input;
    const size_t holder = EndedBefore(cursor_, at.worker);
    if (holder != kNone && all_[holder].ended > ready && cursor_ - all_[holder].ended <= kHandOverUs) {
      Until(all_[holder].ended, SegmentKind::kQueue, stage, index);
      return holder;
    }
    Until(ready, SegmentKind::kQueue, stage, index);
    return at.input;
  }

  // Returns an attempt of the same task that had committed before this one was launched: its output was lost.
  size_t LostOutput(const Interval& at) const {
    size_t lost = kNone;
    for (const size_t i : timeline_.Of(at.id.task.stage, at.id.task.task)) {
      if (&all_[i] != &at && all_[i].status->won && all_[i].ended <= at.launched) lost = i;
    }
    return lost;
  }

  // Returns the attempt that ended last at or before `by`, on this worker (kNone: on any), and was launched before.
  size_t EndedBefore(uint64_t by, size_t worker) const {
    const std::vector<size_t>& ends = worker == kNone ? ends_ : ends_of_worker_[worker];
    auto it =
        std::upper_bound(ends.begin(), ends.end(), by, [this](uint64_t end, size_t i) { return end < all_[i].ended; });
    while (it != ends.begin()) {
      if (all_[*--it].launched < by) return *it;
    }
    return kNone;
  }

  // Adds what the task's earlier attempts took before this one was launched.
  void Earlier(const Interval& at, uint64_t ready) {
    size_t first = kNone;
    bool failed = false, preempted = true;
    for (const size_t i : timeline_.Of(at.id.task.stage, at.id.task.task)) {
      const Interval& other = all_[i];
      if (&other == &at || other.launched >= cursor_ || other.ended < ready) continue;
      if (first == kNone) first = i;
      const std::string& failure = other.status->failure;
      failed |= other.ended <= at.launched && (failure == "user" || failure == "environment" || failure == "lost");
      preempted &= failure == "preempted";
    }
    if (first == kNone) return;
    const SegmentKind kind = failed ? SegmentKind::kFailed : preempted ? SegmentKind::kQueue : SegmentKind::kSlow;
    Until(std::max(all_[first].launched, ready), kind, at.id.task.stage, first);
  }

  const JobRun& run_;
  const Timeline& timeline_;
  const std::vector<Interval>& all_;
  std::vector<size_t> ends_;                         // attempts that have ended, by their end
  std::vector<std::vector<size_t>> ends_of_worker_;  // the same by worker
  uint64_t cursor_ = 0;
  std::vector<Segment> segments_;
};

}  // namespace

const char* Word(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kQueue: return "queue";
    case SegmentKind::kInput: return "input";
    case SegmentKind::kFailed: return "failed";
    case SegmentKind::kSlow: return "slow";
    case SegmentKind::kLaunch: return "launch";
    case SegmentKind::kShuffle: return "shuffle";
    case SegmentKind::kCompute: return "compute";
    case SegmentKind::kCommit: return "commit";
    case SegmentKind::kStop: return "stop";
  }
  return "?";
}

std::string Describe(SegmentKind kind, uint32_t stage, const JobRun& run) {
  std::string name = stage < run.spec.stages.size() ? "stage " + run.spec.stages[stage].name + ": " : std::string();
  switch (kind) {
    case SegmentKind::kQueue: return name + "waited for a slot";
    case SegmentKind::kInput: return name + "waited for its input";
    case SegmentKind::kFailed: return name + "repeated failed or lost attempts";
    case SegmentKind::kSlow: return name + "waited for a slow attempt until another one was launched";
    case SegmentKind::kLaunch: return name + "started the process";
    case SegmentKind::kShuffle: return name + "copied its input";
    case SegmentKind::kCompute: return name + "computed";
    case SegmentKind::kCommit: return name + "committed the output";
    case SegmentKind::kStop: return name + "stopped the job";
  }
  return name;
}

double CriticalPath::ShareOf(SegmentKind kind, uint32_t stage) const {
  double sum = 0;
  for (const Share& s : shares) {
    if (s.kind == kind && (stage == kNoStage || s.stage == stage)) sum += s.share;
  }
  return sum;
}

CriticalPath TraceCriticalPath(const JobRun& run, const Timeline& timeline) {
  CriticalPath path;
  path.us = run.job.elapsed_us;
  path.segments = Tracer(run, timeline).Trace();
  for (const Segment& s : path.segments) {
    auto it = std::find_if(path.shares.begin(), path.shares.end(),
                           [&s](const Share& share) { return share.kind == s.kind && share.stage == s.stage; });
    if (it == path.shares.end()) it = path.shares.insert(path.shares.end(), {s.kind, s.stage, 0, 0});
    it->us += s.us();
  }
  for (Share& s : path.shares) s.share = path.us == 0 ? 0 : static_cast<double>(s.us) / static_cast<double>(path.us);
  return path;
}

}  // namespace mr::report
