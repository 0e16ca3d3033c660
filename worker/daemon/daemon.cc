#include "worker/daemon/daemon.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "common/exec/pool.h"
#include "common/io/clock.h"
#include "common/io/daemon_data.h"
#include "common/io/files.h"
#include "common/rpc/authenticator.h"
#include "common/rpc/http_entry.h"
#include "common/rpc/http_server.h"
#include "common/rpc/metrics.h"
#include "common/rpc/self_check.h"
#include "common/rpc/server.h"
#include "common/rpc/wait_for_loop.h"
#include "worker/daemon/attempt_logs.h"
#include "worker/daemon/block_host.h"
#include "worker/daemon/data_server.h"
#include "worker/daemon/heartbeat.h"
#include "worker/daemon/housekeeping.h"
#include "worker/daemon/join.h"
#include "worker/daemon/loop_watch.h"
#include "worker/daemon/metrics.h"
#include "worker/daemon/private_data.h"
#include "worker/daemon/session.h"
#include "worker/daemon/url_inputs.h"
#include "worker/daemon/worker_name.h"

namespace mr::worker {
namespace {

uint64_t PhysicalBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

constexpr Duration kDiskLook = Seconds(1);  // guess: at 1 GB/s a disk loses a tenth of the largest reserve

uint64_t KnownCluster(const std::string& path) {
  const auto text = ReadFile(path);
  return text.ok() ? std::strtoull(text->c_str(), nullptr, 16) : 0;
}

std::pair<uint64_t, uint64_t> CapacityAndUsed(const std::string& directory, uint64_t used) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return {0, used};
  return {uint64_t{info.f_bavail} * info.f_frsize + used, used};
}

// 2 threads per core, at least 4 and at most 16: enough to keep a disk busy while some of them compress (guess).
unsigned PoolThreads() { return std::clamp(2 * std::thread::hardware_concurrency(), 4u, 16u); }

// Two per attempt for the splits that it opens, and as many for what children request; at most 64. They wait for
// servers.
unsigned UrlThreads(uint32_t slots) { return std::clamp(2 * slots, 2u, 64u); }

}  // namespace

struct Daemon::Impl {
  Options options;
  UniqueFd lock;
  FileRoots roots;                          // below which jobs may use local files
  std::shared_ptr<const url::Reader> urls;  // null: jobs may read no URLs
  const std::shared_ptr<secure::GrantDoor> grants = std::make_shared<secure::GrantDoor>();
  const Incarnation incarnation = RandomId();
  std::string name;
  std::unique_ptr<TaskHost> host;
  std::shared_ptr<ShuffleStore> store;
  std::unique_ptr<dfs::BlockStore> blocks;
  Pool pool{PoolThreads()};
  rpc::KjThread loop{"worker"};
  uint16_t port = 0, http_port = 0;

  struct Looped {
    Directory directory;
    std::unique_ptr<BlockHost> blocks;
    std::unique_ptr<FetchPool> fetches;
    std::unique_ptr<Replicator> replicator;
    std::unique_ptr<ShuffleServing> serving;
    std::unique_ptr<Verifier> verifier;
    std::unique_ptr<LibraryCache> libraries;
    std::unique_ptr<SideFiles> side_files;
    std::unique_ptr<UrlInputs> url_inputs;
    std::unique_ptr<InputOpener> inputs;
    std::unique_ptr<Services> services;
    std::unique_ptr<LogOwners> log_owners;
    std::unique_ptr<Worker> worker;
    std::unique_ptr<JournalSeen> seen;
    std::unique_ptr<AttemptLogs> logs;
    std::unique_ptr<Session> session;
    std::unique_ptr<Housekeeping> housekeeping;
    kj::Promise<void> disk_looks = nullptr;
  };
  // On the loop:
  kj::Own<rpc::RpcServer> server;
  kj::Own<rpc::HttpServer> http;
  kj::Own<rpc::SelfCheck> self_check;
  const std::shared_ptr<rpc::CallTimes> call_times = std::make_shared<rpc::CallTimes>();
  std::unique_ptr<Looped> looped;
  std::unique_ptr<CertificateSession> certificates;  // null without a certificate
  std::unique_ptr<DiskWatch> disk;
  LoopWatch loop_watch{loop};  // used by the heartbeat's thread
  std::unique_ptr<Heartbeat> heartbeat;
  std::atomic<int64_t> effects_lease_ns{0};  // 0: no limit

