#include "master/host/sessions.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/wire.h"

namespace mr::master {
namespace {

constexpr size_t kMaxLabelBytes = 256;  // of a label, and of a rack (guess)

Status CheckInfo(const RegisterIn& in) {
  const auto& info = in.info;
  if (in.extra.name.empty() || in.extra.name.size() > 64 ||
      in.extra.name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-") !=
          std::string::npos) {
    return InvalidArgument("a worker's name has 1 to 64 letters, digits, '_', '.', '-'");
  }
  if (info.incarnation == 0) return InvalidArgument("a worker needs an incarnation");
  for (const std::string& label : info.labels) {
    if (label.size() > kMaxLabelBytes) {
      return InvalidArgument("a worker's label has at most " + std::to_string(kMaxLabelBytes) + " bytes, not " +
                             std::to_string(label.size()));
    }
  }
  if (info.rack.size() > kMaxLabelBytes) {
    return InvalidArgument("the name of a rack has at most " + std::to_string(kMaxLabelBytes) + " bytes");
  }
  if (info.address.size() > 300) return InvalidArgument("a worker's address is too long");  // DNS: 253 and a port
  if (info.slots.total == 0 || info.slots.total > 10'000) return InvalidArgument("a worker has 1 to 10000 slots");
  if (auto address = rpc::ParseHostPort(info.address); !address.ok()) return address.status();
  return Status::Ok();
}

}  // namespace

Sessions::Sessions(Driver& driver, HostClock& clock, Outlets& outlets, Dispatcher& dispatcher, SafeMode& safe_mode,
                   Leases& leases, RoomKeeper& room, Forecasts& forecasts, InputWaits& inputs)
    : driver_(driver),
      core_(driver.core()),
      clock_(clock),
      outlets_(outlets),
      dispatcher_(dispatcher),
      safe_mode_(safe_mode),
      leases_(leases),
      room_(room),
      forecasts_(forecasts),
      inputs_(inputs) {}

void Sessions::Register(uint64_t session, RegisterIn in, std::function<void(RegisterOut)> reply) {
  if (Status status = CheckInfo(in); !status.ok()) return reply({status, {}, {}});
  // Before the worker gets an id, and also from workers that are refused: their evidence of a loss counts.
  safe_mode_.NoteSeen(in.extra.name, in.seen);
  const auto inventory = in.info.inventory;
  const auto running = in.info.running;
  const bool leaving = in.leaving;
  const uint32_t given_up = in.reports_given_up;
  const int8_t tier = in.tier;
  const WorkerExtra extra = in.extra;
  auto records = core_.PrepareRegister({std::move(in.info), std::move(in.extra), std::move(in.blocks), leaving},
                                       clock_.Stamp(), clock_.Lived());
  if (!records.ok()) return reply({records.status(), {}, {}});
  if (records->named) driver_.Feed(Record(*std::move(records->named)));
  const auto& info = std::get<sched::WorkerRegistered>(records->event.stamped.event);
  const WorkerId id = info.worker;
  WorkerView& worker = *core_.workers().Find(id);
  if (worker.session != 0 && worker.session != session) outlets_.CloseSession(worker.session);
  if (worker.info.incarnation != info.incarnation) worker.heartbeat_connections = 0;
  RegisterOut out{
      Status::Ok(),           id, {}, !worker.alive && worker.info.incarnation == info.incarnation, driver_.epoch(),
      safe_mode_.DurableNow()};
  if (worker.alive && !worker.away && worker.info.incarnation != info.incarnation) {
    worker.lost_unix_ms = WallClockMs();
    worker.lost_why = "its process was restarted";
  }
  const bool same = worker.alive && worker.info.incarnation == info.incarnation;
  if (!same || worker.registered_unix_ms == 0) worker.registered_unix_ms = WallClockMs();
  worker.BeginSession(session, driver_.epoch(), clock_.Lived());
  worker.http_port = extra.http_port;
  worker.capacity_bytes = extra.capacity_bytes;
  worker.used_bytes = extra.used_bytes;
  worker.pid = extra.pid;
  worker.reports_given_up = given_up;
  worker.tier = tier;
  worker.leaving = leaving;
  dispatcher_.Forget(id);

  const Driver::Fed fed = driver_.Feed(std::move(records->event));
  for (const auto& decision : fed.decisions) {
    const auto* drop = std::get_if<sched::DropReplica>(&decision);
    if (drop != nullptr && drop->replica.worker == id) out.drop.push_back(drop->replica);
  }
  driver_.Feed(Record(std::move(records->joined)));
  if (records->leaving) driver_.Feed(Record(*std::move(records->leaving)));
  inputs_.NoteRegistered();
  if (!leaving) {
    // At each registration: the worker may have missed the last change.
    dispatcher_.Send(&worker, 16, [on = worker.drained_by_user] { return command::Drain{on}; });
  }
  LOG(INFO) << Name(id) << " registered from " << worker.info.address << " with "
            << CountOf(worker.info.slots.total, "slot") << ", " << CountOf(inventory.size(), "output") << ", "
            << running.size() << " running"
            << (leaving                  ? ", leaving"
                : worker.drained_by_user ? ", drained by an operator"
                                         : "")
            << (out.start_over ? "; it was given up, and none of these count" : "");
  Greet(&worker, core_.GreetingOf(id, inventory, running));
  driver_.Hold(fed.sequence, [reply = std::move(reply), out = std::move(out)] { reply(out); });
  forecasts_.Settle();
}

void Sessions::Greet(WorkerView* worker, const Greeting& greeting) {
  worker->holds.insert(greeting.holds.begin(), greeting.holds.end());
  for (const Replica& from : greeting.replicate) dispatcher_.SendReplicate(from, worker->id);
  // A new session has no directories: attempts that go on need those of their inputs.
  for (const AttemptId& attempt : greeting.go_on) {
    dispatcher_.SendStage(worker, *core_.jobs().Find(attempt.task.job), attempt.task.stage);
  }
  for (const AttemptId& attempt : greeting.kill) {
    dispatcher_.Send(worker, 64, [attempt] { return command::Kill{attempt}; });
  }
  for (const JobId job : greeting.forgotten) {
    dispatcher_.Send(worker, 32, [job] { return command::EndJob{job}; });
  }
}

void Sessions::RegisterAnswered(uint64_t session) {
  if (WorkerView* worker = core_.workers().FindSession(session)) worker->answered = true;
}

void Sessions::SessionEnded(uint64_t session) {
  WorkerView* worker = core_.workers().FindSession(session);
  if (worker == nullptr) return;
  worker->session = 0;
  worker->answered = false;
  worker->session_lost = clock_.Lived();
  dispatcher_.Forget(worker->id);
  leases_.Check();
}

void Sessions::HeartbeatConnected(Incarnation incarnation, bool connected) {
  WorkerView* worker = core_.workers().FindIncarnation(incarnation);
  if (worker == nullptr) return;
  if (connected) {
    ++worker->heartbeat_connections;
  } else if (worker->heartbeat_connections > 0) {
    --worker->heartbeat_connections;
    leases_.Check();
  }
}

bool Sessions::Beat(WorkerId id, Incarnation incarnation, Duration loop_silent, const DiskRoom& room) {
  WorkerView* worker = core_.workers().FindAlive(id, incarnation);
  if (worker == nullptr || worker->session == 0) return false;
  worker->last_beat = clock_.Lived();
  NoteLoop(worker, loop_silent);
  room_.NoteRoom(worker, room);
  return true;
}

void Sessions::NoteLoop(WorkerView* worker, Duration silent) {
  worker->loop_moved = std::max(worker->loop_moved, Instant{worker->last_beat.ns - silent.ns});
  const bool stalled = silent >= kLoopStall;
  if (stalled == worker->loop_stalled) return;
  worker->loop_stalled = stalled;
  const Incarnation incarnation = worker->info.incarnation;
  if (stalled) {
    LOG(WARNING) << Name(worker->id) << " beats, but its control loop has not moved for " << HumanDuration(silent)
                 << ": it gets no new attempts until it does";
    driver_.Feed(sched::WorkerAway{worker->id, incarnation});
    return;
  }
  LOG(INFO) << Name(worker->id) << " moves again";
  if (worker->TakesAttempts()) driver_.Feed(sched::WorkerDraining{worker->id, incarnation, false});
}

void Sessions::Drain(WorkerId id, bool on, std::function<void(Changed)> reply) {
  auto records = core_.PrepareDrain(id, on, clock_.Stamp());
  if (!records.ok()) return reply(records.status());
  LOG(INFO) << Name(id) << (on ? " is drained" : " is wanted again") << ": an operator asked for it";
  WorkerView* worker = core_.workers().Find(id);
  const auto send = [&] {
    if (worker->alive && !worker->leaving) dispatcher_.Send(worker, 16, [on] { return command::Drain{on}; });
  };
  // The worker refuses attempts that reach it before the end of its drain.
  if (!on) send();
  const uint64_t sequence = driver_.FeedAll(*std::move(records));
  if (on) send();
  driver_.Hold(sequence, [reply = std::move(reply), sequence] { reply({Status::Ok(), sequence}); });
}

void Sessions::Exclude(WorkerId id, bool on, std::function<void(Changed)> reply) {
  auto records = core_.PrepareExclude(id, on, clock_.Stamp());
  if (!records.ok()) return reply(records.status());
  LOG(INFO) << Name(id) << (on ? " is excluded" : " may register again") << ": an operator asked for it";
  const uint64_t sequence = driver_.FeedAll(*std::move(records));
  if (on) leases_.Lose(id, "an operator excluded it");
  driver_.Hold(sequence, [reply = std::move(reply), sequence] { reply({Status::Ok(), sequence}); });
}

void Sessions::Forget(WorkerId id, bool force, std::function<void(Changed)> reply) {
  auto records = core_.PrepareForget(id, force, clock_.Stamp());
  if (!records.ok()) return reply(records.status());
  LOG(INFO) << Name(id) << " is forgotten: an operator asked for it";
  const uint64_t sequence = driver_.FeedAll(*std::move(records));
  driver_.Hold(sequence, [reply = std::move(reply), sequence] { reply({Status::Ok(), sequence}); });
}

void Sessions::Leaving(WorkerId id, Incarnation incarnation) {
  WorkerView* worker = core_.workers().FindAlive(id, incarnation);
  if (worker == nullptr || worker->leaving) return;
  worker->leaving = true;
  LOG(INFO) << Name(id) << " leaves: nothing new goes there";
  dispatcher_.SendHeld(id);  // the end of its process waits for verdicts
  driver_.Feed(sched::WorkerDraining{id, incarnation, true});
}

}  // namespace mr::master
