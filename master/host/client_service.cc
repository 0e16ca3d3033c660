// MasterForClient: what mrctl and everybody else outside may ask.
#include <fcntl.h>
#include <glog/logging.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "common/io/clock.h"
#include "common/io/fault.h"
#include "common/io/file_version.h"
#include "common/io/files.h"
#include "common/io/retention.h"
#include "common/io/sha256.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/spec_wire.h"
#include "common/rpc/wire.h"
#include "master/core/drain.h"
#include "master/core/spec_check.h"
#include "master/host/admission_text.h"
#include "master/host/explain.h"
#include "master/host/profiles.h"
#include "master/host/shell.h"
#include "master/sched/policies/jockey/admission.h"

namespace mr::master {
namespace {

constexpr uint64_t kMaxLibraryBytes = 1ull << 30;
constexpr size_t kUploadPiece = 1 << 20;
constexpr size_t kMaxWatches = 64;  // of one connection; mrctl has one
constexpr auto kLogTimeout = 5 * kj::SECONDS;

bool LibraryName(const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

constexpr size_t kProfilePage = 512 << 10;  // of a message of at most 1 MiB

const char* EdgeWord(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kAllToAll: return "all_to_all";
    case EdgeKind::kManyToOne: return "many_to_one";
    case EdgeKind::kOneToOne: return "one_to_one";
    case EdgeKind::kBroadcast: return "broadcast";
  }
  return "";
}

void FillProfileStage(const sched::StageRuns& stage, rpc::ProfileStage::Builder out) {
  out.setName(stage.name.c_str());
  out.setTasks(stage.tasks);
  auto inputs = out.initInputs(static_cast<unsigned>(stage.inputs.size()));
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (!stage.inputs[i].is_edge) continue;
    inputs[i].setEdge(EdgeWord(stage.inputs[i].edge));
    inputs[i].setFrom(stage.inputs[i].upstream);
  }
  out.setRun(kj::arrayPtr(stage.run.data(), stage.run.size()));
  out.setWait(kj::arrayPtr(stage.wait.data(), stage.wait.size()));
  out.setQueue(stage.queue);
  out.setFails(stage.fails);
  out.setFailsAgain(stage.fails_again);
  out.setInputBytes(stage.input_bytes);
}

Status FillProfile(const std::string& name, const Result<std::vector<StoredProfile>>& all, uint32_t index,
                   uint32_t from, rpc::MasterForClient::ProfileResults::Builder out) {
  MR_RETURN_IF_ERROR(all.status());
  if (index >= all->size()) {
    return NotFound("no run of a job named '" + name + "' is known: the first that succeeds leaves a profile");
  }
  const StoredProfile& stored = (*all)[index];
  const auto& stages = stored.profile.stages;
  uint32_t end = from;
  for (size_t bytes = 0; end < stages.size() && bytes < kProfilePage; ++end) {
    bytes += (stages[end].run.size() + stages[end].wait.size()) * sizeof(float) + 512;
  }
  out.setCount(static_cast<uint32_t>(all->size()));
  out.setNext(end < stages.size() ? end : 0);
  auto profile = out.initProfile();
  profile.setName(stored.name.c_str());
  profile.setShape(stored.shape);
  profile.setRuns(stored.profile.runs);
  profile.setUpdatedUnixMs(stored.updated_unix_ms);
  rpc::ToWire(stored.last, profile.initLast());
  auto list = profile.initStages(end < from ? 0 : end - from);
  for (uint32_t s = from; s < end; ++s) FillProfileStage(stages[s], list[s - from]);
  return Status::Ok();
}

void ToWire(const Explained& e, const JobSpec& spec, rpc::ExplainedPlan::Builder out) {
  const auto us = [](double seconds) {
    return std::isfinite(seconds) && seconds > 0 ? static_cast<uint64_t>(seconds * 1e6) : uint64_t{0};
  };
  auto stages = out.initStages(static_cast<unsigned>(e.plan.stages.size()));
  for (unsigned s = 0; s < stages.size(); ++s) {
    const StagePlan& stage = e.plan.stages[s];
    stages[s].setName(spec.stages[s].name.c_str());
    stages[s].setReduces(!spec.stages[s].is_map());
    stages[s].setTasks(stage.tasks);
    stages[s].setInputBytes(stage.input_bytes);
    stages[s].setSplits(static_cast<uint32_t>(stage.splits.size()));
    stages[s].setWithReplica(e.locality[s].with_replica);
    stages[s].setWorkers(e.locality[s].workers);
  }
  auto refusals = out.initRefusals(static_cast<unsigned>(e.refusals.size()));
  for (unsigned i = 0; i < refusals.size(); ++i) rpc::ToOutcome(e.refusals[i], refusals[i]);
  out.setSlots(e.slots);
  out.setSteered(e.steered);
  out.setBasis(e.forecast ? e.forecast->basis.c_str() : e.no_forecast.c_str());
  if (!e.forecast) return;
  const sched::Prediction& p = e.forecast->prediction;
  out.setRuns(p.runs);
  out.setScale(p.scale);
  auto times = out.initPredictions(static_cast<unsigned>(p.slots.size()));
  for (unsigned i = 0; i < times.size(); ++i) {
    const std::vector<double> left = p.At(i, 0);
    times[i].setSlots(p.slots[i]);
    times[i].setMedianUs(us(left[left.size() / 2]));
    times[i].setMostUs(us(left.back()));
    times[i].setInTime(spec.deadline.ns > 0 && sched::EarliestWith(p, p.slots[i]) <= spec.deadline.seconds());
  }
  if (!e.admission) return;
  out.setHasAdmission(true);
  out.setAdmitted(e.admission->answer == sched::Admission::Answer::kAdmitted);
  out.setNeedsSlots(e.admission->slots);
  out.setAvailableSlots(e.admission->available);
  out.setCriticalPathUs(us(e.admission->critical_path));
  out.setEarliestUs(us(Earliest(*e.admission).seconds()));
}

// Held by a client while it watches; its end is the end of watching.
class WatchHandle final : public rpc::Handle::Server {
 public:
  // watches: of its connection; this is one of them until it goes.
  WatchHandle(Shell& shell, uint64_t watcher, std::shared_ptr<void> hold, std::shared_ptr<size_t> watches)
      : shell_(shell), watcher_(watcher), hold_(std::move(hold)), watches_(std::move(watches)) {
    ++*watches_;
  }
  ~WatchHandle() noexcept(false) {
    --*watches_;
    shell_.watchers().erase(watcher_);
    shell_.PostToMaster([&master = shell_.client_parts(), watcher = watcher_] { master.watchers.Unwatch(watcher); });
  }