  std::string Path(const std::string& name) const { return options.data + "/" + name; }
  Status PrepareDirectory();
  void Build();
  void BuildSession();
  void OnRegistered(const WorkerRef& self, uint64_t cluster_id, const Session::Options::Times& times);
  // The master answered a message that was sent at this time: extends the lease of attempts with side effects. Any
  // thread.
  void RenewLease(Instant sent);
  // Measures the disk repeatedly, kDiskLook after each answer.
  kj::Promise<void> LookAtDisk();
  // Ends all attempts: the master has been silent for so long that it has given this worker up, or is gone.
  void EndUnheard();
  Status Listen();
  rpc::HttpReply AnswerHttp(rpc::Authenticator& entry, const rpc::HttpRequest& request) const;
  std::string MetricsText() const;
  std::string WhyNotReady() const;
};

Status Daemon::Impl::PrepareDirectory() {
  LOG_IF(INFO, MakePrivateData(options.data)) << options.data << " is closed to other users now";
  MR_RETURN_IF_ERROR(MakeDirectories(options.data));
  auto locked = LockFile(Path("lock"));
  if (!locked.ok()) {
    return locked.status().With("another mrworker uses " + options.data + ": stop it or give another --data");
  }
  lock = *std::move(locked);
  MR_ASSIGN_OR_RETURN(name, WorkerName(Path("worker_id"), options.name));
  // Processes that attempts left behind belong to an earlier incarnation.
  const size_t left = host->EndLeftovers();
  LOG_IF(WARNING, left > 0) << "killed " << left << " processes that an earlier process of this worker had left behind";
  for (const char* directory : {"scratch", "files"}) MR_RETURN_IF_ERROR(RemoveTree(Path(directory)));
  for (const char* directory : {"scratch", "log", "lib"}) MR_RETURN_IF_ERROR(MakeDirectories(Path(directory)));
  ShuffleStore::Options store_options;
  store_options.directory = Path("shuffle");
  store_options.codec = options.codec;
  // Guess: below the part of a machine's memory (/proc/sys/vm/dirty_ratio) from which on writers wait for the disk.
  store_options.recycled_bytes = PhysicalBytes() / 8;
  MR_ASSIGN_OR_RETURN(store, ShuffleStore::Open(store_options));
  // Removes downloads that the last process did not complete.
  for (const StoredFile& file : StoredFiles(Path("lib"))) {
    if (file.name.ends_with(".part")) (void)RemoveStored(Path("lib"), file);
  }
  MR_ASSIGN_OR_RETURN(blocks, dfs::BlockStore::Open(options.data));
  if (host->room().tier >= 2) MR_RETURN_IF_ERROR(CloseToTaskUsers(options.data));
  blocks->KeepFree(options.min_free);
  blocks->WriteDirectly(options.direct_io);
  std::vector<DiskWatch::Place> places = {
      {Path("scratch"), true}, {Path("log"), true}, {Path("lib")}, {Path("shuffle")}};
  disk = std::make_unique<DiskWatch>(options.data, options.min_free, std::move(places));
  disk->Look();
  MR_ASSIGN_OR_RETURN(const Certified certified, Certify(options.data, name, options.join, options.master));
  options.entry.node = certified.node;
  options.entry.door = grants;
  options.master = certified.master;
  MR_ASSIGN_OR_RETURN(roots, rpc::FileRootsFor(options.file_roots, options.bind, options.entry));
  MR_ASSIGN_OR_RETURN(urls, url::MakeReader(options.urls));
  return Status::Ok();
}

