#include "worker/daemon/block_host.h"

#include <glog/logging.h>

#include <algorithm>

#include "common/io/bulk_digest.h"
#include "common/io/clock.h"
#include "common/io/fault.h"
#include "common/io/ledger.h"
#include "common/rpc/wait_for_loop.h"
#include "schema/client.capnp.h"

namespace mr::worker {
namespace {

// Scrubbing reads all blocks within 20 h (the target is 24 h), and at least 8 MiB per second.
constexpr Duration kScrubPeriod = Seconds(1);
constexpr uint64_t kScrubBytes = 8 << 20;
constexpr uint64_t kScrubPeriods = 20 * 3600;
// A disk that turned read-only is detected within this time, even without writes. Cost: one small fsync (guess).
constexpr Duration kProbePeriod = Seconds(10);
// Between two connections; doubles up to the longest while none is made. A registration ends it (guesses).
constexpr Duration kReconnectPause = Millis(500), kLongestReconnectPause = Seconds(8);
// How long Client() waits for a master that is away. At the default window the attempts of a worker without contact end
// after as long (kReattachWindow in master/core/workers.h): what has finished meanwhile is stored when the master is
// back. During the wait a sink holds a thread of the pool.
constexpr Duration kReachLimit = Seconds(120);
// The shortest wait, for a connection that is about to be made (guess).
constexpr Duration kReachAtLeast = Seconds(10);
// How long a broken connection is kept: longer than a loop takes to detect the break (guess).
constexpr Duration kRetirement = Seconds(10);
// Bytes that a sink collects before it passes them to the loop: one piece of the write pipeline.
constexpr size_t kPieceBytes = 1 << 20;

// Holds the writer, which lives on the loop, for the sink, which lives on the pool. Filled, used and emptied on the
// loop.
struct WriterBox {
  kj::Own<dfs::FileWriter> writer;
};

class DfsSink : public OutputSink {
 public:
  DfsSink(rpc::KjThread& loop, BlockHost& host, std::string directory, std::string part)
      : loop_(loop), host_(host), directory_(std::move(directory)), box_(std::make_shared<WriterBox>()) {
    file_.name = std::move(part);
  }
  ~DfsSink() override { Abandon(); }

  Status Add(const OutputChunk& chunk) override {
    MR_RETURN_IF_ERROR(Open());
    digest_.Update(chunk.bytes);
    Ledger::Count(Ledger::file_digest, chunk.bytes.size());
    file_.bytes += chunk.bytes.size();
    file_.records += chunk.records;
    if (buffer_.empty() && chunk.memory != nullptr) {
      buffer_ = std::move(*chunk.memory);
    } else {
      buffer_.append(chunk.bytes);
      Ledger::Count(Ledger::block_copy, chunk.bytes.size());
    }
    return buffer_.size() < kPieceBytes ? Status::Ok() : Flush();
  }

  Result<TaskOutput> Finish() override {
    MR_RETURN_IF_ERROR(Open());
    MR_RETURN_IF_ERROR(Flush());
    FaultPoint("output");
    auto written = rpc::WaitForLoop<Result<dfs::WrittenFile>>(loop_, [box = box_] { return box->writer->Close(); });
    Abandon();
    if (!written.ok()) return written.status().With("writing " + directory_ + "/" + file_.name);
    file_.blocks.insert(file_.blocks.end(), written->blocks.begin(), written->blocks.end());
    file_.content = digest_.Finish();
    return OutputOf(file_);
  }

  void Drop() override {
    Abandon();
    loop_.Post([&host = host_, directory = directory_] { host.RemoveStaged(directory); });
  }

 private:
  Status Open() {
    if (open_) return Status::Ok();
    const std::string path = directory_ + "/" + file_.name;
    MR_RETURN_IF_ERROR(rpc::WaitForLoop<Status>(loop_, [&host = host_, box = box_, path] {
                         return host.Client().then([box, path](dfs::DfsClient* client) -> kj::Promise<Status> {
                           if (client == nullptr)
                             return Status(Unavailable("the block store's namespace cannot be reached"));
                           dfs::PutOptions options;
                           options.overwrite = true;
                           return client->Create(path, options).then([box](Result<kj::Own<dfs::FileWriter>> writer) {
                             if (!writer.ok()) return writer.status();
                             box->writer = kj::mv(*writer);
                             return Status::Ok();
                           });
                         });
                       }).With("creating " + path));
    open_ = true;
    return Status::Ok();
  }

