// The host of a master core: constructs the parts around it, starts them from the journal, and runs their turns and
// ticks. It has no duty of its own. master/host/README.md has the figure of the parts.
#pragma once

#include "common/base/status.h"
#include "common/exec/loop.h"
#include "master/host/block_store.h"
#include "master/host/decision_effects.h"
#include "master/host/disk_room.h"
#include "master/host/dispatcher.h"
#include "master/host/drain_status.h"
#include "master/host/driver.h"
#include "master/host/explain.h"
#include "master/host/forecasts.h"
#include "master/host/host_clock.h"
#include "master/host/housekeeping.h"
#include "master/host/input_pins.h"
#include "master/host/input_waits.h"
#include "master/host/job_ends.h"
#include "master/host/job_reader.h"
#include "master/host/job_requests.h"
#include "master/host/kept_logs.h"
#include "master/host/leases.h"
#include "master/host/libraries.h"
#include "master/host/lists.h"
#include "master/host/metrics_text.h"
#include "master/host/options.h"
#include "master/host/outlets.h"
#include "master/host/output_probes.h"
#include "master/host/reports.h"
#include "master/host/rows.h"
#include "master/host/safe_mode.h"
#include "master/host/service_parts.h"
#include "master/host/sessions.h"
#include "master/host/submissions.h"
#include "master/host/submit_checks.h"
#include "master/host/usage.h"
#include "master/host/view_reader.h"
#include "master/host/watchers.h"
#include "master/host/why.h"

namespace mr::master {

// Thread: the loop's. Before the loop runs, and when it has stopped, the thread that owns the host.
class Host {
 public:
  // loop: calls Flush after each turn. loop and outlets must outlive the host.
  Host(HostOptions options, Loop& loop, Outlets& outlets);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Opens and replays the journal, writes the new epoch, and takes up again what was under way. Blocks. Called once,
  // before the loop runs. Errors: those of Driver::Open.
  Status Recover();
  // End of a turn: sends what the turn has gathered.
  void Flush();

  // Returns what the services of workers and of clients ask.
  WorkerParts worker_parts() { return {options_, sessions_, reports_, block_store_, safe_mode_, logs_}; }
  ClientParts client_parts() {
    return {options_,     driver_,    block_store_, watchers_, lists_,     why_,       drains_,
            submissions_, explainer_, requests_,    sessions_, libraries_, safe_mode_, logs_};
  }

  const HostOptions& options() const { return options_; }
  MasterCore& core() { return driver_.core(); }
  HostClock& clock() { return clock_; }
  Driver& driver() { return driver_; }
  Watchers& watchers() { return watchers_; }
  SafeMode& safe_mode() { return safe_mode_; }
  BlockStore& block_store() { return block_store_; }
  Libraries& libraries() { return libraries_; }
  DrainReader& drains() { return drains_; }
  Lists& lists() { return lists_; }
  WhyReader& why() { return why_; }
  JobEnds& job_ends() { return job_ends_; }
  Submissions& submissions() { return submissions_; }
  Explainer& explainer() { return explainer_; }
  JobRequests& requests() { return requests_; }
  RoomKeeper& room() { return room_; }
  InputWaits& inputs() { return inputs_; }
  Sessions& sessions() { return sessions_; }
  MetricsText& metrics() { return metrics_; }
  ViewReader& views() { return views_; }
  Reports& reports() { return reports_; }

 private:
  // The workers that the journal knows have not registered with this master yet.
  void MarkAway();
  void TakeOver();
  void Tick();

  // In the order of their dependencies: each part uses only parts above it. DecisionEffects alone is called by the
  // driver and calls parts below it, from the first record on.
  const HostOptions options_;
  Loop& loop_;
  HostClock clock_;
  DecisionEffects effects_;
  Driver driver_;
  InputWaits inputs_;
  JobReader reader_;
  Watchers watchers_;
  SafeMode safe_mode_;
  Dispatcher dispatcher_;
  BlockStore block_store_;
  InputPins pins_;
  Libraries libraries_{options_.owner.library_bytes};
  DrainReader drains_;
  Rows rows_;
  Lists lists_;
  WhyReader why_;
  JobEnds job_ends_;
  Forecasts forecasts_;
  SubmitChecks checks_;
  Submissions submissions_;
  Explainer explainer_;
  JobRequests requests_;
  KeptLogs logs_;
  Housekeeping housekeeping_;
  Leases leases_;
  RoomKeeper room_;
  Sessions sessions_;
  OutputProbes probes_;
  Reports reports_;
  MetricsText metrics_;
  Usage usage_;
  ViewReader views_;
};

}  // namespace mr::master