void Daemon::Impl::Build() {
  looped = std::make_unique<Looped>();
  Looped& l = *looped;
  BlockHost::Options block_options;
  block_options.master = options.master;
  block_options.own_address = options.advertise + ":" + std::to_string(port);
  block_options.incarnation = incarnation;
  block_options.on_durable = [&l](const BlockRef& b) { l.session->BlockReceived(b); };
  block_options.on_damaged = [&l](const std::vector<DamagedBlock>& blocks) {
    for (const DamagedBlock& b : blocks) l.session->BlockSuspect(b.block, b.aside);
  };
  block_options.on_not_copied = [&l](const BlockRef& b, bool source_failed, const std::string& why) {
    l.session->BlockNotCopied(b, source_failed, why);
  };
  block_options.on_disk = [&l](const std::string& why) { l.session->DiskFailed(why); };
  l.blocks = std::make_unique<BlockHost>(loop, std::move(blocks), std::move(block_options));
  FetchPool::Options fetch_options;
  fetch_options.incarnation = incarnation;
  l.fetches = std::make_unique<FetchPool>(loop, store, pool.poster(), fetch_options);
  l.replicator = std::make_unique<Replicator>(loop, *l.fetches, store);
  l.serving = std::make_unique<ShuffleServing>(store, pool.poster(), incarnation);
  l.verifier = std::make_unique<Verifier>(loop, store, pool.poster(), incarnation);
  l.fetches->CountReadersIn(l.serving->readers());
  l.libraries = std::make_unique<LibraryCache>(
      loop, pool.poster(), options.builtin_library, Path("lib"),
      [&l](const std::string& sha256, uint64_t offset) { return l.session->AskLibrary(sha256, offset); });
  l.side_files = std::make_unique<SideFiles>(pool.poster(), *l.libraries, Path("files"));
  l.url_inputs = std::make_unique<UrlInputs>(urls, UrlThreads(options.slots.total), Path("scratch"));
  l.inputs = std::make_unique<InputOpener>(
      pool.poster(), [&l] { return l.blocks->Client(); }, Path("scratch"), roots, *l.url_inputs);
  l.services.reset(new Services{
      loop,
      pool,
      *host,
      *store,
      *l.libraries,
      *l.side_files,
      l.directory,
      *l.inputs,
      roots,
      [&l](FetchObserver& o) { return l.fetches->NewFetcher(&o); },
      [&l](const StageInfo& stage, uint32_t port, AttemptId a) { return l.blocks->MakeSink(stage, port, a); },
      [&l](Report report, std::function<void(Verdict)> answered) {
        return l.session->Report(std::move(report), std::move(answered));
      },
      [&l](uint64_t report) { l.session->Withdraw(report); },
      *l.replicator,
      {{}, incarnation},
      Path("scratch"),
      Path("log"),
      nullptr,
      nullptr,
      disk.get()});
  Worker::Options worker_options;
  worker_options.slots = options.slots;
  worker_options.delete_block = [&l](const command::DeleteBlock& c) { l.blocks->Delete(c.block); };
  worker_options.empty_quarantine = [&l](const command::EmptyQuarantine& c) { l.blocks->EmptyQuarantine(c.block); };
  worker_options.replicate_block = [&l](const command::ReplicateBlock& c) { l.blocks->Replicate(c); };
  worker_options.drained = [&l] { l.logs->Give(); };
  l.log_owners = std::make_unique<LogOwners>(Path("log_owners"));
  worker_options.job_known = [&l](JobId job, const std::string& owner) { l.log_owners->Note(job, owner); };
  l.worker = std::make_unique<Worker>(*l.services, std::move(worker_options));
}

