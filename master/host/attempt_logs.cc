// The answer to MasterForClient.logs: the log of an attempt, read from its worker, or the end that the master kept.
#include <algorithm>

#include "common/base/text.h"
#include "common/io/attempt_log.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/host/shell.h"

namespace mr::master {
namespace {

constexpr auto kLogTimeout = 5 * kj::SECONDS;  // beside the time that the caller grants
constexpr uint32_t kMostLogWaitMs = 10'000;    // as client.capnp says

// The facts about an attempt that its log's answer needs.
struct LoggedAttempt {
  Status status;
  uint64_t session = 0;    // of its worker; 0: none
  bool same_life = false;  // the worker's process is the one that ran it
  bool live = false;       // it runs
  bool wrote = false;      // its report had the end of what it wrote
  std::string worker, text;
};

LoggedAttempt LookUp(MasterCore& core, const AttemptId& attempt, const Caller& caller) {
  const auto view = core.attempts().Find(attempt);
  if (!view || !core.jobs().Find(attempt.task.job, caller).ok())
    return {NotFound("there is no such attempt"), 0, false, false, false, "", ""};
  // A worker that was started again has the logs of its earlier lives.
  const WorkerView* worker = core.workers().Find(view->worker);
  return {Status::Ok(),
          worker == nullptr || !worker->alive ? 0 : worker->session,
          worker != nullptr && worker->info.incarnation == view->incarnation,
          Live(view->state),
          !view->note->stderr_tail.empty(),
          Name(view->worker),
          view->note->stderr_tail.empty() ? view->note->message : view->note->stderr_tail};
}

std::string CutNote(const LogPiece& piece) {
  return piece.start == 0
             ? ""
             : ": its last " + HumanBytes(piece.text.size()) + " of " + HumanBytes(piece.start + piece.text.size());
}

// Answers without the worker. why: the reason; empty if the attempt wrote nothing.
kj::Promise<void> AnswerKept(Shell& shell, LogsContext context, const LoggedAttempt& known, const std::string& why) {
  auto results = context.getResults();
  results.setEnded(!known.live);
  if (why.empty()) return kj::READY_NOW;
  const uint64_t from = context.getParams().getFrom();
  auto answer = MakeAnswer<Result<LogPiece>>(shell.kj());
  shell.pool().Post([files = shell.client_parts().logs.files(),
                     attempt = rpc::FromWire(context.getParams().getAttempt()), from,
                     fulfill = std::move(answer.fulfill)] { fulfill(files->Get(attempt, from)); });
  return answer.promise.then([context, from, why, text = known.text](Result<LogPiece> kept) mutable {
    auto out = context.getResults();
    if (kept.ok()) {
      out.setText(capnp::Text::Reader(kept->text.c_str(), kept->text.size()));
      out.setStart(kept->start);
      out.setNote((why + "; this is what the master kept" + (from == kLogEnd ? CutNote(*kept) : "")).c_str());
      return;
    }
    // A reader that has had this text, which has no place in the log, gets no more of it.
    if (from != kLogEnd && from > 0) text.clear();
    out.setText(text.c_str());
    out.setNote((why + (text.empty() ? "" : "; this is what its report said")).c_str());
  });
}

}  // namespace

kj::Promise<void> AnswerLogs(Shell& shell, const Caller& caller, LogsContext context) {
  context.allowCancellation();  // a reader that is gone waits for nothing
  const auto attempt = rpc::FromWire(context.getParams().getAttempt());
  return shell
      .Ask([&master = shell.client_parts(), attempt, caller] { return LookUp(master.driver.core(), attempt, caller); })
      .then([&shell, context, attempt](const LoggedAttempt& known) mutable -> kj::Promise<void> {
        rpc::ToOutcome(known.status, context.getResults().initOutcome());
        if (!known.status.ok()) return kj::READY_NOW;
        context.getResults().setWorker(known.worker.c_str());
        const auto session = shell.sessions().find(known.session);
        if (session == shell.sessions().end()) {
          return AnswerKept(shell, context, known, "its log is on " + known.worker + ", which is gone");
        }
        const uint32_t wait_ms = std::min(context.getParams().getWaitMs(), kMostLogWaitMs);
        auto request = session->second.logRequest();
        rpc::ToWire(attempt, request.initAttempt());
        request.setFrom(context.getParams().getFrom());
        request.setWaitMs(wait_ms);
        return shell.kj()
            .timer()
            .timeoutAfter(kLogTimeout + wait_ms * kj::MILLISECONDS, request.send())
            .then(
                [&shell, context, known](auto response) mutable -> kj::Promise<void> {
                  const Status read = rpc::FromOutcome(response.getOutcome());
                  if (read.ok()) {
                    auto out = context.getResults();
                    out.setText(response.getText());
                    out.setStart(response.getStart());
                    out.setEnded(response.getEnded());
                    return kj::READY_NOW;
                  }
                  // A log is made with its first byte.
                  const bool silent = read.code() == Code::kNotFound && known.same_life;
                  const std::string why = !silent ? known.worker + " cannot read its log: " + read.message()
                                          : known.wrote
                                              ? known.worker + " has removed its log (mrworker --log_bytes, --log_age)"
                                          : known.text.empty() ? ""
                                                               : "it wrote nothing";
                  return AnswerKept(shell, context, known, why);
                },
                [&shell, context, known](kj::Exception&&) mutable {
                  return AnswerKept(shell, context, known, "its log is on " + known.worker + ", which does not answer");
                });
      });
}

}  // namespace mr::master
