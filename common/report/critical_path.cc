#include "common/report/critical_path.h"

#include <algorithm>

namespace mr::report {
namespace {

constexpr size_t kNone = SIZE_MAX;

// Builds the segments from the end to the beginning.
class Tracer {
 public:
  Tracer(const JobRun& run, const Timeline& timeline) : run_(run), timeline_(timeline) {}

  std::vector<Segment> Trace() {
    cursor_ = run_.job.elapsed_us;
    size_t at = Last();
    if (at == kNone) {
      Until(0, SegmentKind::kQueue, kNoStage, kNone);
    } else if (!timeline_.attempts()[at].runs) {
      Until(timeline_.attempts()[at].ended, SegmentKind::kCommit, kNoStage, kNone);
    }
    while (at != kNone) at = Attempt(at);
    std::reverse(segments_.begin(), segments_.end());
    return std::move(segments_);
  }

 private:
  // Returns the attempt that ended last. Attempts that lost do not decide a job's end, unless none won.
  size_t Last() const {
    size_t last = kNone;
    bool last_counts = false;
    for (size_t i = 0; i < timeline_.attempts().size(); ++i) {
      const Interval& at = timeline_.attempts()[i];
      const bool counts =
          at.status->won || at.runs || (run_.job.state == JobState::kFailed && at.status->state == "failed");
      if (last == kNone || counts > last_counts ||
          (counts == last_counts && at.ended > timeline_.attempts()[last].ended)) {
        last = i;
        last_counts = counts;
      }
    }
    return last;
  }

  // Adds the segment from `from` to the cursor, and moves the cursor there.
  void Until(uint64_t from, SegmentKind kind, uint32_t stage, size_t attempt) {
    if (from >= cursor_) return;
    segments_.push_back({kind, stage, attempt, from, cursor_});
    cursor_ = from;
  }

  // Returns the upstream attempt that committed last before `by`, or kNone.
  size_t LastInput(const Interval& at, uint64_t by) const {
    size_t last = kNone;
    for (const uint32_t stage : UpstreamOf(run_.spec.stages[at.id.task.stage])) {
      if (stage >= run_.spec.stages.size()) continue;
      for (const size_t i : timeline_.CommittedOf(stage)) {
        const uint64_t ended = timeline_.attempts()[i].ended;
        if (ended > by) break;
        if (last == kNone || ended > timeline_.attempts()[last].ended) last = i;
      }
    }
    return last;
  }

  // Adds the segments of an attempt and of the wait before it. Returns the attempt that goes on with the path.
  size_t Attempt(size_t index) {
    const Interval& at = timeline_.attempts()[index];
    const uint32_t stage = at.id.task.stage;
    const size_t input = LastInput(at, std::min(at.inputs, cursor_));
    const uint64_t ready = input == kNone ? 0 : timeline_.attempts()[input].ended;
    Until(std::max(at.inputs, ready), SegmentKind::kCompute, stage, index);
    Until(std::max(at.started, ready), SegmentKind::kShuffle, stage, index);
    Until(std::max(at.launched, ready), SegmentKind::kLaunch, stage, index);
    Before(at, ready);
    Until(ready, SegmentKind::kQueue, stage, index);
    return input;
  }

  // Adds what the task's earlier attempts took before this one was launched.
  void Before(const Interval& at, uint64_t ready) {
    const std::vector<size_t>& attempts = timeline_.Of(at.id.task.stage, at.id.task.task);
    size_t first = kNone;
    bool failed = false;
    for (const size_t i : attempts) {
      const Interval& other = timeline_.attempts()[i];
      if (&other == &at || other.launched >= cursor_ || other.ended < ready) continue;
      if (first == kNone) first = i;
      failed |= other.ended <= at.launched;
    }
    if (first == kNone) return;
    const uint64_t from = std::max(timeline_.attempts()[first].launched, ready);
    Until(from, failed ? SegmentKind::kFailed : SegmentKind::kSlow, at.id.task.stage, first);
  }

  const JobRun& run_;
  const Timeline& timeline_;
  uint64_t cursor_ = 0;
  std::vector<Segment> segments_;
};

}  // namespace

const char* Word(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kQueue: return "queue";
    case SegmentKind::kFailed: return "failed";
    case SegmentKind::kSlow: return "slow";
    case SegmentKind::kLaunch: return "launch";
    case SegmentKind::kShuffle: return "shuffle";
    case SegmentKind::kCompute: return "compute";
    case SegmentKind::kCommit: return "commit";
  }
  return "?";
}

std::string Describe(SegmentKind kind, uint32_t stage, const JobRun& run) {
  std::string name = stage < run.spec.stages.size() ? "stage " + run.spec.stages[stage].name + ": " : std::string();
  switch (kind) {
    case SegmentKind::kQueue: return name + "waited for a slot";
    case SegmentKind::kFailed: return name + "repeated failed or lost attempts";
    case SegmentKind::kSlow: return name + "waited for a slow attempt until another one was launched";
    case SegmentKind::kLaunch: return name + "started the process";
    case SegmentKind::kShuffle: return name + "copied its input";
    case SegmentKind::kCompute: return name + "computed";
    case SegmentKind::kCommit: return name + "committed the output";
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