void Daemon::Impl::BuildSession() {
  Looped& l = *looped;
  Session::Options o;
  o.master = options.master;
  o.name = name;
  o.incarnation = incarnation;
  o.address = options.advertise + ":" + std::to_string(port);
  o.rack = options.rack;
  o.slots = options.slots;
  if (options.memory != nullptr) o.memory_bytes = [memory = options.memory] { return memory->whole(); };
  o.tier = host->room().tier;
  o.labels = options.labels;
  o.http_port = http_port;
  o.cluster_id = KnownCluster(Path("cluster_id"));
  o.blocks = [&l] { return l.blocks->List(); };
  o.capacity_and_used = [this, &l] { return CapacityAndUsed(options.data, l.blocks->used_bytes()); };
  o.on_registered = [this](const WorkerRef& self, uint64_t cluster, const Session::Options::Times& times) {
    OnRegistered(self, cluster, times);
  };
  o.on_grant_key = [this](secure::GrantKey key) { grants->SetKey(std::move(key)); };
  o.heard = [this] { return heartbeat == nullptr ? Now() : heartbeat->heard(); };
  l.logs = std::make_unique<AttemptLogs>(
      loop, pool.poster(),
      AttemptLogs::Options{Path("log"), [&l](AttemptId attempt) { return l.worker->Runs(attempt); },
                           [&l](AttemptId attempt, const std::string& log, uint64_t log_bytes, bool failed) {
                             return l.session->KeepLog(attempt, log, log_bytes, failed);
                           }});
  o.read_log = [&l](AttemptId attempt, uint64_t from, Duration wait) { return l.logs->Read(attempt, from, wait); };
  l.seen = std::make_unique<JournalSeen>(loop, pool.poster(), Path("journal_seen"));
  o.seen = l.seen.get();
  l.session = std::make_unique<Session>(loop, *l.worker, l.directory, std::move(o));
  l.housekeeping =
      std::make_unique<Housekeeping>(loop, pool.poster(), *l.worker, *l.libraries, *l.log_owners,
                                     Housekeeping::Options{Path("lib"), Path("log"), options.libraries, options.logs,
                                                           options.owner_log_bytes, options.housekeeping});
}

void Daemon::Impl::RenewLease(Instant sent) {
  const Duration lease{effects_lease_ns.load()};
  if (lease.ns > 0) host->RenewLease(sent + lease);
}

void Daemon::Impl::OnRegistered(const WorkerRef& self, uint64_t cluster_id, const Session::Options::Times& times) {
  // Renewing is safe: the session has already killed the attempts that the master no longer counts. This registration
  // listed them, so the master waits for their reports.
  effects_lease_ns = times.effects_lease.ns;
  RenewLease(times.sent);
  looped->fetches->SetClusterId(cluster_id);
  looped->blocks->Registered(self.id, cluster_id);
  heartbeat->Set(self, cluster_id, times.heartbeat, times.window);
  pool.Post([path = Path("cluster_id"), cluster_id, data = options.data, master = options.master] {
    KeepMaster(data, master);
    if (KnownCluster(path) == cluster_id) return;
    char text[20];
    std::snprintf(text, sizeof text, "%016llx\n", static_cast<unsigned long long>(cluster_id));
    const Status s = WriteFileDurably(path, text);
    LOG_IF(WARNING, !s.ok()) << s.ToString();
  });
}

// On the pool, because a disk may take long to answer.
kj::Promise<void> Daemon::Impl::LookAtDisk() {
  return OnPool(pool.poster(),
                [this] {
                  disk->Look();
                  store->Trim();
                  return true;
                })
      .then([this](bool) { return loop.timer().afterDelay(kDiskLook.ns * kj::NANOSECONDS); })
      .then([this] { return LookAtDisk(); });
}

void Daemon::Impl::EndUnheard() {
  if (looped->worker->idle()) return;
  LOG(WARNING) << "no contact with the master at " << options.master
               << " for too long: all attempts on this worker are ended";
  looped->worker->KillAll();
}

// Returns why this worker is not ready; empty if it is registered and its RPC port answers.
std::string Daemon::Impl::WhyNotReady() const {
  if (looped == nullptr) return "starting";
  if (!looped->session->registered()) return "not registered with a master";
  return self_check->WhyNot();
}