 private:
  Shell& shell_;
  const uint64_t watcher_;
  const std::shared_ptr<void> hold_;  // a connection that watches is not idle
  const std::shared_ptr<size_t> watches_;
};

// One piece of an upload, on a pool thread. The last one is checked, synced and given its name.
Status StorePiece(const std::string& directory, const std::string& part, const std::string& sha256, uint64_t total,
                  uint64_t offset, const std::string& data) {
  const std::string temporary = directory + "/" + part;
  MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(temporary, O_RDWR | O_CREAT | (offset == 0 ? O_TRUNC : 0), 0644));
  MR_ASSIGN_OR_RETURN(const uint64_t have, FileSize(temporary));
  if (have != offset) return InvalidArgument("the pieces of a library must come in order, from the first on");
  MR_RETURN_IF_ERROR(PwriteAll(fd.get(), data, offset));
  if (offset + data.size() < total) return Status::Ok();
  MR_ASSIGN_OR_RETURN(const std::string digest, Sha256File(temporary));
  if (digest != sha256) {
    (void)RemoveTree(temporary);
    return Corrupted("the uploaded library has SHA-256 " + digest + " instead of " + sha256 + "; send it again");
  }
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync " + temporary);
  const std::string path = directory + "/" + sha256 + ".so";
  if (rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "cannot name " + path);
  return SyncDirectory(directory);
}

