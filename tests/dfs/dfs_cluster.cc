#include "tests/dfs/dfs_cluster.h"

#include <cstdio>
#include <future>

#include "tests/support/anybody.h"

namespace mr::dfs::test {
namespace {

class DataService final : public rpc::DataServer::Server {
 public:
  DataService(BlockServer& blocks, DfsCluster::WriteCalls& calls) : blocks_(blocks), calls_(calls) {}

 protected:
  kj::Promise<void> writeBlock(WriteBlockContext context) override {
    ++calls_.single;
    return blocks_.WriteBlock(context, mr::test::Anybody());
  }
  kj::Promise<void> writeBlocks(WriteBlocksContext context) override {
    ++calls_.grouped;
    return blocks_.WriteBlocks(context, mr::test::Anybody());
  }
  kj::Promise<void> readBlock(ReadBlockContext context) override {
    return blocks_.ReadBlock(context, mr::test::Anybody());
  }

 private:
  BlockServer& blocks_;
  DfsCluster::WriteCalls& calls_;
};

class MasterService final : public rpc::MasterForClient::Server {
 public:
  explicit MasterService(FsHost& host) : host_(host) {}

 protected:
  kj::Promise<void> files(FilesContext context) override {
    context.getResults().setFiles(MakeFileSystem(host_, mr::test::Anybody()));
    return kj::READY_NOW;
  }