// Health for anybody, without reasons; figures for people who may see all jobs, and for the worker's own user.
rpc::HttpReply Daemon::Impl::AnswerHttp(rpc::Authenticator& entry, const rpc::HttpRequest& request) const {
  using rpc::HttpReply;
  if (request.path == "/healthz") return looped == nullptr ? HttpReply{503, "starting\n"} : HttpReply{200, "ok\n"};
  const bool ready = request.path == "/readyz", metrics = request.path == "/metrics";
  const auto reader = rpc::AdmitBearer(entry, request.authorization.get());
  if (ready) {
    const std::string why = WhyNotReady();
    return why.empty() ? HttpReply{200, "ok\n"} : HttpReply{503, (reader.ok() ? why : "not ready") + "\n"};
  }
  if (!reader.ok()) {
    HttpReply reply{401, reader.status().message() + ". Send a token of a viewer: Authorization: Bearer TOKEN\n"};
    reply.headers = {{"WWW-Authenticate", "Bearer"}, {"Cache-Control", "no-store"}};
    return reply;
  }
  if (!metrics) return {404, "no such page: there are /healthz, /readyz and /metrics\n"};
  if (!reader->identity.HasAny(kViewer | kOperator | kAdmin)) {
    return {403, "/metrics needs one of the roles viewer, operator, admin\n"};
  }
  if (looped == nullptr) return {503, "starting\n"};
  HttpReply reply{200, MetricsText(), rpc::MetricsWriter::kContentType};
  reply.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
  return reply;
}

std::string Daemon::Impl::MetricsText() const {
  rpc::MetricsWriter out;
  WriteWorkerMetrics(
      &out, {*looped->worker, *looped->session, *looped->serving, *looped->replicator, *looped->fetches, *store,
             *looped->housekeeping, options.slots, disk->seen(), looped->blocks->used_bytes(), options.memory.get()});
  rpc::WriteSocketMetrics(&out, server->counts(), http->counts());
  call_times->Write(&out);
  rpc::WriteProcessMetrics(&out);
  out.Gauge("mr_ready", "1 when /readyz says yes.", WhyNotReady().empty());
  return out.Take();
}

Status Daemon::Impl::Listen() {
  const bool anywhere = options.entry.insecure || options.entry.node != nullptr;
  MR_RETURN_IF_ERROR(rpc::CheckBind("--bind", options.bind, anywhere));
  MR_RETURN_IF_ERROR(rpc::CheckBind("--http_bind", options.http_bind, anywhere));
  MR_ASSIGN_OR_RETURN(auto authenticator, rpc::MakeAuthenticator(options.entry));
  // Later steps announce this port. Peers are refused until these steps are done.
  const auto log = [](const std::string& line) { LOG(WARNING) << line; };
  auto bound = rpc::WaitForLoop<Result<uint16_t>>(loop, [this, log, authenticator] {
    auto limits = rpc::ServerLimits::ForDescriptors(options.descriptors);
    limits.idle = options.idle_timeout;
    limits.send_grace = options.send_timeout;
    rpc::Hello own;
    own.role = rpc::Role::kDataServer;
    own.incarnation = incarnation;
    // Clients choose their token by it.
    if (options.entry.node != nullptr) own.cluster_id = options.entry.node->cluster_id();
    server = kj::heap<rpc::RpcServer>(
        loop.io(), own,
        [this](const rpc::Hello& hello, const rpc::PeerInfo& peer) -> Result<capnp::Capability::Client> {
          if (hello.role != rpc::Role::kData) return Unavailable("a worker serves data connections only");
          if (looped == nullptr) return Unavailable("this worker is still starting");
          auto guard = std::make_shared<const rpc::Guard>(
              rpc::Guard{peer.identity, peer.address, nullptr, grants, nullptr, call_times});
          return capnp::Capability::Client(
              kj::heap<DataServer>(std::move(guard), *looped->serving, *looped->verifier, looped->blocks->server()));
        },
        authenticator, limits, nullptr, log);
    return server->Listen(options.bind, options.port);
  });
  if (!bound.ok()) return bound.status();
  port = *bound;
  MR_ASSIGN_OR_RETURN(auto readers, rpc::MakeHttpAuthenticator(options.entry, authenticator));
  auto http_bound = rpc::WaitForLoop<Result<uint16_t>>(loop, [this, log, readers] {
    rpc::HttpLimits limits;
    limits.connections = rpc::ServerLimits::HttpConnections(options.descriptors);
    limits.send_grace = options.send_timeout;
    self_check = kj::heap<rpc::SelfCheck>(loop.io(), options.bind, port);
    http = kj::heap<rpc::HttpServer>(
        loop.io(), readers,
        [this, readers](const rpc::HttpRequest& request) -> kj::Promise<rpc::HttpReply> {
          return AnswerHttp(*readers, request);
        },
        limits, log);
    return http->Listen(options.http_bind, options.http_port);
  });
  if (!http_bound.ok()) return http_bound.status();
  http_port = *http_bound;
  return Status::Ok();
}

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(Options options, std::unique_ptr<TaskHost> host) {
  auto impl = std::make_unique<Impl>();
  if (options.advertise.empty()) options.advertise = options.bind;
  impl->options = std::move(options);
  impl->host = std::move(host);
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(impl)));
  Impl& i = *daemon->impl_;
  MR_RETURN_IF_ERROR(i.PrepareDirectory());
  MR_RETURN_IF_ERROR(i.Listen());
  i.loop.Run([&i] {
    i.Build();
    i.BuildSession();
    if (i.options.entry.node != nullptr) {
      i.certificates = std::make_unique<CertificateSession>(i.loop, i.options.master, i.options.entry.node);
    }
  });
  i.heartbeat = std::make_unique<Heartbeat>(
      i.options.master, [&i](Instant sent) { i.loop.Post([&i, sent] { i.looped->session->Unknown(sent); }); },
      [&i] { i.loop.Post([&i] { i.EndUnheard(); }); },
      [&i](Instant sent, const JournalRecord& durable) {
        i.RenewLease(sent);
        i.loop.Post([&i, durable] { i.looped->session->Durable(durable); });
      },
      [&i] { return i.loop_watch.Silent(); }, [&i] { return i.disk->seen(); });
  i.loop.Post([&i] {
    i.looped->session->Start();
    i.looped->disk_looks = i.LookAtDisk().eagerlyEvaluate([](kj::Exception&& e) {
      LOG(ERROR) << "the free space of the disk is no longer measured: " << e.getDescription().cStr();
    });
  });
  return daemon;
}

