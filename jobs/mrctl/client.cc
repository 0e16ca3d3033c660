#include "jobs/mrctl/client_impl.h"
#include "jobs/mrctl/terminal_text.h"

#include <utility>

#include "common/rpc/spec_wire.h"
#include "dfs/client/dfs_client.h"

namespace mr::ctl {
namespace {
bool warns_insecure = true;  // of the thread that waits for answers
}  // namespace

void KeepQuietAboutInsecure() { warns_insecure = false; }

void WarnInsecure(const std::string& address) {
  if (!std::exchange(warns_insecure, false)) return;
  PrintErr("mrctl: warning: the master at " + address +
           " was started with --insecure: anybody can run commands on it\n");
}

Client::Client(std::string address) : address_(std::move(address)), impl_(std::make_unique<Impl>(address_)) {
  impl_->Connect();
}

Client::~Client() {
  impl_->thread.Run([this] { impl_->loop.reset(); });
}

bool Client::Insecure() const { return impl_->insecure; }
Status Client::WaitConnected() { return impl_->WaitConnected(); }
void Client::Reconnect() {
  impl_->logs = std::make_shared<LogAnswers>();
  impl_->Connect();
}
rpc::KjThread& Client::loop() { return impl_->thread; }

Result<std::unique_ptr<dfs::BlockingDfs>> Client::Store() {
  MR_RETURN_IF_ERROR(WaitConnected());
  auto store = dfs::BlockingDfs::On(
      impl_->thread, [this]() -> rpc::RpcConnection& { return *impl_->loop->connection; }, WaitOrGiveUp);
  if (!store.ok()) return impl_->OfMaster(store.status());
  return store;
}

void Client::Impl::Start(std::function<kj::Own<capnp::RequestHook>(Master&)> make,
                         std::function<void(capnp::AnyPointer::Reader)> done,
                         std::function<void(const Status&, bool)> failed) {
  thread.Post([this, make = std::move(make), done = std::move(done), failed = std::move(failed)]() mutable {
    auto hook = make(*loop->master);
    auto reply = hook->send();
    thread.Spawn(reply.then([done = std::move(done)](capnp::Response<capnp::AnyPointer>&& r) { done(r); })
                     .then([] {},
                           [failed = std::move(failed)](kj::Exception&& e) {
                             failed(rpc::FromException(e), e.getType() == kj::Exception::Type::UNIMPLEMENTED);
                           }));
  });
}

Result<Reply> Client::Impl::Exchange(std::function<kj::Own<capnp::RequestHook>(Master&)> make) {
  MR_RETURN_IF_ERROR(WaitConnected());
  auto slot = std::make_shared<Slot<Reply>>();
  Start(
      std::move(make),
      [slot](capnp::AnyPointer::Reader reply) {
        auto message = std::make_shared<capnp::MallocMessageBuilder>();
        message->getRoot<capnp::AnyPointer>().set(reply);
        slot->Put(Reply{std::move(message), {}});
      },
      [slot](const Status& why, bool unimplemented) {
        slot->Put(unimplemented ? Result<Reply>(Reply{nullptr, why}) : Result<Reply>(why));
      });
  auto reply = Await(slot);
  if (!reply.ok()) return OfMaster(reply.status());
  return reply;
}

namespace {

// A request with only the id of a job.
template <class Request>
Request ForJob(Request request, JobId id) {
  rpc::ToWire(id, request.initJob());
  return request;
}

// A page of a list, and the start of the next one (0: none).
template <class T>
struct ListPage {
  std::vector<T> part;
  uint64_t next = 0;
};

// Returns all pages of a list. ask: returns the page that begins at its argument.
template <class T, class Ask>
Result<std::vector<T>> AllPages(Ask ask) {
  std::vector<T> all;
  uint64_t from = 0;
  do {
    MR_ASSIGN_OR_RETURN(ListPage<T> page, ask(from));
    std::move(page.part.begin(), page.part.end(), std::back_inserter(all));
    from = page.next;
  } while (from != 0);
  return all;
}

}  // namespace

Result<MasterInfo> Client::Info() {
  return impl_->Call<MasterInfo>([](Master& master) { return master.infoRequest(); },
                                 [](auto r) -> Result<MasterInfo> {
                                   return MasterInfo{r.getVersion().cStr(),
                                                     r.getPolicies().cStr(),
                                                     r.getClusterId(),
                                                     r.getMasterEpoch(),
                                                     r.getPid(),
                                                     r.getAddress().cStr(),
                                                     r.getUnixMs(),
                                                     r.getFileView(),
                                                     r.getIgnoresDeadlines(),
                                                     r.getIgnoresQueues(),
                                                     r.getScratch().cStr()};
                                 });
}

Result<JobId> Client::Submit(const JobSpec& spec, const std::string& submission_id) {
  return impl_->Ask<JobId>(
      [spec, submission_id](Master& master) {
        auto request = master.submitRequest();
        rpc::ToWire(spec, request.initSpec());
        request.setSubmissionId(submission_id.c_str());
        return request;
      },
      [](auto r) -> Result<JobId> { return rpc::FromWire(r.getJob()); });
}

Result<bool> Client::LibraryKnown(const std::string& sha256) {
  return impl_->Call<bool>(
      [sha256](Master& master) {
        auto request = master.libraryKnownRequest();
        request.setSha256(sha256.c_str());
        return request;
      },
      [](auto r) -> Result<bool> { return r.getKnown(); });
}

Status Client::PutLibrary(const std::string& sha256, const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_RDONLY));
  MR_ASSIGN_OR_RETURN(const uint64_t total, FileSize(path));
  // An empty file is sent as one empty piece.
  for (uint64_t offset = 0, pieces = 0; offset < total || pieces == 0; ++pieces) {
    auto piece = std::make_shared<std::string>(std::min(kPieceBytes, total - offset), '\0');
    MR_ASSIGN_OR_RETURN(const size_t got, PreadUpTo(file.get(), piece->data(), piece->size(), offset));
    if (got != piece->size()) return InvalidArgument(path + " changed while it was being sent");
    const Status sent = impl_->Order([sha256, total, offset, piece](Master& master) {
      auto request = master.putLibraryRequest();
      request.setSha256(sha256.c_str());
      request.setTotalBytes(total);
      request.setOffset(offset);
      request.setData(capnp::Data::Reader(reinterpret_cast<const uint8_t*>(piece->data()), piece->size()));
      return request;
    });
    if (!sent.ok()) return sent.With("sending " + path);
    offset += got;
  }
  return Status::Ok();
}

