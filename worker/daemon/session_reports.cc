// Sends reports: batched, long ones in pieces, repeated until answered, given up if they cannot be delivered.
#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "worker/daemon/session_impl.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {

// Most calls with reports in flight. More calls would only carry fewer reports each.
constexpr int kMaxCalls = 8;
// Bytes per call: far below the 1 MiB of a control message.
constexpr size_t kMaxCallBytes = 384 << 10;
// Bytes per piece of a longer report.
constexpr size_t kReportPieceBytes = 256 << 10;
// The longest report that the master accepts (kMaxReportBytes of worker_service.cc).
constexpr size_t kMostReportBytes = 48u << 20;
// Unanswered calls after which a report is sent alone, after all others; and further ones after which it is given up.
// So a report that breaks the connection delays the others by less than a second. Restarts of a master give up only
// reports that were in flight in all of them (guesses).
constexpr uint32_t kTriesTogether = 3, kTriesAlone = 2;
// Answers that are kept for the next call, and the size of each: in all at most 32 KiB here, and as much at the master.
constexpr size_t kKeptAnswers = kMaxCalls, kKeptWords = 512;
// How long a report on which no decision depends may wait, to share a call with others (guess). Shorter than a user
// notices, and longer than the shortest tasks run, so that their start and end share a call.
constexpr Duration kHold = Millis(5);

// Returns whether the report may wait: the master makes no immediate decision because of it.
bool MayWait(const Report& report) {
  return std::holds_alternative<report::Started>(report.what) || std::holds_alternative<report::FetchDone>(report.what);
}

bool IsEnd(const Report& report) {
  return std::holds_alternative<report::Finished>(report.what) || std::holds_alternative<report::Failed>(report.what) ||
         std::holds_alternative<report::Killed>(report.what);
}

}  // namespace

void Session::Impl::Answer(uint64_t number, Verdict verdict) {
  if (verdict == Verdict::kLater) return;  // another one follows
  auto entry = unanswered.extract(number);
  if (!entry.empty() && entry.mapped().answered) entry.mapped().answered(verdict);
}

void Session::Impl::ScheduleFlush() {
  if (flush_scheduled || !registered) return;
  flush_scheduled = true;
  // After the rest of this turn of the loop, so that its reports share a call.
  loop.Post([this] {
    flush_scheduled = false;
    Flush();
  });
}

// Drops the attempt's start if it is still unsent, because the end implies it.
void Session::Impl::DropStart(const AttemptId& attempt) {
  const auto start = unsent_starts.find(attempt);
  if (start == unsent_starts.end()) return;
  unanswered.erase(start->second);
  unsent_starts.erase(start);
}

void Session::Impl::FlushLater() {
  if (hold_armed || flush_scheduled || !registered) return;
  hold_armed = true;
  tasks.add(loop.timer().afterDelay(kHold.ns * kj::NANOSECONDS).then([this] {
    hold_armed = false;
    Flush();
  }));
}

void Session::Impl::Flush() {
  calls_full = registered && calls_under_way >= kMaxCalls;
  while (registered && !calls_full) {
    std::vector<uint64_t> numbers;
    size_t bytes = 0;
    for (auto it = unanswered.lower_bound(next_unsent); it != unanswered.end(); ++it) {
      if (it->second.tries >= kTriesTogether) continue;
      // Later reports wait for the doubtful ones, or for the next registration, so that the doubtful ones get their
      // turn.
      if (it->first >= backlog_end && (!doubtful.empty() || doubtful_under_way.has_value())) break;
      bytes += rpc::WireSize(it->second.report);
      if (!numbers.empty() && bytes > kMaxCallBytes) break;
      numbers.push_back(it->first);
    }
    if (numbers.empty()) break;
    next_unsent = numbers.back() + 1;
    unsent_starts.clear();  // a start that did not fit is in the next call, whatever comes
    SendBatch(std::move(numbers));
    calls_full = calls_under_way >= kMaxCalls;
  }
  FlushDoubtful();
}

// Sends one doubtful report alone, when all earlier reports have their answers.
void Session::Impl::FlushDoubtful() {
  if (!registered || calls_under_way != 0 || doubtful.empty()) return;
  const uint64_t number = *doubtful.begin();
  doubtful.erase(doubtful.begin());
  if (!unanswered.contains(number)) return FlushDoubtful();  // withdrawn
  doubtful_under_way = number;
  SendBatch({number});
}

// Called after a break: one of the reports in flight may have caused it.
void Session::Impl::CountTries(const std::string& why) {
  const auto alone = std::exchange(doubtful_under_way, {});
  for (const uint64_t number : std::exchange(in_flight, {})) {
    // If a doubtful report was in flight, the others are not to blame.
    if (alone.has_value() && *alone != number) continue;
    const auto it = unanswered.find(number);
    if (it != unanswered.end() && ++it->second.tries >= kTriesTogether + kTriesAlone) GiveUp(number, why);
  }
}

// Replaces a finish by a short failure, so that the master learns of the end and frees the slot. Drops any other
// report, even a failure: the next registration then does not list the attempt, and the master counts it as lost.
void Session::Impl::GiveUp(uint64_t number, const std::string& why) {
  Pending& pending = unanswered.at(number);
  ++given_up;
  const std::string name = Name(pending.report.attempt, TaskLetter::kMap);
  if (std::holds_alternative<report::Finished>(pending.report.what)) {
    LOG(ERROR) << "the report of " << name << " could not be delivered and is replaced by a failure: " << why;
    pending.report.what =
        report::Failed{FailureKind::kEnvironment,
                       "its report could not be delivered to the master in " + std::to_string(pending.tries) +
                           " tries, and was given up by its worker: " + why,
                       "", ""};
    pending.tries = 0;
    return;
  }
  LOG(ERROR) << "a report of " << name << " could not be delivered and is dropped: " << why;
  // The connection is breaking, so the callback cannot send anything new.
  auto entry = unanswered.extract(number);
  if (entry.mapped().answered) entry.mapped().answered(Verdict::kStale);
}