 private:
  FsHost& host_;
};

// Starts a server on a loop and waits for its port.
uint16_t ListenOn(rpc::KjThread& loop, rpc::RpcServer& server) {
  auto port = std::make_shared<std::promise<uint16_t>>();
  loop.Post([&] {
    loop.Spawn(server.Listen("127.0.0.1", 0).then([port](Result<uint16_t> bound) {
      port->set_value(bound.ok() ? *bound : 0);
    }));
  });
  return port->get_future().get();
}

}  // namespace

Node::Node(DfsCluster& cluster, WorkerId id, const std::string& rack)
    : cluster_(cluster), id_(id), incarnation_(RandomId()), directory_(cluster.root() + "/" + Name(id)) {
  MR_CHECK(MakeDirectories(directory_).ok());
  auto store = BlockStore::Open(directory_);
  MR_CHECK(store.ok(), store.status().ToString());
  store_ = *std::move(store);
  BlockStore::Observers observers;
  observers.on_suspect = [this](const Suspect& s) {
    cluster_.Report(ReplicaSuspect{{}, id_, incarnation_, s.block.id, s.block.generation, s.block.length, s.aside});
  };
  observers.on_disk = [this](const std::string& why) { cluster_.Report(DiskFailed{{}, id_, incarnation_, why}); };
  store_->Observe(std::move(observers));
  loop_ = std::make_unique<rpc::KjThread>("test-node");
  rpc::Hello hello;
  hello.role = rpc::Role::kDataServer;
  hello.cluster_id = kCluster;
  hello.incarnation = incarnation_;
  loop_->Run([&] {
    BlockServer::Options options;
    options.worker = id_;
    options.hello = hello;
    options.pool = pool_.AsPool();
    options.on_durable = [this](const BlockRef& block) {
      cluster_.Report(ReplicaDurable{{}, id_, incarnation_, block});
    };
    server_ = kj::heap<BlockServer>(loop_->io(), *store_, std::move(options));
    rpc_ = kj::heap<rpc::RpcServer>(
        loop_->io(), hello,
        [this](const rpc::Hello&, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
          return capnp::Capability::Client(
              rpc::DataServer::Client(kj::heap<DataService>(*server_, cluster_.write_calls())));
        },
        rpc::MakeAuthenticator({}).value());
  });
  address_ = "127.0.0.1:" + std::to_string(ListenOn(*loop_, *rpc_));
  cluster_.Report(WorkerJoined{{}, id_, incarnation_, address_, rack, 0, store_->used_bytes(), store_->List()});
  for (const Suspect& s : store_->Suspects()) {
    cluster_.Report(ReplicaSuspect{{}, id_, incarnation_, s.block.id, s.block.generation, s.block.length, s.aside});
  }
}

Node::~Node() {
  loop_->Run([this] {
    rpc_ = nullptr;
    server_ = nullptr;
  });
  loop_.reset();
  pool_.Stop();
}

DfsCluster::DfsCluster(int workers, NamespaceConfig config) {
  rpc::Hello hello;
  hello.role = rpc::Role::kMaster;
  hello.cluster_id = kCluster;
  master_loop_.Run([&] {
    ns_ = std::make_unique<Namespace>(config);
    Apply(MasterStarted{Present().at, {}});
    rpc_ = kj::heap<rpc::RpcServer>(
        master_loop_.io(), hello,
        [this](const rpc::Hello&, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
          return capnp::Capability::Client(rpc::MasterForClient::Client(kj::heap<MasterService>(*this)));
        },
        rpc::MakeAuthenticator({}).value());
  });
  master_ = "127.0.0.1:" + std::to_string(ListenOn(master_loop_, *rpc_));
  nodes_.resize(static_cast<size_t>(workers));
  incarnations_.resize(nodes_.size());
  for (int i = 0; i < workers; ++i) StartNode(i);
  auto client = BlockingDfs::Connect(client_loop_, master_);
  MR_CHECK(client.ok(), client.status().ToString());
  client_ = *std::move(client);
}

DfsCluster::~DfsCluster() {
  client_.reset();
  nodes_.clear();
  master_loop_.Run([this] {
    rpc_ = nullptr;
    ns_.reset();
  });
}

void DfsCluster::StartNode(int i) {
  auto& node = nodes_[static_cast<size_t>(i)];
  node = std::make_unique<Node>(*this, WorkerId{static_cast<uint32_t>(i + 1)}, "");
  incarnations_[static_cast<size_t>(i)] = node->incarnation();
}

Node& DfsCluster::NodeOf(WorkerId id) { return node(static_cast<int>(id.value) - 1); }

void DfsCluster::NoticeLoss(int i) {
  Report(WorkerGone{{}, {static_cast<uint32_t>(i + 1)}, incarnations_[static_cast<size_t>(i)]});
  master_loop_.Run([] {});
}

void DfsCluster::Tick(Duration passed) {
  master_loop_.Run([&] {
    shift_ = shift_ + passed;
    for (const auto& record : ns_->Due(Present().at)) Apply(record);
  });
}

void DfsCluster::Report(Record record) {
  master_loop_.Post([this, record = std::move(record)]() mutable {
    if (ns_ == nullptr) return;
    std::visit(
        [&](auto& r) {
          if constexpr (requires { r.at; }) r.at = Present().at;
        },
        record);
    Apply(record);
  });
}

kj::Promise<Changed> DfsCluster::Mutate(PrepareFn prepare, std::function<void(const Namespace&)> then) {
  auto record = prepare(*ns_, Present());
  if (!record.ok()) return Changed(record.status());
  if (!record->has_value()) return Changed();
  bool applied = true;
  const Status answer = intercept_ ? intercept_(**record, &applied) : Status::Ok();
  if (applied) Apply(**record);
  if (answer.ok() && then) then(*ns_);
  return Changed(answer);
}

kj::Promise<void> DfsCluster::Query(std::function<void(const Namespace&)> fn) {
  fn(*ns_);
  return kj::READY_NOW;
}

void DfsCluster::Apply(const Record& record) {
  for (const Record& placed : ns_->PlacedBy(record)) (void)ns_->Apply(placed);
  const std::vector<Effect> effects = ns_->Apply(record);
  for (const Record& unplaced : ns_->UnplacedBy(effects)) (void)ns_->Apply(unplaced);
  for (const auto& effect : effects) {
    auto& node = nodes_[TargetOf(effect).worker.value - 1];
    if (node == nullptr || node->incarnation() != TargetOf(effect).incarnation) continue;
    node->loop().Post([this, n = node.get(), effect] {
      if (const auto* copy = std::get_if<ReplicateBlock>(&effect)) {
        n->loop().Spawn(n->server().Replicate(copy->block, copy->to_address, "").then([this, c = *copy](auto copied) {
          if (copied.status.ok()) return;
          std::fprintf(stderr, "replicate: %s\n", copied.status.ToString().c_str());
          Report(
              ReplicaNotCopied{{}, c.from, c.from_incarnation, c.block.id, c.block.generation, copied.source_failed});
        }));
      } else if (const auto* empty = std::get_if<EmptyQuarantine>(&effect)) {
        n->loop().Spawn(n->server().EmptyQuarantine(empty->block).ignoreResult());
      } else {
        n->loop().Spawn(n->server().Delete(std::get<DeleteReplica>(effect).block).ignoreResult());
      }
    });
  }
}

}  // namespace mr::dfs::test
