// The last report of a job whose output is in the block store: it is fed to the scheduler, which
// commits the job, only when each block of the output has a replica on a live worker.
//
// A part that was finished earlier may have lost its only replica since then. Its worker gets the
// time of a lost worker (NamespaceConfig::repair_delay) to come back; after that the report is fed,
// and the job fails with the name of the block. The wait leaves no trace in the journal: a report
// that is held has no verdict yet, and its worker sends it again to the next master.
#include <glog/logging.h>

#include <algorithm>

#include "master/server/brain.h"

namespace mr::master {
namespace {

// Whether this task is the only one of the job that has not committed.
bool IsLastTask(const JobView& job, const TaskId& task) {
  for (uint32_t stage = 0; stage < job.stages.size(); ++stage) {
    const StageView& view = job.stages[stage];
    if (!view.planned || view.done + (stage == task.stage ? 1 : 0) != view.tasks.size()) return false;
  }
  return task.stage < job.stages.size() && task.task < job.stages[task.stage].tasks.size() &&
         !job.stages[task.stage].tasks[task.task].committed;
}

}  // namespace

std::map<std::string, FileOutput> Brain::OutputsWith(const JobView& job, const std::vector<FileOutput>& last) {
  std::map<std::string, FileOutput> parts;
  for (FileOutput& part : job.Outputs()) parts[part.name] = std::move(part);
  for (const FileOutput& part : last) parts[part.name] = part;
  return parts;
}

std::string Brain::UnreadableBlock(const std::map<std::string, FileOutput>& parts, BlockId* found) const {
  for (const auto& [name, part] : parts) {
    for (const StagedBlock& block : part.blocks) {
      ++commit_looks_;
      // One that the namespace does not know comes back by no wait; PrepareCommit refuses it.
      const BlockId id = block.block.id;
      if (!namespace_.Unreadable(id)) continue;
      if (found != nullptr) *found = id;
      const auto located = namespace_.Find(id);
      std::string had;
      for (const WorkerId worker : block.workers) had += (had.empty() ? "" : ", ") + Name(worker);
      std::string text = "block " + std::to_string(id.value) + " of " + name + " has no replica on a live worker";
      if (!had.empty()) text += "; " + had + " had it";
      for (const std::string& damaged : located->damaged) text += "; the replica on " + damaged + " is damaged";
      return text;
    }
  }
  return "";
}

bool Brain::HoldForReplicas(WorkerId id, Incarnation incarnation, const NumberedReport& sent) {
  const mr::Report& report = sent.report;
  if (!std::holds_alternative<report::Finished>(report.what)) return false;
  const auto held = std::find_if(held_reports_.begin(), held_reports_.end(), [&](const HeldReport& h) {
    return h.worker == id && h.incarnation == incarnation && h.sent.report.attempt == report.attempt;
  });
  if (held != held_reports_.end()) {
    held->sent = sent;  // sent again behind a registration
    return true;
  }
  BlockId keeps;
  const std::string why = WhyHeld(id, incarnation, report, &keeps);
  if (why.empty()) return false;
  LOG(WARNING) << Name(report.attempt.task.job) << " is not committed yet: " << why;
  held_reports_.push_back({id, incarnation, Lived(), sent, keeps});
  return true;
}

bool Brain::WouldCommit(WorkerId id, Incarnation incarnation, const mr::Report& report) {
  const AttemptView* attempt = jobs_.Find(report.attempt);
  const JobView* job = jobs_.Find(report.attempt.task.job);
  if (job == nullptr || !job->in_dfs() || Ended(job->state) || !IsLastTask(*job, report.attempt.task)) return false;
  return attempt != nullptr && attempt->worker == id && attempt->incarnation == incarnation && Live(attempt->state);
}

std::string Brain::WhyHeld(WorkerId id, Incarnation incarnation, const mr::Report& report, BlockId* keeps) {
  if (!WouldCommit(id, incarnation, report)) return "";
  const JobView& job = *jobs_.Find(report.attempt.task.job);
  return UnreadableBlock(OutputsWith(job, std::get<report::Finished>(report.what).output.files), keeps);
}

bool Brain::StillHeld(HeldReport* held) {
  // All blocks are walked again only when the one that keeps it is back.
  if (namespace_.Unreadable(held->keeps)) return WouldCommit(held->worker, held->incarnation, held->sent.report);
  return !WhyHeld(held->worker, held->incarnation, held->sent.report, &held->keeps).empty();
}

void Brain::FeedHeldReports() {
  const Instant now = Lived();
  // A worker that came back while this master stood still is heard first.
  const bool may_be_over = now >= judge_from_ && !namespace_.in_safe_mode();
  for (size_t i = 0; i < held_reports_.size();) {
    HeldReport& held = held_reports_[i];
    WorkerView* worker = workers_.FindAlive(held.worker, held.incarnation);
    const bool over = may_be_over && now - held.since >= namespace_.config().repair_delay;
    if (worker != nullptr && !over && StillHeld(&held)) {
      ++i;
      continue;
    }
    HeldReport ready = std::move(held);
    held_reports_.erase(held_reports_.begin() + static_cast<ptrdiff_t>(i));
    if (worker == nullptr) continue;  // the attempt is lost with it
    Verdict verdict = Verdict::kNoted;
    const uint64_t number = ready.sent.number;
    const uint64_t hold = FeedReport(ready.worker, ready.incarnation, std::move(ready.sent.report), &verdict);
    outbox_.Hold(hold, [this, id = ready.worker, incarnation = ready.incarnation, number, verdict] {
      GiveVerdict(id, incarnation, number, verdict);
    });
  }
}

}  // namespace mr::master
