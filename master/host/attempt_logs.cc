// The answer to MasterForClient.logs: the log of an attempt, read from its worker, or what the master kept of it.
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/host/shell.h"

namespace mr::master {
namespace {

constexpr auto kLogTimeout = 5 * kj::SECONDS;

}  // namespace

kj::Promise<void> AnswerLogs(Shell& shell, LogsContext context) {
  struct Known {
    Status status;
    uint64_t session = 0;
    bool same_life = false;  // the worker's process is the one that ran it
    std::string worker, text;
  };
  const auto attempt = rpc::FromWire(context.getParams().getAttempt());
  return shell
      .Ask([&master = shell.client_parts(), attempt] {
        const auto view = master.driver.core().attempts().Find(attempt);
        if (!view) return Known{NotFound("there is no such attempt"), 0, false, "", ""};
        // A worker that was started again has the logs of its earlier lives.
        const WorkerView* worker = master.driver.core().workers().Find(view->worker);
        return Known{Status::Ok(), worker == nullptr || !worker->alive ? 0 : worker->session,
                     worker != nullptr && worker->info.incarnation == view->incarnation, Name(view->worker),
                     view->note->stderr_tail.empty() ? view->note->message : view->note->stderr_tail};
      })
      .then([&shell, context, attempt](const Known& known) mutable -> kj::Promise<void> {
        rpc::ToOutcome(known.status, context.getResults().initOutcome());
        if (!known.status.ok()) return kj::READY_NOW;
        // Where the worker has nothing (any more), what the master kept is the answer.
        auto kept = [context, text = known.text](const std::string& why) mutable {
          context.getResults().setText(text.c_str());
          context.getResults().setNote(
              (why + (text.empty() || why.empty() ? "" : "; this is what its report said")).c_str());
        };
        const auto session = shell.sessions().find(known.session);
        if (session == shell.sessions().end()) {
          kept("its log is on " + known.worker + ", which is gone");
          return kj::READY_NOW;
        }
        auto request = session->second.logRequest();
        rpc::ToWire(attempt, request.initAttempt());
        return shell.kj()
            .timer()
            .timeoutAfter(kLogTimeout, request.send())
            .then(
                [context, kept, known](auto response) mutable {
                  const Status read = rpc::FromOutcome(response.getOutcome());
                  if (read.ok()) return context.getResults().setText(response.getText());
                  // A log is made with its first byte.
                  const bool silent = read.code() == Code::kNotFound && known.same_life;
                  kept(!silent              ? known.worker + " cannot read its log: " + read.message()
                       : known.text.empty() ? ""
                                            : "it wrote nothing");
                },
                [kept, worker = known.worker](kj::Exception&&) mutable {
                  kept("its log is on " + worker + ", which does not answer");
                });
      });
}

}  // namespace mr::master