Daemon::~Daemon() {
  StopChildren();
  impl_->pool.Stop();
  impl_->loop.Run([this] {
    impl_->self_check = nullptr;
    impl_->server = nullptr;
    impl_->http = nullptr;
    impl_->looped.reset();
  });
}

uint16_t Daemon::port() const { return impl_->port; }
uint16_t Daemon::http_port() const { return impl_->http_port; }
std::function<void(std::function<void()>)> Daemon::loop() {
  return [impl = impl_.get()](std::function<void()> fn) { impl->loop.Post(std::move(fn)); };
}

bool Daemon::Drain(Duration grace) {
  const Instant deadline = Now() + grace;
  auto quiet = [this] {
    return impl_->loop.Run([this] {
      const auto& l = *impl_->looped;
      return l.worker->idle() && l.session->unanswered() == 0;
    });
  };
  impl_->loop.Run([this] {
    impl_->looped->worker->Leave();
    impl_->looped->session->Leaving();
  });
  while (!quiet()) {
    if (Now() >= deadline) {
      impl_->loop.Run([this] { impl_->looped->worker->KillAll(); });
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  impl_->loop.Run([this] { impl_->looped->logs->Give(); });
  while (!impl_->loop.Run([this] { return impl_->looped->logs->idle(); }) && Now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void Daemon::StopChildren() {
  impl_->loop.Run([this] {
    if (impl_->looped == nullptr) return;
    // No new command arrives, and attempts that prepare do not start.
    impl_->looped->session->Stop();
    impl_->looped->url_inputs->Stop();
    impl_->looped->worker->KillAll();
    impl_->looped->blocks->StopWaiting();
  });
  // With its server ends the file with this worker's secret. The process may exit after this.
  impl_->loop.Run([this] {
    impl_->certificates.reset();
    impl_->http = nullptr;
    impl_->self_check = nullptr;
    impl_->server = nullptr;
  });
  impl_->heartbeat.reset();  // not before: a registration uses it
  impl_->host.reset();
}

}  // namespace mr::worker