// Drops reports of a job that has ended. Only the ends of its attempts still matter: each becomes a Killed.
void Session::Impl::EndReportsOf(JobId job) {
  std::vector<std::function<void(Verdict)>> answers;
  for (auto it = unanswered.begin(); it != unanswered.end();) {
    mr::Report& report = it->second.report;
    if (report.attempt.task.job != job) {
      ++it;
    } else if (IsEnd(report)) {
      report.what = report::Killed{};
      it->second.tries = 0;
      ++it;
    } else {
      if (it->second.answered) answers.push_back(std::move(it->second.answered));
      it = unanswered.erase(it);
    }
  }
  std::erase_if(unsent_starts, [job](const auto& start) { return start.first.task.job == job; });
  for (const auto& answered : answers) answered(Verdict::kStale);
}

void Session::Impl::SendPieces(uint64_t number, const kj::Array<capnp::word>& message, rpc::Report::Builder out) {
  const auto bytes = message.asBytes();
  for (size_t at = 0; at < bytes.size(); at += kReportPieceBytes) {
    auto request = link->master.reportPieceRequest();
    ToWire(self, request.initWorker());
    request.setNumber(number);
    request.setTotalBytes(bytes.size());
    request.setOffset(at);
    request.setBytes(bytes.slice(at, std::min(bytes.size(), at + kReportPieceBytes)));
    link->calls.add(request.send().ignoreResult().catch_([this, mine = round](kj::Exception&& e) {
      if (mine == round) Break("part of a report was not answered: " + rpc::FromException(e).message());
    }));
  }
  rpc::ToWire(unanswered.at(number).report.attempt, out.initAttempt());
  out.setPieces(bytes.size());
}

void Session::Impl::SendBatch(std::vector<uint64_t> numbers) {
  auto request = link->master.reportRequest();
  ToWire(self, request.initWorker());
  auto reports = request.initReports(static_cast<uint32_t>(numbers.size()));
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    mr::Report& report = unanswered.at(numbers[i]).report;
    reports[i].setNumber(numbers[i]);
    if (rpc::WireSize(report) > kMaxCallBytes) {
      const auto message = Encode(numbers[i], report);
      if (message.asBytes().size() <= kMostReportBytes) {
        SendPieces(numbers[i], message, reports[i]);
        continue;
      }
      report.what = report::Failed{FailureKind::kUserFinal,
                                   "its report takes " + HumanBytes(message.asBytes().size()) + ", and at most " +
                                       HumanBytes(kMostReportBytes) +
                                       " can be sent: let it read fewer upstream tasks, or write fewer blocks",
                                   "", ""};
    }
    ToWire(report, reports[i]);
  }
  in_flight.insert(numbers.begin(), numbers.end());
  ++calls_under_way;
  link->calls.add(request.send().then(
      [this, mine = round, numbers](capnp::Response<rpc::MasterForWorker::ReportResults> response) {
        if (mine != round) return;
        --calls_under_way;
        for (const uint64_t number : numbers) {
          in_flight.erase(number);
          if (doubtful_under_way == number) {
            doubtful_under_way.reset();
            calls_full = true;  // the others waited for it
          }
          const auto pending = unanswered.find(number);
          if (pending != unanswered.end()) pending->second.tries = 0;  // it arrived, whatever its verdict
        }
        const auto verdicts = response.getVerdicts();
        if (verdicts.size() != numbers.size()) return Break("the master answered other reports than were sent");
        for (uint32_t i = 0; i < numbers.size(); ++i) Answer(numbers[i], rpc::FromWire(verdicts[i]));
        if (response.getBatch().getSequence() != 0) Receive(ReadBatch(response.getBatch()));
        // A command may have ended this connection.
        if (mine == round && link->answers.size() < kKeptAnswers && response.totalSize().wordCount <= kKeptWords) {
          link->answers.add(kj::mv(response));
        }
        if (calls_full || !doubtful.empty()) Flush();
      },
      [this, mine = round](kj::Exception&& e) {
        // It is unknown whether they arrived: they are sent again after the next registration.
        if (mine == round) Break("reports were not answered: " + rpc::FromException(e).message());
      }));
  link->answers.clear();
}

// Recognizes doubtful reports by their tries.
void Session::Impl::SendAllAgain() {
  next_unsent = 0;
  doubtful.clear();
  backlog_end = next_number;
  for (const auto& [number, pending] : unanswered) {
    if (pending.tries >= kTriesTogether) doubtful.insert(number);
  }
  calls_under_way = 0;
  ScheduleFlush();
}

uint64_t Session::Report(mr::Report report, std::function<void(Verdict)> answered) {
  const bool may_wait = MayWait(report);
  const uint64_t number = impl_->next_number++;
  if (std::holds_alternative<report::Started>(report.what)) {
    impl_->unsent_starts[report.attempt] = number;
  } else if (IsEnd(report)) {
    impl_->DropStart(report.attempt);
  }
  impl_->unanswered.emplace(number, Impl::Pending{std::move(report), std::move(answered)});
  if (may_wait) {
    impl_->FlushLater();
  } else {
    impl_->ScheduleFlush();
  }
  return number;
}

void Session::Withdraw(uint64_t report) { impl_->unanswered.erase(report); }

}  // namespace mr::worker
