#include "jobs/mrctl/client_impl.h"

namespace mr::ctl {

Client::Client(std::string address) : address_(std::move(address)), impl_(std::make_unique<Impl>(address_)) {
  impl_->Connect();
}

Client::~Client() {
  impl_->thread.Run([this] { impl_->loop.reset(); });
}

Status Client::WaitConnected() { return impl_->WaitConnected(); }
void Client::Reconnect() { impl_->Connect(); }
rpc::KjThread& Client::loop() { return impl_->thread; }

namespace {
// The answer of a call that has an outcome: `make` turns a good reply into the value.
template <class T, class R, class F>
Result<T> Answer(const capnp::Response<R>& reply, F make) {
  const Status status = rpc::FromOutcome(reply.getOutcome());
  if (!status.ok()) return status;
  return make(reply);
}
}  // namespace

Result<MasterInfo> Client::Info() {
  return impl_->Call<MasterInfo>([](Master& master) {
    return master.infoRequest().send().then([](auto&& r) -> Result<MasterInfo> {
      return MasterInfo{r.getVersion().cStr(), r.getPolicies().cStr(), r.getClusterId(), r.getMasterEpoch(), r.getPid(),
                        r.getAddress().cStr(), r.getUnixMs(),          r.getFileView()};
    });
  });
}

Result<JobId> Client::Submit(const std::shared_ptr<capnp::MessageBuilder>& spec, const std::string& submission_id) {
  return impl_->Call<JobId>([spec, submission_id](Master& master) {
    auto request = master.submitRequest();
    request.setSpec(spec->getRoot<rpc::JobSpec>().asReader());
    request.setSubmissionId(submission_id.c_str());
    return request.send().then([](auto&& reply) {
      return Answer<JobId>(reply, [](auto& r) -> Result<JobId> { return rpc::FromWire(r.getJob()); });
    });
  });
}

Result<bool> Client::LibraryKnown(const std::string& sha256) {
  return impl_->Call<bool>([sha256](Master& master) {
    auto request = master.libraryKnownRequest();
    request.setSha256(sha256.c_str());
    return request.send().then([](auto&& reply) -> Result<bool> { return reply.getKnown(); });
  });
}

Status Client::PutLibrary(const std::string& sha256, const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_RDONLY));
  MR_ASSIGN_OR_RETURN(const uint64_t total, FileSize(path));
  // An empty file is one empty piece.
  for (uint64_t offset = 0, pieces = 0; offset < total || pieces == 0; ++pieces) {
    std::string piece(std::min(kPieceBytes, total - offset), '\0');
    MR_ASSIGN_OR_RETURN(const size_t got, PreadUpTo(file.get(), piece.data(), piece.size(), offset));
    if (got != piece.size()) return InvalidArgument(path + " changed while it was sent");
    auto done = impl_->Call<bool>([sha256, total, offset, piece = std::move(piece)](Master& master) {
      auto request = master.putLibraryRequest();
      request.setSha256(sha256.c_str());
      request.setTotalBytes(total);
      request.setOffset(offset);
      request.setData(capnp::Data::Reader(reinterpret_cast<const uint8_t*>(piece.data()), piece.size()));
      return request.send().then(
          [](auto&& reply) { return Answer<bool>(reply, [](auto&) -> Result<bool> { return true; }); });
    });
    if (!done.ok()) return done.status().With("sending " + path);
    offset += got;
  }
  return Status::Ok();
}

Result<JobStatus> Client::Job(JobId id) {
  return impl_->Call<JobStatus>([id](Master& master) {
    auto request = master.jobRequest();
    rpc::ToWire(id, request.initJob());
    return request.send().then([](auto&& reply) {
      return Answer<JobStatus>(reply, [](auto& r) -> Result<JobStatus> { return FromWire(r.getStatus()); });
    });
  });
}

