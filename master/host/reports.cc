#include "master/host/reports.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "common/base/text.h"

namespace mr::master {
namespace {

// Counts the starts of attempts that one event brings about. Not each start is reported by itself: the first progress
// of an attempt, or its end, may come before that.
class StartWatch {
 public:
  // Before the event.
  StartWatch(const MasterCore& core, const AttemptId& attempt) : core_(core), attempt_(attempt), start_(StartNow()) {}
  // Returns when the attempt had started before the event; 0: not yet.
  Instant start() const { return start_; }
  // Counts the start of an attempt whose end, at `end`, is its first report. took: from its start to its end, at most
  // since its launch. A report that is late, or of another worker, is not counted. Requires: before the event.
  void CountEnded(const Reporter& from, Instant end, Duration took, LatencyHistogram* start_times) const {
    const sched::Attempt* attempt = Find();
    if (attempt == nullptr || start_.ns != 0 || !from.Owns(*attempt) || !attempt->holds_slot()) return;
    start_times->Add(std::max(Duration{}, end - attempt->launched_at - took));
  }
  // After the event.
  void Count(LatencyHistogram* start_times) const {
    const Instant start = StartNow();
    if (start_.ns == 0 && start.ns != 0) start_times->Add(start - Find()->launched_at);
  }

 private:
  const sched::Attempt* Find() const { return core_.scheduler().state().FindAttempt(attempt_); }
  Instant StartNow() const {
    const sched::Attempt* attempt = Find();
    return attempt == nullptr ? Instant{} : attempt->started_at;
  }

  const MasterCore& core_;
  const AttemptId attempt_;
  const Instant start_;
};

}  // namespace

// Feeds one report to the scheduler. Each operator returns the sequence that the answer waits for; 0: none.
struct Reports::Feeder {
  Reports& reports;
  const Reporter from;
  Verdict* const verdict;

  uint64_t operator()(report::Unknown) {
    *verdict = Verdict::kStale;
    return 0;
  }
  uint64_t operator()(report::Started) {
    const StartWatch watch(reports.core_, from.attempt);
    reports.driver_.Feed(sched::AttemptStarted{from.attempt, from.worker, from.incarnation});
    watch.Count(&reports.start_times_);
    return 0;
  }
  uint64_t operator()(report::Finished finished);
  uint64_t operator()(report::Failed failed) {
    LOG(INFO) << "attempt failed: " << reports.core_.jobs().NameOf(from.attempt) << " on " << Name(from.worker) << ": "
              << failed.message;
    // Beside the journal: the text is expendable, and the core does not know it.
    reports.logs_.Keep(from.attempt, from.worker, {std::move(failed.log), failed.log_bytes, true});
    const FailedExtra extra{std::move(failed.record), std::move(failed.stderr_tail)};
    reports.driver_.Feed(
        sched::AttemptFailed{from.attempt, from.worker, from.incarnation, failed.kind, std::move(failed.message)},
        EncodeFields(extra));
    return Ended();
  }
  uint64_t operator()(report::Refused refused) {
    reports.driver_.Feed(sched::AttemptRefused{from.attempt, from.worker, from.incarnation, std::move(refused.why)});
    return Ended();
  }
  uint64_t operator()(report::Killed) {
    reports.driver_.Feed(sched::AttemptKilled{from.attempt, from.worker, from.incarnation});
    return Ended();
  }
  uint64_t operator()(report::FetchDone done) {
    reports.driver_.Feed(sched::FetchDone{from.attempt, done.replica, done.bytes, done.took, done.readers});
    return 0;
  }
  uint64_t operator()(report::FetchFailed failed) {
    reports.driver_.Feed(sched::FetchFailed{from.attempt, failed.replica, std::move(failed.why)});
    reports.probes_.Suspect(failed.replica, !failed.unreachable);
    return 0;
  }
  // The worker has checked the whole replica. A repeated report leads to the same step and gets the same answer.
  uint64_t operator()(report::ReplicaMade made) {
    made.replica.worker = from.worker;
    made.replica.incarnation = from.incarnation;
    const Driver::Fed fed = reports.driver_.Feed(sched::ReplicaMade{made.replica});
    *verdict = reports.core_.jobs().FindReplica(made.replica) != nullptr ? Verdict::kReplicaKept : Verdict::kStale;
    return fed.sequence;
  }
  uint64_t operator()(const report::ReplicaNotMade& failed) {
    // A repeated report is not fed: it would count as another try.
    if (reports.core_.Replicating(from.worker, failed.from.output)) {
      LOG(INFO) << "no replica of the output of "
                << reports.core_.jobs().NameOf({failed.from.output.task, failed.from.attempt}) << " was made on "
                << Name(from.worker) << ": " << failed.why;
      reports.driver_.Feed(sched::ReplicaNotMade{failed.from, from.worker, failed.why});
    }
    if (!failed.here) reports.probes_.Suspect(failed.from, true);
    return 0;
  }

