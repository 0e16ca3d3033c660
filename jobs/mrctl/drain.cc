// `mrctl worker drain`: starts drains, prints the work that is left, and with --wait follows them to their end.
#include <algorithm>

#include "common/io/clock.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/progress.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"
#include "jobs/mrctl/worker_ref.h"

namespace mr::ctl {
namespace {

constexpr Duration kAskAgain = Millis(500);
constexpr Duration kSayAgain = Seconds(10);  // not on a terminal

struct Drained {
  std::string name;
  WorkerId id;
  DrainStatus status;
  DrainRate rate;
  std::string said;  // the last printed line
  Instant said_at{};
};

std::string Joined(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& t : texts) text += (text.empty() ? "" : "; ") + t;
  return text;
}

// Returns advice for a drain that goes on without being followed.
std::string Hint(const std::string& worker, const std::string& master) {
  const std::string prefix = CommandPrefix(master) + "worker ";
  return "watch it with `" + prefix + "drain " + worker + " --wait` or `" + prefix + "show " + worker +
         "`, end it with `" + prefix + "undrain " + worker + "`";
}

// Retries while the master is away: a drain outlives its restart.
Status Ask(Client& client, const Settings& settings, Drained* drained) {
  const auto ask = [&] {
    auto status = client.DrainStatus(drained->id);
    if (!status.ok()) return status.status();
    drained->status = *std::move(status);
    drained->rate.Note(drained->status.left_bytes + drained->status.output_bytes, Now());
    return Status::Ok();
  };
  Status asked = ask();
  if (asked.code() == Code::kUnavailable) asked = TryAgain(client, asked, settings, ask);
  if (asked.ok() && !drained->status.draining) return Rejected(drained->name + " was undrained meanwhile");
  return asked;
}

void Show(const ProgressOptions& progress, Drained* drained) {
  const std::string line = DrainLine(drained->name, drained->status, drained->rate);
  const Instant now = Now();
  if (!progress.on || line == drained->said) return;
  if (!progress.terminal && !drained->said.empty() && !drained->status.safe_to_stop &&
      now - drained->said_at < kSayAgain) {
    return;
  }
  PrintErr(line + "\n");
  drained->said = line;
  drained->said_at = now;
}

Status WaitUntilSafe(Client& client, const Settings& settings, std::vector<Drained>* all) {
  const ProgressOptions progress =
      ProgressOfStderr(settings.progress && !settings.quiet && settings.form == OutputForm::kTable);
  while (true) {
    const Drained* waits = nullptr;
    for (Drained& drained : *all) {
      MR_RETURN_IF_ERROR(Ask(client, settings, &drained));
      Show(progress, &drained);
      if (!drained.status.safe_to_stop && waits == nullptr) waits = &drained;
    }
    if (waits == nullptr) return Status::Ok();
    const auto goes_on = [&](const Status& end) {
      return WithHint(
          Status(end.code(), end.message() + ": the drain of " + waits->name + " goes on, and the worker cannot be " +
                                 "stopped yet: " + Joined(waits->status.waits_for)),
          Hint(waits->name, settings.master));
    };
    if (WaitFor(-1, Earlier(Now() + kAskAgain, TimeLimit())) == Woken::kInterrupted)
      return goes_on(InterruptedStatus());
    if (TimeLimit().has_value() && Now() >= *TimeLimit()) return goes_on(TimeoutStatus());
  }
}

}  // namespace

Result<int> RunDrain(const Command& command, const Settings& settings) {
  std::vector<Drained> all;
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto workers, FindWorkers(client, command.args));
  all.reserve(workers.size());
  for (const NamedWorker& worker : workers) all.push_back({worker.word, worker.id, {}, {}, "", {}});
  for (const Drained& drained : all) MR_RETURN_IF_ERROR(client.Drain(drained.id, true));
  for (Drained& drained : all) {
    MR_RETURN_IF_ERROR(Ask(client, settings, &drained));
    Say(settings, drained.name + " is draining");
  }
  if (command.wait) MR_RETURN_IF_ERROR(WaitUntilSafe(client, settings, &all));
  std::vector<Done> done;
  for (const Drained& drained : all) {
    const DrainStatus& status = drained.status;
    std::string note = status.safe_to_stop ? "safe to stop" : "not safe to stop yet: " + Joined(status.waits_for);
    if (!status.note.empty()) note += "; " + status.note;
    done.push_back({drained.name, "drain", "", note});
    if (!status.safe_to_stop) {
      for (const std::string& line : status.waits_for) Say(settings, "  it cannot be stopped yet: " + line);
      Say(settings, "  " + Hint(drained.name, settings.master));
    } else if (!command.wait) {
      Say(settings, drained.name + " is safe to stop");
    }
    if (!status.note.empty()) Say(settings, "  " + status.note);
  }
  PrintDone(done, settings);
  return kExitOk;
}

}  // namespace mr::ctl