namespace {
// A page of a list: what it has, and from where the next one begins; 0: it is the last.
template <class T>
struct ListPage {
  std::vector<T> part;
  uint64_t next = 0;
};

// All pages of a list. ask: the page that begins at its argument.
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

Result<std::vector<JobStatus>> Client::Jobs() {
  return AllPages<JobStatus>([this](uint64_t from) {
    return impl_->Call<ListPage<JobStatus>>([from](Master& master) {
      auto request = master.jobsRequest();
      request.setFrom(from);
      return request.send().then([](auto&& reply) -> Result<ListPage<JobStatus>> {
        return ListPage<JobStatus>{ListFromWire<JobStatus>(reply.getJobs()), reply.getNext()};
      });
    });
  });
}

Result<std::vector<TaskStatus>> Client::Tasks(JobId id) {
  return AllPages<TaskStatus>([this, id](uint64_t from) {
    return impl_->Call<ListPage<TaskStatus>>([id, from](Master& master) {
      auto request = master.tasksRequest();
      rpc::ToWire(id, request.initJob());
      request.setFrom(from);
      return request.send().then([id](auto&& reply) {
        return Answer<ListPage<TaskStatus>>(reply, [id](auto& r) -> Result<ListPage<TaskStatus>> {
          ListPage<TaskStatus> page{{}, r.getNext()};
          for (auto task : r.getTasks()) page.part.push_back(FromWire(id, task));
          return page;
        });
      });
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
    MR_ASSIGN_OR_RETURN(Page page, impl_->Call<Page>([id, after](Master& master) {
      auto request = master.attemptsRequest();
      rpc::ToWire(id, request.initJob());
      if (after.valid()) rpc::ToWire(after, request.initAfter());
      return request.send().then([](auto&& reply) {
        return Answer<Page>(reply, [](auto& r) -> Result<Page> {
          Page page{ListFromWire<AttemptStatus>(r.getAttempts()), {}, r.getMore() && r.getAttempts().size() > 0};
          if (page.more) page.last = rpc::FromWire(r.getAttempts()[r.getAttempts().size() - 1].getId());
          return page;
        });
      });
    }));
    more = page.more;
    after = page.last;
    std::move(page.part.begin(), page.part.end(), std::back_inserter(all));
  }
  return all;
}

Result<std::vector<CounterValue>> Client::Counters(JobId id) {
  return AllPages<CounterValue>([this, id](uint64_t from) {
    return impl_->Call<ListPage<CounterValue>>([id, from](Master& master) {
      auto request = master.countersRequest();
      rpc::ToWire(id, request.initJob());
      request.setFrom(from);
      return request.send().then([](auto&& reply) {
        return Answer<ListPage<CounterValue>>(reply, [](auto& r) -> Result<ListPage<CounterValue>> {
          ListPage<CounterValue> page{{}, r.getNext()};
          for (auto c : r.getCounters()) page.part.push_back({c.getGroup().cStr(), c.getName().cStr(), c.getValue()});
          return page;
        });
      });
    });
  });
}

namespace {
constexpr auto kNothing = [](auto&&) -> Result<bool> { return true; };
Status Drop(const Result<bool>& result) { return result.ok() ? Status::Ok() : result.status(); }
}  // namespace

namespace {
struct ProfilePage {
  ProfileStatus profile;
  uint32_t count = 0, next = 0;
};
}  // namespace

Result<std::vector<ProfileStatus>> Client::Profiles(const std::string& name) {
  std::vector<ProfileStatus> profiles;
  for (uint32_t index = 0, from = 0, count = 1; index < count;) {
    auto page = impl_->Call<ProfilePage>([name, index, from](Master& master) {
      auto request = master.profileRequest();
      request.setName(name.c_str());
      request.setIndex(index);
      request.setFromStage(from);
      return request.send().then([](auto&& reply) {
        return Answer<ProfilePage>(reply, [](auto& r) -> Result<ProfilePage> {
          return ProfilePage{FromWire(r.getProfile()), r.getCount(), r.getNext()};
        });
      });
    });
    // Others may go while this one asks.
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

Result<Explained> Client::Explain(const std::shared_ptr<capnp::MessageBuilder>& spec) {
  return impl_->Call<Explained>([spec](Master& master) {
    auto request = master.explainRequest();
    request.setSpec(spec->getRoot<rpc::JobSpec>().asReader());
    return request.send().then([](auto&& reply) {
      return Answer<Explained>(reply, [](auto& r) -> Result<Explained> { return FromWire(r.getPlan()); });
    });
  });
}

Result<std::vector<std::optional<InputSize>>> Client::Measure(const std::vector<std::string>& uris) {
  using Sizes = std::vector<std::optional<InputSize>>;
  return impl_->Call<Sizes>([uris](Master& master) {
    auto request = master.measureRequest();
    auto list = request.initUris(static_cast<unsigned>(uris.size()));
    for (unsigned i = 0; i < uris.size(); ++i) list.set(i, uris[i].c_str());
    return request.send().then(
        [n = uris.size()](auto&& reply) -> Result<Sizes> {
          Sizes sizes;
          for (const auto size : reply.getSizes()) {
            sizes.push_back(size.getKnown() ? std::optional(InputSize{size.getBytes(), size.getCompressed()})
                                            : std::nullopt);
          }
          sizes.resize(n);
          return sizes;
        },
        [n = uris.size()](kj::Exception&& e) -> Result<Sizes> {
          if (e.getType() == kj::Exception::Type::UNIMPLEMENTED) return Sizes(n);
          return rpc::FromException(e);
        });
  });
}

Result<std::string> Client::SetJob(JobId id, std::optional<int32_t> priority, std::optional<uint64_t> deadline_ms) {
  return impl_->Call<std::string>([id, priority, deadline_ms](Master& master) {
    auto request = master.setJobRequest();
    rpc::ToWire(id, request.initJob());
    request.setSetPriority(priority.has_value());
    request.setPriority(priority.value_or(0));
    request.setSetDeadline(deadline_ms.has_value());
    request.setDeadlineMs(deadline_ms.value_or(0));
    return request.send().then([](auto&& reply) {
      return Answer<std::string>(reply,
                                 [](auto& r) -> Result<std::string> { return std::string(r.getWarning().cStr()); });
    });
  });
}

Status Client::Kill(JobId id, const std::string& why) {
  return Drop(impl_->Call<bool>([id, why](Master& master) {
    auto request = master.killRequest();
    rpc::ToWire(id, request.initJob());
    request.setWhy(why.c_str());
    return request.send().then([](auto&& reply) { return Answer<bool>(reply, kNothing); });
  }));
}

Result<std::vector<std::string>> Client::Why(const std::string& subject) {
  return impl_->Call<std::vector<std::string>>([subject](Master& master) {
    auto request = master.whyRequest();
    request.setSubject(subject.c_str());
    return request.send().then([](auto&& reply) {
      return Answer<std::vector<std::string>>(reply, [](auto& r) -> Result<std::vector<std::string>> {
        std::vector<std::string> lines;
        for (auto line : r.getLines()) lines.emplace_back(line.cStr());
        return lines;
      });
    });
  });
}

Result<std::vector<WorkerStatus>> Client::Workers() {
  return AllPages<WorkerStatus>([this](uint64_t from) {
    return impl_->Call<ListPage<WorkerStatus>>([from](Master& master) {
      auto request = master.workersRequest();
      request.setFrom(from);
      return request.send().then([](auto&& reply) -> Result<ListPage<WorkerStatus>> {
        return ListPage<WorkerStatus>{ListFromWire<WorkerStatus>(reply.getWorkers()), reply.getNext()};
      });
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
    MR_ASSIGN_OR_RETURN(Page page, impl_->Call<Page>([id, from](Master& master) {
      auto request = master.historyRequest();
      rpc::ToWire(id, request.initJob());
      request.setFrom(from);
      return request.send().then([](auto&& reply) {
        return Answer<Page>(reply, [](auto& r) -> Result<Page> {
          Page p{{r.getHead().cStr(), r.getText().cStr(), {}}, r.getNext()};
          for (auto job : r.getBeside()) p.history.beside.push_back(rpc::FromWire(job));
          return p;
        });
      });
    }));
    if (from == 0) {
      all = std::move(page.history);
    } else {
      all.text += page.history.text;
    }
    if (page.next == 0) return all;
    if (page.next <= from) return Internal("the master gives the same part of a history again");
    from = page.next;
  }
}

Result<AttemptLog> Client::Logs(AttemptId id) {
  return impl_->Call<AttemptLog>([id](Master& master) {
    auto request = master.logsRequest();
    rpc::ToWire(id, request.initAttempt());
    return request.send().then([](auto&& reply) {
      return Answer<AttemptLog>(reply, [](auto& r) -> Result<AttemptLog> {
        return AttemptLog{"", "", "", std::string(r.getText().begin(), r.getText().end()), r.getNote().cStr()};
      });
    });
  });
}

Result<ReplayTask> Client::Launched(AttemptId id) {
  return impl_->Call<ReplayTask>([id](Master& master) {
    auto request = master.launchedRequest();
    rpc::ToWire(id, request.initAttempt());
    return request.send().then([](auto&& reply) {
      return Answer<ReplayTask>(reply,
                                [](auto& r) -> Result<ReplayTask> { return FromWire(r.getStage(), r.getLaunch()); });
    });
  });
}

Status Client::Drain(WorkerId id, bool on) {
  return Drop(impl_->Call<bool>([id, on](Master& master) {
    auto request = master.drainRequest();
    request.setWorker(id.value);
    request.setOn(on);
    return request.send().then([](auto&& reply) { return Answer<bool>(reply, kNothing); });
  }));
}

Result<DrainStatus> Client::DrainStatus(WorkerId id) {
  using Kept = mr::ctl::DrainStatus;
  return impl_->Call<Kept>([id](Master& master) {
    auto request = master.drainStatusRequest();
    request.setWorker(id.value);
    return request.send().then([](auto&& reply) {
      return Answer<Kept>(reply, [](auto& r) -> Result<Kept> { return FromWire(r.getStatus()); });
    });
  });
}

Status Client::Exclude(WorkerId id, bool on) {
  return Drop(impl_->Call<bool>([id, on](Master& master) {
    auto request = master.excludeRequest();
    request.setWorker(id.value);
    request.setOn(on);
    return request.send().then([](auto&& reply) { return Answer<bool>(reply, kNothing); });
  }));
}

Result<std::vector<DecisionStatus>> Client::Decisions(JobId id) {
  struct Page {
    std::vector<DecisionStatus> decisions;
    uint32_t next = 0;
  };
  std::vector<DecisionStatus> all;
  for (uint32_t from = 0; true;) {
    MR_ASSIGN_OR_RETURN(Page page, impl_->Call<Page>([id, from](Master& master) {
      auto request = master.decisionsRequest();
      rpc::ToWire(id, request.initJob());
      request.setFrom(from);
      return request.send().then([](auto&& reply) {
        return Answer<Page>(reply, [](auto& r) -> Result<Page> {
          return Page{ListFromWire<DecisionStatus>(r.getDecisions()), r.getNext()};
        });
      });
    }));
    for (DecisionStatus& decision : page.decisions) all.push_back(std::move(decision));
    if (page.next == 0) break;
    if (page.next <= from) return Internal("the master gives the same part of its decisions again");
    from = page.next;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const DecisionStatus& a, const DecisionStatus& b) { return a.at_us < b.at_us; });
  return all;
}

Result<JournalStatus> Client::Journal(bool accept_loss) {
  return impl_->Call<JournalStatus>([accept_loss](Master& master) {
    auto request = master.journalRequest();
    request.setAcceptLoss(accept_loss);
    return request.send().then([](auto&& reply) {
      return Answer<JournalStatus>(reply, [](auto& r) -> Result<JournalStatus> { return FromWire(r.getStatus()); });
    });
  });
}

Result<std::vector<QueueStatus>> Client::Queues() {
  return impl_->Call<std::vector<QueueStatus>>([](Master& master) {
    return master.queuesRequest().send().then(
        [](auto&& reply) -> Result<std::vector<QueueStatus>> { return ListFromWire<QueueStatus>(reply.getQueues()); });
  });
}

Status Client::SetQueue(const std::string& queue, std::optional<double> weight, std::optional<uint32_t> min_share,
                        std::optional<uint32_t> max_share) {
  // By value: a call that --timeout or an interrupt ends may be sent behind that.
  return Drop(impl_->Call<bool>([queue, weight, min_share, max_share](Master& master) {
    auto request = master.setQueueRequest();
    request.setQueue(queue.c_str());
    request.setWeight(weight.value_or(0));
    request.setMinShare(min_share ? int64_t{*min_share} : -1);
    request.setMaxShare(max_share ? int64_t{*max_share} : -1);
    return request.send().then([](auto&& reply) { return Answer<bool>(reply, kNothing); });
  }));
}

Status Client::Watch(JobId id) {
  auto state = std::make_shared<WatchState>();
  impl_->watching = state;
  return Drop(impl_->Call<bool>([this, id, state](Master& master) {
    impl_->loop->watching = state;
    auto request = master.watchRequest();
    rpc::ToWire(id, request.initJob());
    request.setWatcher(kj::heap<Watcher>(state));
    return request.send().then([this](auto&& reply) {
      return Answer<bool>(reply, [this](auto& r) -> Result<bool> {
        if (impl_->loop != nullptr) impl_->loop->watch = r.getHandle();
        return true;
      });
    });
  }));
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