Result<JobStatus> Client::Job(JobId id) {
  return impl_->Ask<JobStatus>([id](Master& master) { return ForJob(master.jobRequest(), id); },
                               [](auto r) -> Result<JobStatus> { return FromWire(r.getStatus()); });
}

Result<std::vector<JobStatus>> Client::Jobs() {
  using Page = ListPage<JobStatus>;
  return AllPages<JobStatus>([this](uint64_t from) {
    return impl_->Call<Page>(
        [from](Master& master) {
          auto request = master.jobsRequest();
          request.setFrom(from);
          return request;
        },
        [](auto r) -> Result<Page> {
          return Page{ListFromWire<JobStatus>(r.getJobs()), r.getNext()};
        });
  });
}

Result<std::vector<TaskStatus>> Client::Tasks(JobId id) {
  using Page = ListPage<TaskStatus>;
  return AllPages<TaskStatus>([this, id](uint64_t from) {
    return impl_->Ask<Page>(
        [id, from](Master& master) {
          auto request = ForJob(master.tasksRequest(), id);
          request.setFrom(from);
          return request;
        },
        [id](auto r) -> Result<Page> {
          Page page{{}, r.getNext()};
          for (auto task : r.getTasks()) page.part.push_back(FromWire(id, task));
          return page;
        });
  });
}