  uint64_t Ended() {
    reports.job_ends_.CleanUp(from.attempt.task.job);
    return 0;
  }
};

uint64_t Reports::Feeder::operator()(report::Finished finished) {
  auto answer = reports.core_.PrepareFinished(from, std::move(finished), reports.clock_.Stamp());
  *verdict = answer.verdict;
  if (!answer.record) return answer.sequence;
  const AttemptId& attempt = from.attempt;
  if (!answer.excess.empty()) {
    LOG(INFO) << Name(attempt.task.job) << " fails: " << answer.excess;
    reports.driver_.Feed(*std::move(answer.record));
    return Ended();
  }
  for (const std::string& uri : answer.record->beside.grown) {
    LOG(WARNING) << Name(attempt.task.job) << ": input " << uri << " grew while the job ran";
  }
  // A short attempt ends before it reports its start, which the master then knows by the attempt's duration only.
  const StartWatch watch(reports.core_, attempt);
  const auto& ended = std::get<sched::AttemptFinished>(answer.record->stamped.event);
  const Duration took = ended.ran + ended.waited;  // each at most since the launch, whatever the worker reports
  watch.CountEnded(from, answer.record->stamped.at, took, &reports.start_times_);
  const Driver::Fed fed = reports.driver_.Feed(*std::move(answer.record));
  *verdict = VerdictOf(attempt, fed.decisions);
  if (*verdict == Verdict::kWinner) {
    reports.run_times_.Add(watch.start().ns != 0 ? reports.clock_.last_stamp() - watch.start() : took);
  }
  Ended();
  return fed.sequence;
}

Reports::Reports(Driver& driver, HostClock& clock, Dispatcher& dispatcher, Watchers& watchers, JobEnds& job_ends,
                 OutputProbes& probes, KeptLogs& logs)
    : driver_(driver),
      core_(driver.core()),
      clock_(clock),
      dispatcher_(dispatcher),
      watchers_(watchers),
      job_ends_(job_ends),
      probes_(probes),
      logs_(logs),
      held_(core_, clock) {}

void Reports::Progress(sched::AttemptProgress progress) {
  WorkerView* worker = core_.workers().FindAlive(progress.worker, progress.incarnation);
  if (worker == nullptr) return;
  if (driver_.journal_full()) return;  // the reserve is for what must be kept
  std::vector<StartWatch> watches;
  for (const auto& report : progress.reports) {
    watchers_.MarkChanged(report.attempt.task.job);
    watches.emplace_back(core_, report.attempt);
  }
  driver_.Feed(std::move(progress));
  for (const StartWatch& watch : watches) watch.Count(&start_times_);
}

void Reports::Report(uint64_t session, WorkerId id, Incarnation incarnation, std::vector<NumberedReport> reports,
                     std::function<void(ReportOut)> reply) {
  WorkerView* worker = core_.workers().Find(id);
  ReportOut out{std::vector<Verdict>(reports.size(), Verdict::kStale), nullptr};
  for (size_t i = 0; worker != nullptr && i < reports.size(); ++i) {
    if (held_.Hold(id, incarnation, reports[i])) {
      out.verdicts[i] = Verdict::kLater;
      continue;
    }
    Verdict verdict = Verdict::kNoted;
    const uint64_t hold = Feed(id, incarnation, std::move(reports[i].report), &verdict);
    const bool now = hold <= driver_.durable();
    out.verdicts[i] = now ? verdict : Verdict::kLater;
    if (now) continue;
    driver_.Hold(hold, [this, id, incarnation, number = reports[i].number, verdict] {
      dispatcher_.GiveVerdict(id, incarnation, number, verdict);
    });
  }
  dispatcher_.AnswerReports(session, id, std::move(out), std::move(reply));
}

uint64_t Reports::Feed(WorkerId id, Incarnation incarnation, mr::Report report, Verdict* verdict) {
  watchers_.MarkChanged(report.attempt.task.job);
  return std::visit(Feeder{*this, {report.attempt, id, incarnation}, verdict}, std::move(report.what));
}

void Reports::FeedHeld() {
  held_.FeedReady([this](WorkerId id, Incarnation incarnation, NumberedReport sent) {
    Verdict verdict = Verdict::kNoted;
    const uint64_t number = sent.number;
    const uint64_t hold = Feed(id, incarnation, std::move(sent.report), &verdict);
    driver_.Hold(
        hold, [this, id, incarnation, number, verdict] { dispatcher_.GiveVerdict(id, incarnation, number, verdict); });
  });
}

}  // namespace mr::master