class ClientService final : public rpc::MasterForClient::Server {
 public:
  ClientService(Shell& shell, const rpc::PeerInfo& peer)
      : shell_(shell), connection_(shell.NextId()), hold_(peer.hold) {}

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
      Status status;
      JobId job;
    };
    auto answer = MakeAnswer<Submitted>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), bytes = rpc::CanonicalBytes(params.getSpec()),
                         spec = *std::move(spec), submission, fulfill = std::move(answer.fulfill)]() mutable {
      master.submissions.Submit(std::move(bytes), std::move(spec), submission, [fulfill](Status status, JobId job) {
        fulfill({std::move(status), job});
      });
    });
    return answer.promise.then([context](const Submitted& submitted) mutable {
      FaultPoint("accepted");
      auto results = context.getResults();
      rpc::ToOutcome(submitted.status, results.initOutcome());
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
    auto handle = kj::heap<WatchHandle>(shell_, watcher, hold_.lock(), watches_);
    return shell_
        .Ask([&master = shell_.client_parts(), watcher, job = rpc::FromWire(params.getJob())] {
          return master.watchers.Watch(watcher, job);
        })
        .then([context, handle = kj::mv(handle)](Status status) mutable {
          auto results = context.getResults();
          rpc::ToOutcome(status, results.initOutcome());
          if (status.ok()) results.setHandle(kj::mv(handle));
        });
  }

  kj::Promise<void> job(JobContext context) override {
    return Fill<rpc::MasterForClient::JobResults>(
        context, [id = rpc::FromWire(context.getParams().getJob())](const ClientParts& master, auto out) {
          const Status status = master.lists.FillJob(id, out);
          if (!status.ok()) rpc::ToOutcome(status, out.initOutcome());
        });
  }
  kj::Promise<void> jobs(JobsContext context) override {
    return Fill<rpc::MasterForClient::JobsResults>(
        context, [from = context.getParams().getFrom()](const ClientParts& master, auto out) {
          master.lists.FillJobs(from, out);
        });
  }
  kj::Promise<void> tasks(TasksContext context) override {
    return Fill<rpc::MasterForClient::TasksResults>(
        context, [id = rpc::FromWire(context.getParams().getJob()), from = context.getParams().getFrom()](
                     const ClientParts& master, auto out) {
          const Status status = master.lists.FillTasks(id, from, out);
          rpc::ToOutcome(status, out.initOutcome());
        });
  }
  kj::Promise<void> attempts(AttemptsContext context) override {
    return Fill<rpc::MasterForClient::AttemptsResults>(
        context, [id = rpc::FromWire(context.getParams().getJob()),
                  after = rpc::FromWire(context.getParams().getAfter())](const ClientParts& master, auto out) {
          const Status status = master.lists.FillAttempts(id, after, out);
          rpc::ToOutcome(status, out.initOutcome());
        });
  }
  kj::Promise<void> counters(CountersContext context) override {
    return Fill<rpc::MasterForClient::CountersResults>(
        context, [id = rpc::FromWire(context.getParams().getJob()), from = context.getParams().getFrom()](
                     const ClientParts& master, auto out) {
          const Status status = master.lists.FillCounters(id, from, out);
          rpc::ToOutcome(status, out.initOutcome());
        });
  }
  kj::Promise<void> launched(LaunchedContext context) override {
    return Fill<rpc::MasterForClient::LaunchedResults>(
        context, [attempt = rpc::FromWire(context.getParams().getAttempt())](const ClientParts& master, auto out) {
          const Status status = master.lists.FillLaunched(attempt, out);
          rpc::ToOutcome(status, out.initOutcome());
        });
  }
  kj::Promise<void> history(HistoryContext context) override {
    const auto params = context.getParams();
    return Fill<rpc::MasterForClient::HistoryResults>(
        context, [id = rpc::FromWire(params.getJob()), from = params.getFrom()](const ClientParts& master, auto out) {
          const Status status = master.lists.FillHistory(id, from, out);
          rpc::ToOutcome(status, out.initOutcome());
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
    auto answer = MakeAnswer<Status>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), id = rpc::FromWire(params.getJob()),
                         why = std::string(params.getWhy().cStr()).substr(0, 1000),
                         fulfill = std::move(answer.fulfill)] { master.requests.KillJob(id, why, fulfill); });
    return answer.promise.then(
        [context](Status status) mutable { rpc::ToOutcome(status, context.getResults().initOutcome()); });
  }

  kj::Promise<void> why(WhyContext context) override {
    return Fill<rpc::MasterForClient::WhyResults>(
        context, [subject = std::string(context.getParams().getSubject().cStr())](const ClientParts& master, auto out) {
          const auto why = master.why.Why(subject);
          rpc::ToOutcome(why.status(), out.initOutcome());
          if (!why.ok()) return;
          auto lines = out.initLines(static_cast<unsigned>(why->size()));
          for (unsigned i = 0; i < why->size(); ++i) lines.set(i, (*why)[i].c_str());
        });
  }

  kj::Promise<void> logs(LogsContext context) override {
    struct Known {
      Status status;
      uint64_t session = 0;
      bool same_life = false;  // the worker's process is the one that ran it
      std::string worker, text;
    };
    const auto attempt = rpc::FromWire(context.getParams().getAttempt());
    return shell_
        .Ask([&master = shell_.client_parts(), attempt] {
          const AttemptView* view = master.driver.core().jobs().Find(attempt);
          if (view == nullptr) return Known{NotFound("there is no such attempt"), 0, false, "", ""};
          // A worker that was started again has the logs of its earlier lives.
          const WorkerView* worker = master.driver.core().workers().Find(view->worker);
          return Known{Status::Ok(), worker == nullptr || !worker->alive ? 0 : worker->session,
                       worker != nullptr && worker->info.incarnation == view->incarnation, Name(view->worker),
                       view->stderr_tail.empty() ? view->message : view->stderr_tail};
        })
        .then([this, context, attempt](const Known& known) mutable -> kj::Promise<void> {
          rpc::ToOutcome(known.status, context.getResults().initOutcome());
          if (!known.status.ok()) return kj::READY_NOW;
          // Where the worker has nothing (any more), what the master kept is the answer.
          auto kept = [context, text = known.text](const std::string& why) mutable {
            context.getResults().setText(text.c_str());
            context.getResults().setNote(
                (why + (text.empty() || why.empty() ? "" : "; this is what its report said")).c_str());
          };
          const auto session = shell_.sessions().find(known.session);
          if (session == shell_.sessions().end()) {
            kept("its log is on " + known.worker + ", which is gone");
            return kj::READY_NOW;
          }
          auto request = session->second.logRequest();
          rpc::ToWire(attempt, request.initAttempt());
          return shell_.kj()
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

  kj::Promise<void> libraryKnown(LibraryKnownContext context) override {
    const std::string sha256(context.getParams().getSha256().cStr());
    return shell_.Ask([&master = shell_.client_parts(), sha256] { return master.libraries.Known(sha256); })
        .then([this, context, sha256](bool known) mutable {
          context.getResults().setKnown(known);
          // The submit that follows must find it: it counts as new.
          if (!known) return;
          shell_.pool().Post([path = shell_.options().directory + "/lib/" + sha256 + ".so"] { TouchFile(path); });
        });
  }

  kj::Promise<void> putLibrary(PutLibraryContext context) override {
    const auto params = context.getParams();
    const std::string sha256(params.getSha256().cStr());
    const auto data = params.getData();
    const uint64_t total = params.getTotalBytes(), offset = params.getOffset();
    if (!LibraryName(sha256) || data.size() > kUploadPiece || total > kMaxLibraryBytes || offset > total ||
        data.size() > total - offset || (data.size() == 0 && total != 0)) {
      rpc::ToOutcome(InvalidArgument("a library comes in pieces of at most 1 MiB, under its SHA-256, and has at most "
                                     "1 GiB"),
                     context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    auto answer = MakeAnswer<Status>(shell_.kj());
    // A name of this connection's own: two uploads of one library do not meet.
    shell_.pool().Post(
        [directory = shell_.options().directory + "/lib",
         part = "." + sha256 + "." + std::to_string(connection_) + ".part", sha256, total, offset,
         bytes = std::string(reinterpret_cast<const char*>(data.begin()), data.size()),
         fulfill = std::move(answer.fulfill)] { fulfill(StorePiece(directory, part, sha256, total, offset, bytes)); });
    const bool last = offset + data.size() == total;
    return answer.promise
        .then([this, sha256, last](Status status) -> kj::Promise<Status> {
          if (!status.ok() || !last) return status;
          return shell_.Ask([&master = shell_.client_parts(), sha256] {
            master.libraries.Stored(sha256);
            return Status::Ok();
          });
        })
        .then([context](Status status) mutable { rpc::ToOutcome(status, context.getResults().initOutcome()); });
  }

  kj::Promise<void> files(FilesContext context) override {
    context.getResults().setFiles(dfs::MakeFileSystem(shell_));
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
    auto answer = MakeAnswer<Status>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), wish, fulfill = std::move(answer.fulfill)] {
      master.requests.SetQueue(wish, fulfill);
    });
    return answer.promise.then(
        [context](Status status) mutable { rpc::ToOutcome(status, context.getResults().initOutcome()); });
  }

  kj::Promise<void> profile(ProfileContext context) override {
    const auto params = context.getParams();
    const std::string name(params.getName().cStr());
    const uint32_t index = params.getIndex(), from = params.getFromStage();
    const auto store = shell_.options().profiles;
    if (store == nullptr) {
      rpc::ToOutcome(NotFound("this master keeps no profiles: it is one of a local run"),
                     context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    using All = Result<std::vector<StoredProfile>>;
    auto answer = MakeAnswer<std::shared_ptr<All>>(shell_.kj());
    shell_.pool().Post(
        [store, name, fulfill = std::move(answer.fulfill)] { fulfill(std::make_shared<All>(store->FindAll(name))); });
    return answer.promise.then([context, name, index, from](const std::shared_ptr<All>& all) mutable {
      auto results = context.getResults();
      rpc::ToOutcome(FillProfile(name, *all, index, from, results), results.initOutcome());
    });
  }

  kj::Promise<void> explain(ExplainContext context) override {
    auto spec = CheckSpec(rpc::FromWire(context.getParams().getSpec()));
    if (!spec.ok()) {
      rpc::ToOutcome(spec.status(), context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    auto shared = std::make_shared<JobSpec>(*std::move(spec));
    auto answer = MakeAnswer<std::shared_ptr<Explained>>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), shared, fulfill = std::move(answer.fulfill)] {
      master.explainer.ExplainJob(*shared,
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
    auto answer = MakeAnswer<Explainer::InputSizes>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), uris = std::move(uris), fulfill = std::move(answer.fulfill)] {
      master.explainer.MeasureInputs(uris, fulfill);
    });
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
    using Set = std::pair<Status, std::string>;
    auto answer = MakeAnswer<Set>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), id = rpc::FromWire(params.getJob()), wish,
                         fulfill = std::move(answer.fulfill)] {
      master.requests.SetJob(id, wish, [fulfill](Status status, std::string warning) {
        fulfill({std::move(status), std::move(warning)});
      });
    });
    return answer.promise.then([context](const Set& set) mutable {
      rpc::ToOutcome(set.first, context.getResults().initOutcome());
      context.getResults().setWarning(set.second.c_str());
    });
  }

  kj::Promise<void> null(NullContext) override { return kj::READY_NOW; }

  kj::Promise<void> journal(JournalContext context) override { return AnswerJournal(shell_, context); }

  kj::Promise<void> drain(DrainContext context) override {
    const auto params = context.getParams();
    auto answer = MakeAnswer<Status>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), id = WorkerId{params.getWorker()}, on = params.getOn(),
                         fulfill = std::move(answer.fulfill)] { master.sessions.Drain(id, on, fulfill); });
    return answer.promise.then(
        [context](Status status) mutable { rpc::ToOutcome(status, context.getResults().initOutcome()); });
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
    auto answer = MakeAnswer<Status>(shell_.kj());
    shell_.PostToMaster([&master = shell_.client_parts(), id = WorkerId{params.getWorker()}, on = params.getOn(),
                         fulfill = std::move(answer.fulfill)] { master.sessions.Exclude(id, on, fulfill); });
    return answer.promise.then(
        [context](Status status) mutable { rpc::ToOutcome(status, context.getResults().initOutcome()); });
  }

  kj::Promise<void> decisions(DecisionsContext context) override {
    const auto params = context.getParams();
    return Fill<rpc::MasterForClient::DecisionsResults>(
        context, [id = rpc::FromWire(params.getJob()), from = params.getFrom()](const ClientParts& master, auto out) {
          const Status status = master.lists.FillDecisions(id, from, out);
          rpc::ToOutcome(status, out.initOutcome());
        });
  }

 private:
  // Has the master's thread fill a results struct, and copies it into the answer.
  template <class Results, class Context, class F>
  kj::Promise<void> Fill(Context context, F fill) {
    return shell_
        .Ask([&master = shell_.client_parts(), fill = std::move(fill)]() -> Message {
          auto message = std::make_shared<capnp::MallocMessageBuilder>();
          fill(master, message->initRoot<Results>());
          return message;
        })
        .then([context](const Message& message) mutable {
          context.setResults(message->template getRoot<Results>().asReader());
        });
  }

  Shell& shell_;
  const uint64_t connection_;
  const std::weak_ptr<void> hold_;
  const std::shared_ptr<size_t> watches_ = std::make_shared<size_t>(0);  // jobs that this connection watches
};

}  // namespace

rpc::MasterForClient::Client MakeClientService(Shell& shell, const rpc::PeerInfo& peer) {
  return kj::heap<ClientService>(shell, peer);
}

}  // namespace mr::master