Result<std::vector<AttemptStatus>> Client::Attempts(JobId id) {
  struct Page {
    std::vector<AttemptStatus> part;
    AttemptId last;
    bool more = false;
  };
  std::vector<AttemptStatus> all;
  AttemptId after;
  for (bool more = true; more;) {
    MR_ASSIGN_OR_RETURN(
        Page page,
        impl_->Ask<Page>(
            [id, after](Master& master) {
              auto request = ForJob(master.attemptsRequest(), id);
              if (after.valid()) rpc::ToWire(after, request.initAfter());
              return request;
            },
            [](auto r) -> Result<Page> {
              Page page{ListFromWire<AttemptStatus>(r.getAttempts()), {}, r.getMore() && r.getAttempts().size() > 0};
              if (page.more) page.last = rpc::FromWire(r.getAttempts()[r.getAttempts().size() - 1].getId());
              return page;
            }));
    more = page.more;
    after = page.last;
    std::move(page.part.begin(), page.part.end(), std::back_inserter(all));
  }
  return all;
}

Result<std::vector<CounterValue>> Client::Counters(JobId id) {
  using Page = ListPage<CounterValue>;
  return AllPages<CounterValue>([this, id](uint64_t from) {
    return impl_->Ask<Page>(
        [id, from](Master& master) {
          auto request = ForJob(master.countersRequest(), id);
          request.setFrom(from);
          return request;
        },
        [](auto r) -> Result<Page> {
          return Page{ListFromWire<CounterValue>(r.getCounters()), r.getNext()};
        });
  });
}

namespace {
struct ProfilePage {
  ProfileStatus profile;
  uint32_t count = 0, next = 0;
};
}  // namespace

Result<std::vector<ProfileStatus>> Client::Profiles(const std::string& name) {
  std::vector<ProfileStatus> profiles;
  for (uint32_t index = 0, from = 0, count = 1; index < count;) {
    auto page = impl_->Ask<ProfilePage>(
        [name, index, from](Master& master) {
          auto request = master.profileRequest();
          request.setName(name.c_str());
          request.setIndex(index);
          request.setFromStage(from);
          return request;
        },
        [](auto r) -> Result<ProfilePage> {
          return ProfilePage{FromWire(r.getProfile()), r.getCount(), r.getNext()};
        });
    // Profiles may be removed between these calls.
    if (!page.ok() && page.status().code() == Code::kNotFound && index > 0) break;
    if (!page.ok()) return page.status();
    if (from == 0)
      profiles.push_back(std::move(page->profile));
    else
      for (auto& stage : page->profile.stages) profiles.back().stages.push_back(std::move(stage));
    if (page->next != 0 && page->next <= from) return Internal("the master repeats a page of a profile");
    count = page->count;
    from = page->next;
    if (from == 0) ++index;
  }
  return profiles;
}

Result<Explained> Client::Explain(const JobSpec& spec) {
  return impl_->Ask<Explained>(
      [spec](Master& master) {
        auto request = master.explainRequest();
        rpc::ToWire(spec, request.initSpec());
        return request;
      },
      [](auto r) -> Result<Explained> { return FromWire(r.getPlan()); });
}

Result<std::vector<std::optional<InputSize>>> Client::Measure(const std::vector<std::string>& uris) {
  using Sizes = std::vector<std::optional<InputSize>>;
  return impl_->Call<Sizes>(
      [uris](Master& master) {
        auto request = master.measureRequest();
        auto list = request.initUris(static_cast<unsigned>(uris.size()));
        for (unsigned i = 0; i < uris.size(); ++i) list.set(i, uris[i].c_str());
        return request;
      },
      [n = uris.size()](auto r) -> Result<Sizes> {
        Sizes sizes;
        for (const auto size : r.getSizes()) {
          sizes.push_back(size.getKnown() ? std::optional(InputSize{size.getBytes(), size.getCompressed()})
                                          : std::nullopt);
        }
        sizes.resize(n);
        return sizes;
      },
      Sizes(uris.size()));
}

