// The part of Client that reads logs of attempts.
#include <utility>

#include "jobs/mrctl/client_impl.h"

namespace mr::ctl {
namespace {

auto LogRequest(Master& master, AttemptId id, uint64_t from, Duration wait) {
  auto request = master.logsRequest();
  rpc::ToWire(id, request.initAttempt());
  request.setFrom(from);
  request.setWaitMs(static_cast<uint32_t>(wait.millis()));
  return request;
}

AttemptLog LogFromWire(rpc::MasterForClient::LogsResults::Reader r) {
  AttemptLog log;
  log.worker = r.getWorker().cStr();
  log.text.assign(r.getText().begin(), r.getText().size());
  log.note = r.getNote().cStr();
  log.start = r.getStart();
  log.ended = r.getEnded();
  return log;
}

}  // namespace

Result<AttemptLog> Client::Logs(AttemptId id, uint64_t from) {
  return impl_->Ask<AttemptLog>([id, from](Master& master) { return LogRequest(master, id, from, {}); },
                                [](auto r) -> Result<AttemptLog> { return LogFromWire(r); });
}

Status Client::RequestLog(AttemptId id, uint64_t from, Duration wait) {
  MR_RETURN_IF_ERROR(impl_->WaitConnected());
  const auto put = [logs = impl_->logs, id](Result<AttemptLog> log) {
    {
      std::lock_guard lock(logs->mutex);
      logs->answers.push_back({id, std::move(log)});
    }
    logs->Wake();
  };
  impl_->Start(
      [id, from, wait](Master& master) { return capnp::RequestHook::from(LogRequest(master, id, from, wait)); },
      [put](capnp::AnyPointer::Reader reply) {
        const auto results = reply.getAs<rpc::MasterForClient::LogsResults>();
        const Status outcome = rpc::FromOutcome(results.getOutcome());
        put(outcome.ok() ? Result<AttemptLog>(LogFromWire(results)) : Result<AttemptLog>(outcome));
      },
      [put](const Status& why, bool) { put(why); });
  return Status::Ok();
}

Result<std::optional<LogAnswer>> Client::NextLog(Instant until) {
  const auto logs = impl_->logs;
  while (true) {
    {
      std::lock_guard lock(logs->mutex);
      if (!logs->answers.empty()) {
        std::optional<LogAnswer> answer(std::move(logs->answers.front()));
        logs->answers.pop_front();
        return answer;
      }
    }
    switch (WaitFor(logs->fd(), Earlier(until, TimeLimit()))) {
      case Woken::kReady: logs->Drain(); break;
      case Woken::kInterrupted: return InterruptedStatus();
      case Woken::kTimeout:
        if (TimeLimit().has_value() && Now() >= *TimeLimit()) return TimeoutStatus();
        return std::optional<LogAnswer>();
    }
  }
}

}  // namespace mr::ctl