  Status Flush() {
    if (buffer_.empty()) return Status::Ok();
    auto bytes = std::make_shared<std::string>(std::move(buffer_));
    buffer_.clear();
    return rpc::WaitForLoop<Status>(loop_, [box = box_, bytes] { return box->writer->Write(std::move(*bytes)); });
  }

  void Abandon() {
    loop_.Post([box = box_] { box->writer = nullptr; });
  }

  rpc::KjThread& loop_;
  BlockHost& host_;
  const std::string directory_;
  const std::shared_ptr<WriterBox> box_;
  bool open_ = false;
  std::string buffer_;
  BulkHasher128 digest_;
  FileOutput file_;
};

}  // namespace

BlockHost::BlockHost(rpc::KjThread& loop, std::unique_ptr<dfs::BlockStore> store, Options options)
    : loop_(loop), store_(std::move(store)), options_(std::move(options)), tasks_(*this) {
  hello_.role = rpc::Role::kData;
  hello_.incarnation = options_.incarnation;
  dfs::BlockServer::Options server;
  server.hello = hello_;
  server.pool = pool_.poster();
  server.on_durable = [this](const BlockRef& block) { options_.on_durable(block); };
  server_ = kj::heap<dfs::BlockServer>(loop_.io(), *store_, std::move(server));
  ObserveStore();
  ExpectClient();
  on_retry_ = kj::newPromiseAndFulfiller<void>().fulfiller;
}

BlockHost::~BlockHost() {
  pool_.Stop();
  *alive_ = false;
}

void BlockHost::ObserveStore() {
  const auto post = [this](std::function<void()> fn) {
    loop_.Post([alive = alive_, fn = std::move(fn)] {
      if (*alive) fn();
    });
  };
  dfs::BlockStore::Observers observers;
  observers.on_suspect = [this, post](const dfs::Suspect& suspect) {
    LOG_IF(WARNING, !suspect.aside) << "block " << suspect.block.id.value << " is damaged here: " << suspect.why;
    post([this, damaged = DamagedBlock{suspect.block, suspect.aside}] { options_.on_damaged({damaged}); });
  };
  observers.on_restored = [this, post](const BlockRef& block) {
    LOG(INFO) << "block " << block.id.value << " can be read completely again";
    post([this, name = block] { options_.on_durable(name); });
  };
  observers.on_disk = [this, post](const std::string& why) {
    if (why.empty()) {
      LOG(INFO) << "the disk with the block store works again";
    } else {
      LOG(ERROR) << "the disk with the block store fails: " << why
                 << "; its replicas are still read where possible, and are replicated again on other workers";
    }
    post([this, why] { options_.on_disk(why); });
  };
  store_->Observe(std::move(observers));
}

void BlockHost::taskFailed(kj::Exception&& exception) {
  LOG(ERROR) << "block store: " << exception.getDescription().cStr();
}

void BlockHost::Registered(WorkerId self, uint64_t cluster_id) {
  server_->set_worker(self);
  std::vector<DamagedBlock> damaged;
  for (const dfs::Suspect& suspect : store_->Suspects()) damaged.push_back({suspect.block, suspect.aside});
  if (!damaged.empty()) options_.on_damaged(damaged);
  if (const std::string why = store_->DiskFailure(); !why.empty()) options_.on_disk(why);
  hello_.cluster_id = cluster_id;
  pause_ = kReconnectPause;
  if (started_) return on_retry_->fulfill();  // the master is back
  started_ = true;
  Connect();
  ScrubLater();
  ProbeLater();
}

void BlockHost::Connect() {
  rpc::Hello hello = hello_;
  hello.role = rpc::Role::kClient;
  tasks_.add(rpc::RpcConnection::Connect(loop_.io(), options_.master, hello)
                 .then([this](Result<kj::Own<rpc::RpcConnection>> connection) -> kj::Promise<void> {
                   if (!connection.ok()) return kj::READY_NOW;
                   connection_ = kj::mv(*connection);
                   auto files = connection_->Bootstrap<rpc::MasterForClient>().filesRequest().send().getFiles();
                   Connected(kj::mv(files));
                   pause_ = kReconnectPause;
                   return connection_->OnDisconnect();
                 })
                 .then([this]() -> kj::Promise<void> {
                   if (reached_now_) Disconnected();
                   auto retry = kj::newPromiseAndFulfiller<void>();
                   on_retry_ = kj::mv(retry.fulfiller);
                   const Duration pause = pause_;
                   pause_ = std::min(pause_ * 2, kLongestReconnectPause);
                   return retry.promise.exclusiveJoin(loop_.timer().afterDelay(pause.ns * kj::NANOSECONDS));
                 })
                 .then([this] { Connect(); }));
}

void BlockHost::Connected(rpc::FileSystem::Client files) {
  if (client_.get() != nullptr) {
    client_->SetFiles(kj::mv(files));
  } else {
    dfs::DfsClient::Options options;
    options.hello = hello_;
    options.pool = pool_.poster();
    options.own_address = options_.own_address;
    options.own_store = store_.get();
    options.own_server = server_.get();
    options.reconnected = [this] { return Client().ignoreResult(); };
    client_ = kj::heap<dfs::DfsClient>(loop_.io(), kj::mv(files), std::move(options));
  }
  reached_now_ = true;
  on_reached_->fulfill();
}

void BlockHost::Disconnected() {
  reached_now_ = false;
  gone_at_ = Now();
  // Pending calls must end like those of a broken connection, which are retried, and not like those of a closed one.
  tasks_.add(loop_.timer().afterDelay(kRetirement.ns * kj::NANOSECONDS).then([wire = kj::mv(connection_)] {}));
  if (!stopped_) ExpectClient();
}

void BlockHost::ExpectClient() {
  auto pair = kj::newPromiseAndFulfiller<void>();
  on_reached_ = kj::mv(pair.fulfiller);
  reached_ = pair.promise.fork();
}

kj::Promise<dfs::DfsClient*> BlockHost::Client() {
  if (reached_now_) return client_.get();
  const Duration wait = std::max(gone_at_ + kReachLimit - Now(), kReachAtLeast);
  return reached_.addBranch().exclusiveJoin(loop_.timer().afterDelay(wait.ns * kj::NANOSECONDS)).then([this] {
    return reached_now_ ? client_.get() : nullptr;
  });
}

void BlockHost::StopWaiting() {
  stopped_ = true;
  on_reached_->fulfill();
}

void BlockHost::RemoveStaged(const std::string& directory) {
  if (reached_now_) loop_.Spawn(client_->Remove(directory, true).ignoreResult());
}

void BlockHost::ScrubLater() {
  tasks_.add(loop_.timer()
                 .afterDelay(kScrubPeriod.ns * kj::NANOSECONDS)
                 .then([this] { return server_->Scrub(std::max(kScrubBytes, store_->used_bytes() / kScrubPeriods)); })
                 .then([this] { ScrubLater(); },
                       [this](kj::Exception&& e) {
                         taskFailed(kj::mv(e));
                         ScrubLater();
                       }));
}

void BlockHost::ProbeLater() {
  tasks_.add(loop_.timer().afterDelay(kProbePeriod.ns * kj::NANOSECONDS).then([this] {
    pool_.Post([&store = *store_] { store.ProbeDisk(); });
    ProbeLater();
  }));
}

std::vector<BlockRef> BlockHost::List() const { return store_->List(); }

void BlockHost::Delete(const BlockRef& block) {
  tasks_.add(
      server_->Delete(block).then([](Status s) { LOG_IF(WARNING, !s.ok()) << "deleting a block: " << s.ToString(); }));
}

void BlockHost::EmptyQuarantine(const BlockRef& block) {
  tasks_.add(server_->EmptyQuarantine(block).then(
      [](Status s) { LOG_IF(WARNING, !s.ok()) << "emptying the quarantine of a block: " << s.ToString(); }));
}

void BlockHost::Replicate(const command::ReplicateBlock& command) {
  tasks_.add(
      server_->Replicate(command.block, command.to_address, command.grant)
          .then([this, block = command.block, to_address = command.to_address](const dfs::BlockServer::Copied& copied) {
            if (copied.status.ok()) return;
            const std::string why = "copying block " + std::to_string(block.id.value) + " to " + to_address + ": " +
                                    copied.status.ToString();
            LOG(WARNING) << why;
            options_.on_not_copied(block, copied.source_failed, why);
          }));
}

std::unique_ptr<OutputSink> BlockHost::MakeSink(const StageInfo& stage, uint32_t port, AttemptId attempt) {
  const std::string root = stage.staging_uri.substr(stage.staging_uri.find("//") + 2);
  return std::make_unique<DfsSink>(loop_, *this, root + "/" + AttemptName(stage, attempt),
                                   PartName(stage, port, attempt.task.task));
}

}  // namespace mr::worker