Result<std::string> Client::SetJob(JobId id, std::optional<int32_t> priority, std::optional<uint64_t> deadline_ms) {
  return impl_->Ask<std::string>(
      [id, priority, deadline_ms](Master& master) {
        auto request = ForJob(master.setJobRequest(), id);
        request.setSetPriority(priority.has_value());
        request.setPriority(priority.value_or(0));
        request.setSetDeadline(deadline_ms.has_value());
        request.setDeadlineMs(deadline_ms.value_or(0));
        return request;
      },
      [](auto r) -> Result<std::string> { return std::string(r.getWarning().cStr()); });
}

Status Client::Kill(JobId id, const std::string& why) {
  return impl_->Order([id, why](Master& master) {
    auto request = ForJob(master.killRequest(), id);
    request.setWhy(why.c_str());
    return request;
  });
}

Result<std::vector<std::string>> Client::Why(const std::string& subject) {
  using Lines = std::vector<std::string>;
  return impl_->Ask<Lines>(
      [subject](Master& master) {
        auto request = master.whyRequest();
        request.setSubject(subject.c_str());
        return request;
      },
      [](auto r) -> Result<Lines> {
        Lines lines;
        for (auto line : r.getLines()) lines.emplace_back(line.cStr());
        return lines;
      });
}

Result<std::vector<WorkerStatus>> Client::Workers() {
  using Page = ListPage<WorkerStatus>;
  return AllPages<WorkerStatus>([this](uint64_t from) {
    return impl_->Call<Page>(
        [from](Master& master) {
          auto request = master.workersRequest();
          request.setFrom(from);
          return request;
        },
        [](auto r) -> Result<Page> {
          return Page{ListFromWire<WorkerStatus>(r.getWorkers()), r.getNext()};
        });
  });
}

Result<JobHistory> Client::History(JobId id) {
  struct Page {
    JobHistory history;
    uint32_t next = 0;
  };
  JobHistory all;
  for (uint32_t from = 0; true;) {
    MR_ASSIGN_OR_RETURN(Page page, impl_->Ask<Page>(
                                       [id, from](Master& master) {
                                         auto request = ForJob(master.historyRequest(), id);
                                         request.setFrom(from);
                                         return request;
                                       },
                                       [](auto r) -> Result<Page> {
                                         Page p{{r.getHead().cStr(), r.getText().cStr(), {}}, r.getNext()};
                                         for (auto job : r.getBeside()) p.history.beside.push_back(rpc::FromWire(job));
                                         return p;
                                       }));
    if (from == 0) {
      all = std::move(page.history);
    } else {
      all.text += page.history.text;
    }
    if (page.next == 0) return all;
    if (page.next <= from) return Internal("the master repeats a part of a history");
    from = page.next;
  }
}

Result<JobSpec> Client::Spec(JobId id) {
  return impl_->Ask<JobSpec>([id](Master& master) { return ForJob(master.specRequest(), id); },
                             [](auto r) -> Result<JobSpec> { return rpc::FromWire(r.getSpec()); });
}

Result<ReplayTask> Client::Launched(AttemptId id) {
  return impl_->Ask<ReplayTask>(
      [id](Master& master) {
        auto request = master.launchedRequest();
        rpc::ToWire(id, request.initAttempt());
        return request;
      },
      [](auto r) -> Result<ReplayTask> { return FromWire(r.getStage(), r.getLaunch()); });
}

Result<std::vector<DecisionStatus>> Client::Decisions(JobId id) {
  using Page = ListPage<DecisionStatus>;
  std::vector<DecisionStatus> all;
  for (uint32_t from = 0; true;) {
    MR_ASSIGN_OR_RETURN(Page page, impl_->Ask<Page>(
                                       [id, from](Master& master) {
                                         auto request = ForJob(master.decisionsRequest(), id);
                                         request.setFrom(from);
                                         return request;
                                       },
                                       [](auto r) -> Result<Page> {
                                         return Page{ListFromWire<DecisionStatus>(r.getDecisions()), r.getNext()};
                                       }));
    for (DecisionStatus& decision : page.part) all.push_back(std::move(decision));
    if (page.next == 0) break;
    if (page.next <= from) return Internal("the master repeats a part of its decisions");
    from = static_cast<uint32_t>(page.next);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const DecisionStatus& a, const DecisionStatus& b) { return a.at_us < b.at_us; });
  return all;
}

