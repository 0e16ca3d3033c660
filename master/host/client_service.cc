// MasterForClient: what mrctl and everybody else outside may ask.
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>

#include "common/io/clock.h"
#include "common/io/fault.h"
#include "common/io/file_version.h"
#include "common/io/retention.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/spec_wire.h"
#include "common/rpc/wire.h"
#include "master/core/drain.h"
#include "master/core/spec_check.h"
#include "master/host/client_answers.h"
#include "master/host/library_upload.h"
#include "master/host/shell.h"
#include "master/host/watch_handle.h"

namespace mr::master {
namespace {

constexpr size_t kMaxWatches = 64;  // of one connection; mrctl has one

class ClientService final : public rpc::Guarded<rpc::MasterForClient> {
 public:
  ClientService(Shell& shell, const rpc::PeerInfo& peer)
      : Guarded(shell.GuardOf(peer)), shell_(shell), connection_(shell.NextId()), peer_(peer) {}
  ~ClientService() {
    if (!uploads_) return;
    shell_.PostToMaster(
        [&master = shell_.client_parts(), connection = connection_] { master.libraries.ConnectionClosed(connection); });
  }

 protected:
  kj::Promise<void> submit(SubmitContext context) override {
    const auto params = context.getParams();
    auto spec = CheckSpec(rpc::FromWire(params.getSpec()));
    if (!spec.ok()) {
      rpc::ToOutcome(spec.status(), context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    const std::string submission(params.getSubmissionId().cStr());
    if (submission.size() > 200) {
      rpc::ToOutcome(InvalidArgument("a submission id has at most 200 bytes"), context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    struct Submitted {
      Changed changed;
      JobId job;
    };
    auto answer = rpc::MakeAnswer<Submitted>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), bytes = rpc::CanonicalBytes(params.getSpec()),
                         spec = *std::move(spec), submission, caller = caller(),
                         fulfill = std::move(answer.fulfill)]() mutable {
      master.submissions.Submit(caller, std::move(bytes), std::move(spec), submission,
                                [fulfill](Changed changed, JobId job) {
                                  fulfill({std::move(changed), job});
                                });
    });
    return answer.promise.then([context, note = note()](const Submitted& submitted) mutable {
      FaultPoint("accepted");
      if (note != nullptr) note->sequence = submitted.changed.sequence;
      auto results = context.getResults();
      rpc::ToOutcome(submitted.changed.status, results.initOutcome());
      rpc::ToWire(submitted.job, results.initJob());
    });
  }

  kj::Promise<void> watch(WatchContext context) override {
    const auto params = context.getParams();
    if (*watches_ >= kMaxWatches) {
      rpc::ToOutcome(Rejected("one connection watches at most " + std::to_string(kMaxWatches) +
                              " jobs at a time; end some of them, or open another connection"),
                     context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    const uint64_t watcher = shell_.NextId();
    shell_.watchers().emplace(watcher, params.getWatcher());
    auto handle = kj::heap<WatchHandle>(shell_, watcher, peer_.hold.lock(), watches_);
    return shell_
        .Ask([&master = shell_.client_parts(), watcher, job = rpc::FromWire(params.getJob()), caller = caller()] {
          return master.watchers.Watch(watcher, job, caller);
        })
        .then([context, handle = kj::mv(handle)](Status status) mutable {
          auto results = context.getResults();
          rpc::ToOutcome(status, results.initOutcome());
          if (status.ok()) results.setHandle(kj::mv(handle));
        });
  }

  kj::Promise<void> job(JobContext context) override {
    return Fill<rpc::MasterForClient::JobResults>(context, [id = rpc::FromWire(context.getParams().getJob()),
                                                            caller = caller()](const ClientParts& master, auto out) {
      const Status status = master.lists.FillJob(caller, id, out);
      if (!status.ok()) rpc::ToOutcome(status, out.initOutcome());
    });
  }
  kj::Promise<void> jobs(JobsContext context) override {
    return Fill<rpc::MasterForClient::JobsResults>(
        context, [from = context.getParams().getFrom(), caller = caller()](const ClientParts& master, auto out) {
          master.lists.FillJobs(caller, from, out);
        });
  }
  kj::Promise<void> tasks(TasksContext context) override {
    return Fill<rpc::MasterForClient::TasksResults>(
        context, [id = rpc::FromWire(context.getParams().getJob()), from = context.getParams().getFrom(),
                  caller = caller()](const ClientParts& master, auto out) {
          rpc::ToOutcome(master.lists.FillTasks(caller, id, from, out), out.initOutcome());
        });
  }
  kj::Promise<void> attempts(AttemptsContext context) override {
    return Fill<rpc::MasterForClient::AttemptsResults>(
        context,
        [id = rpc::FromWire(context.getParams().getJob()), after = rpc::FromWire(context.getParams().getAfter()),
         caller = caller()](const ClientParts& master, auto out) {
          rpc::ToOutcome(master.lists.FillAttempts(caller, id, after, out), out.initOutcome());
        });
  }
  kj::Promise<void> counters(CountersContext context) override {
    return Fill<rpc::MasterForClient::CountersResults>(
        context, [id = rpc::FromWire(context.getParams().getJob()), from = context.getParams().getFrom(),
                  caller = caller()](const ClientParts& master, auto out) {
          rpc::ToOutcome(master.lists.FillCounters(caller, id, from, out), out.initOutcome());
        });
  }
  kj::Promise<void> launched(LaunchedContext context) override {
    return Fill<rpc::MasterForClient::LaunchedResults>(
        context, [attempt = rpc::FromWire(context.getParams().getAttempt()), caller = caller()](
                     const ClientParts& master, auto out) {
          rpc::ToOutcome(master.lists.FillLaunched(caller, attempt, out), out.initOutcome());
        });
  }
  kj::Promise<void> spec(SpecContext context) override {
    return Fill<rpc::MasterForClient::SpecResults>(context, [id = rpc::FromWire(context.getParams().getJob()),
                                                             caller = caller()](const ClientParts& master, auto out) {
      rpc::ToOutcome(master.lists.FillSpec(caller, id, out.initSpec()), out.initOutcome());
    });
  }
  kj::Promise<void> history(HistoryContext context) override {
    const auto params = context.getParams();
    return Fill<rpc::MasterForClient::HistoryResults>(
        context, [id = rpc::FromWire(params.getJob()), from = params.getFrom(), caller = caller()](
                     const ClientParts& master, auto out) {
          rpc::ToOutcome(master.lists.FillHistory(caller, id, from, out), out.initOutcome());
        });
  }
  kj::Promise<void> workers(WorkersContext context) override {
    return Fill<rpc::MasterForClient::WorkersResults>(
        context, [from = context.getParams().getFrom()](const ClientParts& master, auto out) {
          master.lists.FillWorkers(from, out);
        });
  }

  kj::Promise<void> kill(KillContext context) override {
    const auto params = context.getParams();
    const std::string why = std::string(params.getWhy().cStr()).substr(0, 1000);
    return Change(context,
                  [id = rpc::FromWire(params.getJob()), why, caller = caller()](const ClientParts& master, auto reply) {
                    master.requests.KillJob(id, caller, why, reply);
                  });
  }

  kj::Promise<void> why(WhyContext context) override {
    return Fill<rpc::MasterForClient::WhyResults>(
        context, [subject = std::string(context.getParams().getSubject().cStr()), caller = caller()](
                     const ClientParts& master, auto out) {
          const auto why = master.why.Why(subject, caller);
          rpc::ToOutcome(why.status(), out.initOutcome());
          if (!why.ok()) return;
          auto lines = out.initLines(static_cast<unsigned>(why->size()));
          for (unsigned i = 0; i < why->size(); ++i) lines.set(i, (*why)[i].c_str());
        });
  }

  kj::Promise<void> logs(LogsContext context) override { return AnswerLogs(shell_, caller(), context); }

  kj::Promise<void> libraryKnown(LibraryKnownContext context) override {
    const std::string sha256(context.getParams().getSha256().cStr());
    return shell_.Ask([&master = shell_.client_parts(), sha256] { return master.libraries.Requested(sha256, Now()); })
        .then([this, context, sha256](bool known) mutable {
          context.getResults().setKnown(known);
          // The submit that follows must find it: it counts as new.
          if (!known) return;
          shell_.pool().Post([path = shell_.options().directory + "/lib/" + sha256 + ".so"] { TouchFile(path); });
        });
  }

  kj::Promise<void> putLibrary(PutLibraryContext context) override {
    uploads_ = true;
    return AnswerPutLibrary(shell_, caller().identity, connection_, context);
  }

  kj::Promise<void> files(FilesContext context) override {
    context.getResults().setFiles(dfs::MakeFileSystem(shell_, guard()));
    return kj::READY_NOW;
  }

  kj::Promise<void> info(InfoContext context) override {
    auto results = context.getResults();
    results.setVersion(shell_.options().version.c_str());
    results.setClusterId(shell_.options().cluster_id);
    results.setMasterEpoch(shell_.client_parts().driver.epoch());
    results.setPolicies(shell_.client_parts().options.policies.c_str());
    results.setIgnoresDeadlines(!sched::Scheduler::Steers(shell_.client_parts().options.policies));
    results.setIgnoresQueues(!sched::Scheduler::SharesQueues(shell_.client_parts().options.policies));
    results.setPid(static_cast<uint32_t>(getpid()));
    results.setAddress(shell_.address().c_str());
    results.setUnixMs(WallClockMs());
    results.setFileView(FileView());
    results.setScratch(dfs::ScratchOf(guard()->identity).c_str());
    return kj::READY_NOW;
  }

  kj::Promise<void> queues(QueuesContext context) override {
    return Fill<rpc::MasterForClient::QueuesResults>(
        context, [](const ClientParts& master, auto out) { master.lists.FillQueues(out); });
  }

  kj::Promise<void> setQueue(SetQueueContext context) override {
    const auto params = context.getParams();
    const auto share = [](int64_t slots) {
      constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
      return slots < 0 ? std::optional<uint32_t>() : static_cast<uint32_t>(slots < kMost ? slots : kMost);
    };
    MasterCore::QueueWish wish{params.getQueue().cStr(), {}, share(params.getMinShare()), share(params.getMaxShare())};
    if (params.getWeight() != 0) wish.weight = params.getWeight();
    return Change(context, [wish](const ClientParts& master, auto reply) { master.requests.SetQueue(wish, reply); });
  }

  kj::Promise<void> profile(ProfileContext context) override { return AnswerProfile(shell_, context); }

  kj::Promise<void> explain(ExplainContext context) override {
    auto spec = CheckSpec(rpc::FromWire(context.getParams().getSpec()));
    if (!spec.ok()) {
      rpc::ToOutcome(spec.status(), context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    auto shared = std::make_shared<JobSpec>(*std::move(spec));
    auto answer = rpc::MakeAnswer<std::shared_ptr<Explained>>(shell_.kj());
    shell_.PostToMaster(
        [&master = shell_.client_parts(), shared, caller = caller(), fulfill = std::move(answer.fulfill)] {
          master.explainer.ExplainJob(caller, *shared,
                                      [fulfill](Explained e) { fulfill(std::make_shared<Explained>(std::move(e))); });
        });
    return answer.promise.then([context, shared](const std::shared_ptr<Explained>& explained) mutable {
      auto results = context.getResults();
      rpc::ToOutcome(explained->status, results.initOutcome());
      if (explained->status.ok()) ToWire(*explained, *shared, results.initPlan());
    });
  }

  kj::Promise<void> measure(MeasureContext context) override {
    std::vector<std::string> uris;
    for (const auto uri : context.getParams().getUris()) uris.emplace_back(uri.cStr(), uri.size());
    auto answer = rpc::MakeAnswer<Explainer::InputSizes>(shell_.kj());
    shell_.PostToMaster(
        [&master = shell_.client_parts(), uris = std::move(uris), caller = caller(),
         fulfill = std::move(answer.fulfill)] { master.explainer.MeasureInputs(caller, uris, fulfill); });
    return answer.promise.then([context](Explainer::InputSizes sizes) mutable {
      auto list = context.getResults().initSizes(static_cast<unsigned>(sizes.size()));
      for (unsigned i = 0; i < sizes.size(); ++i) {
        if (!sizes[i]) continue;
        list[i].setKnown(true);
        list[i].setBytes(sizes[i]->bytes);
        list[i].setCompressed(sizes[i]->compressed);
      }
    });
  }

  kj::Promise<void> setJob(SetJobContext context) override {
    const auto params = context.getParams();
    MasterCore::JobWish wish;
    if (params.getSetPriority()) wish.priority = params.getPriority();
    constexpr uint64_t kYear = 366ull * 86'400'000;
    if (params.getSetDeadline()) {
      wish.deadline = Millis(static_cast<int64_t>(std::min<uint64_t>(params.getDeadlineMs(), kYear)));
    }
    using Set = std::pair<Changed, std::string>;
    auto answer = rpc::MakeAnswer<Set>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), id = rpc::FromWire(params.getJob()), wish, caller = caller(),
                         fulfill = std::move(answer.fulfill)] {
      master.requests.SetJob(id, caller, wish, [fulfill](Changed changed, std::string warning) {
        fulfill({std::move(changed), std::move(warning)});
      });
    });
    return answer.promise.then([context, note = note()](const Set& set) mutable {
      if (note != nullptr) note->sequence = set.first.sequence;
      rpc::ToOutcome(set.first.status, context.getResults().initOutcome());
      context.getResults().setWarning(set.second.c_str());
    });
  }

  kj::Promise<void> null(NullContext) override { return kj::READY_NOW; }
  kj::Promise<void> journal(JournalContext context) override { return AnswerJournal(shell_, context); }
  kj::Promise<void> acceptLoss(AcceptLossContext context) override { return AnswerAcceptLoss(shell_, context, note()); }

  kj::Promise<void> drain(DrainContext context) override {
    const auto params = context.getParams();
    return Change(context, [id = WorkerId{params.getWorker()}, on = params.getOn()](
                               const ClientParts& master, auto reply) { master.sessions.Drain(id, on, reply); });
  }

  kj::Promise<void> drainStatus(DrainStatusContext context) override {
    return Fill<rpc::MasterForClient::DrainStatusResults>(
        context, [id = WorkerId{context.getParams().getWorker()}](const ClientParts& master, auto out) {
          const auto report = master.drains.DrainOf(id);
          rpc::ToOutcome(report.status(), out.initOutcome());
          if (report.ok()) rpc::ToWire(StatusOf(*report), out.initStatus());
        });
  }

  kj::Promise<void> exclude(ExcludeContext context) override {
    const auto params = context.getParams();
    return Change(context, [id = WorkerId{params.getWorker()}, on = params.getOn()](
                               const ClientParts& master, auto reply) { master.sessions.Exclude(id, on, reply); });
  }

  kj::Promise<void> forget(ForgetContext context) override {
    const auto params = context.getParams();
    return Change(context, [id = WorkerId{params.getWorker()}, force = params.getForce()](
                               const ClientParts& master, auto reply) { master.sessions.Forget(id, force, reply); });
  }

  kj::Promise<void> reach(ReachContext context) override { return AnswerReach(shell_, context); }

  kj::Promise<void> page(PageContext context) override {
    const auto link = shell_.PageLink(peer_);
    rpc::ToOutcome(link.status(), context.getResults().initOutcome());
    if (link.ok()) context.getResults().setUrl(link->Reveal().c_str());
    return kj::READY_NOW;
  }

  kj::Promise<void> ticket(TicketContext context) override {
    const auto& granter = shell_.options().granter;
    auto results = context.getResults();
    if (granter == nullptr) return kj::READY_NOW;
    const auto made = granter->TicketFor(context.getParams().getWorker().cStr(), peer_);
    rpc::ToOutcome(made.status(), results.initOutcome());
    if (made.ok()) {
      const std::string& bytes = made->Reveal();
      results.setTicket(kj::arrayPtr(reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()));
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> decisions(DecisionsContext context) override {
    const auto params = context.getParams();
    return Fill<rpc::MasterForClient::DecisionsResults>(
        context, [id = rpc::FromWire(params.getJob()), from = params.getFrom(), caller = caller()](
                     const ClientParts& master, auto out) {
          rpc::ToOutcome(master.lists.FillDecisions(caller, id, from, out), out.initOutcome());
        });
  }

 private:
  // Has the master's thread fill a results struct, and copies it into the answer.
  template <class Results, class Context, class F>
  kj::Promise<void> Fill(Context context, F fill) {
    return shell_
        .Ask([&master = shell_.client_parts(), fill = std::move(fill)]() -> std::pair<Message, Duration> {
          const Instant begin = Now();
          auto message = std::make_shared<capnp::MallocMessageBuilder>();
          fill(master, message->initRoot<Results>());
          return {std::move(message), Now() - begin};
        })
        .then([this, context](const std::pair<Message, Duration>& filled) mutable {
          Charge(filled.second);
          context.setResults(filled.first->template getRoot<Results>().asReader());
        });
  }

  // Has the master's thread change something; the call has only an outcome as its answer.
  template <class Context, class F>
  kj::Promise<void> Change(Context context, F change) {
    auto answer = rpc::MakeAnswer<Changed>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), change = std::move(change),
                         fulfill = std::move(answer.fulfill)] { change(master, fulfill); });
    return answer.promise.then([context, note = note()](const Changed& changed) mutable {
      if (note != nullptr) note->sequence = changed.sequence;
      rpc::ToOutcome(changed.status, context.getResults().initOutcome());
    });
  }

  Shell& shell_;
  const uint64_t connection_;
  bool uploads_ = false;  // pieces of libraries came
  const rpc::PeerInfo peer_;
  const std::shared_ptr<size_t> watches_ = std::make_shared<size_t>(0);  // jobs that this connection watches
};

}  // namespace

rpc::MasterForClient::Client MakeClientService(Shell& shell, const rpc::PeerInfo& peer) {
  return kj::heap<ClientService>(shell, peer);
}

}  // namespace mr::master