Result<JournalStatus> Client::Journal(bool accept_loss) {
  const auto status = [](auto r) -> Result<JournalStatus> { return FromWire(r.getStatus()); };
  if (accept_loss) return impl_->Ask<JournalStatus>([](Master& master) { return master.acceptLossRequest(); }, status);
  return impl_->Ask<JournalStatus>([](Master& master) { return master.journalRequest(); }, status);
}

Result<std::vector<QueueStatus>> Client::Queues() {
  using Queues = std::vector<QueueStatus>;
  return impl_->Call<Queues>([](Master& master) { return master.queuesRequest(); },
                             [](auto r) -> Result<Queues> { return ListFromWire<QueueStatus>(r.getQueues()); });
}

Result<std::shared_ptr<const Secret<std::string>>> Client::Page() {
  using Url = std::shared_ptr<const Secret<std::string>>;
  return impl_->Ask<Url>([](Master& master) { return master.pageRequest(); },
                         [](auto r) -> Result<Url> {
                           return std::make_shared<const Secret<std::string>>(std::string(r.getUrl().cStr()));
                         });
}

Status Client::SetQueue(const std::string& queue, std::optional<double> weight, std::optional<uint32_t> min_share,
                        std::optional<uint32_t> max_share) {
  // Arguments by value: the call may be sent after --timeout or an interrupt has ended the wait.
  return impl_->Order([queue, weight, min_share, max_share](Master& master) {
    auto request = master.setQueueRequest();
    request.setQueue(queue.c_str());
    request.setWeight(weight.value_or(0));
    request.setMinShare(min_share ? int64_t{*min_share} : -1);
    request.setMaxShare(max_share ? int64_t{*max_share} : -1);
    return request;
  });
}

Status Client::Watch(JobId id) {
  auto state = std::make_shared<WatchState>();
  impl_->watching = state;
  MR_RETURN_IF_ERROR(impl_->WaitConnected());
  auto slot = std::make_shared<Slot<bool>>();
  impl_->Start(
      [this, id, state](Master& master) {
        impl_->loop->watching = state;
        auto request = ForJob(master.watchRequest(), id);
        request.setWatcher(kj::heap<Watcher>(state));
        return capnp::RequestHook::from(kj::mv(request));
      },
      // The handle is a capability and stays on the loop.
      [this, slot](capnp::AnyPointer::Reader reply) {
        const auto results = reply.getAs<rpc::MasterForClient::WatchResults>();
        const Status outcome = rpc::FromOutcome(results.getOutcome());
        if (outcome.ok() && impl_->loop != nullptr) impl_->loop->watch = results.getHandle();
        slot->Put(outcome.ok() ? Result<bool>(true) : Result<bool>(outcome));
      },
      [slot](const Status& why, bool) { slot->Put(why); });
  return impl_->OfMaster(impl_->Await(slot).status());
}

Result<std::optional<JobStatus>> Client::NextStatus(Instant until) {
  auto& state = *impl_->watching;
  while (true) {
    {
      std::lock_guard lock(state.mutex);
      if (state.newest.has_value()) return std::exchange(state.newest, std::nullopt);
      if (state.broken) return Unavailable("the connection to the master at " + address_ + " broke");
    }
    switch (WaitFor(state.fd(), Earlier(until, TimeLimit()))) {
      case Woken::kReady: state.Drain(); break;
      case Woken::kInterrupted: return InterruptedStatus();
      case Woken::kTimeout:
        if (TimeLimit().has_value() && Now() >= *TimeLimit()) return TimeoutStatus();
        return std::optional<JobStatus>();
    }
  }
}

}  // namespace mr::ctl
