#include "dfs/block/block_server.h"

#include <kj/debug.h>

#include <optional>

#include "common/io/crc32c.h"
#include "common/rpc/kj_status.h"
#include "dfs/block/peers.h"
#include "dfs/block/pipeline.h"
#include "dfs/meta/service.h"

namespace mr::dfs {
namespace {

// The local end of one write. Its disk accesses run on the pool in order.
struct LocalWrite {
  std::unique_ptr<BlockStore::Writer> writer;
  Status failed;  // the error of an earlier step; later steps do nothing
};

// crc: that came with the piece, if it came from another process.
Status AppendPiece(LocalWrite& local, const std::string& piece, std::optional<uint32_t> crc) {
  if (!local.failed.ok()) return local.failed;
  const bool whole = !crc.has_value() || Crc32c(piece) == *crc;
  local.failed = whole ? local.writer->Append(piece) : Corrupted("a piece was damaged on its way");
  return local.failed;
}

}  // namespace

// Shared by the server, its calls and its writers. Cap'n Proto detaches a call if its connection is gone, so a call
// could outlive the loop's I/O. Close, called when the server is destroyed, ends all calls. Objects that remain
// (writers that a connection still refers to) then have no call, connection or timer.
struct BlockServer::Impl : kj::Refcounted, private kj::TaskSet::ErrorHandler {
  BlockStore& store;
  Options options;
  Peers peers;
  kj::Own<kj::TaskSet> reports;  // null once closed

  Impl(kj::AsyncIoContext& io, BlockStore& s, Options o)
      : store(s),
        options(std::move(o)),
        peers(io, options.hello),
        reports(kj::heap<kj::TaskSet>(static_cast<kj::TaskSet::ErrorHandler&>(*this))) {}

  bool closed() const { return reports.get() == nullptr; }

  // Wraps a call so that it fails when the server is destroyed. The reference is held outside of the part that the
  // canceler ends, which must not own it.
  template <class T>
  kj::Promise<T> Hold(kj::Promise<T> call) {
    if (closed()) return KJ_EXCEPTION(DISCONNECTED, "the data server is shutting down");
    return calls_.wrap(kj::mv(call)).attach(kj::addRef(*this));
  }

  void Close() {
    options.on_durable = nullptr;
    calls_.cancel("the data server is shutting down");
    reports = nullptr;
    peers.Close();
  }

 private:
  void taskFailed(kj::Exception&&) override {}

  kj::Canceler calls_;
};

namespace {

// One pipeline member: takes pieces, passes them on and writes them. A failed downstream is dropped; a failed local
// disk ends the whole write here.
class Member {
 public:
  Member(BlockServer::Impl& server, std::unique_ptr<BlockStore::Writer> writer, kj::Own<BlockPipe> downstream)
      : server_(kj::addRef(server)),
        local_(std::make_shared<LocalWrite>(LocalWrite{std::move(writer), Status::Ok()})),
        downstream_(kj::mv(downstream)),
        tail_(kj::Promise<void>(kj::READY_NOW)) {}
  ~Member() noexcept(false) {
    // Unlinks an unfinished block, on the pool because that accesses the disk. The pool may be gone after the server.
    if (server_->closed()) return;
    server_->options.pool([local = std::move(local_)]() mutable { local.reset(); });
  }
  KJ_DISALLOW_COPY(Member);

  kj::Promise<Status> Write(const Piece& piece, std::optional<uint32_t> crc) {
    auto passed = PassOn(piece);
    auto written = InOrder<Status>([local = local_, piece, crc] { return AppendPiece(*local, *piece, crc); });
    return server_->Hold(written.then([passed = kj::mv(passed)](Status status) mutable {
      return passed.then([status = std::move(status)]() mutable { return std::move(status); });
    }));
  }

  // Returns the workers that have the block on disk; an error if there is none.
  kj::Promise<Result<std::vector<WorkerId>>> Finish(uint64_t length, uint64_t digest) {
    auto below = FinishDownstream(length, digest);
    auto here = InOrder<Result<BlockRef>>([local = local_, length, digest]() -> Result<BlockRef> {
      if (!local->failed.ok()) return local->failed;
      return local->writer->Finish(length, digest);
    });
    auto done = here.then([&server = *server_](Result<BlockRef> ref) {
                      if (ref.ok() && server.options.on_durable) server.options.on_durable(*ref);
                      return ref;
                    })
                    .fork();
    // The master is notified once the bytes are on disk, even if the writer is gone.
    if (!server_->closed()) server_->reports->add(done.addBranch().ignoreResult());
    using Durable = Result<std::vector<WorkerId>>;
    auto answer = done.addBranch().then([&server = *server_, below = kj::mv(below)](Result<BlockRef> ref) mutable {
      return below.then([&server, ref = std::move(ref)](std::vector<WorkerId> durable) mutable -> Durable {
        if (ref.ok()) durable.insert(durable.begin(), server.options.worker);
        // One durable replica anywhere in the pipeline is a good answer. The writer counts them.
        if (durable.empty()) return ref.status();
        return durable;
      });
    });
    return server_->Hold(kj::mv(answer));
  }

 private:
  // Runs fn on the pool after all earlier steps.
  template <class R, class F>
  kj::Promise<R> InOrder(F fn) {
    auto fork =
        tail_.then([pool = server_->options.pool, fn = std::move(fn)]() mutable { return OnPool(pool, std::move(fn)); })
            .fork();
    tail_ = fork.addBranch().ignoreResult().catch_([](kj::Exception&&) {});
    return fork.addBranch();
  }

  kj::Promise<void> PassOn(const Piece& piece) {
    if (downstream_.get() == nullptr || downstream_failed_) return kj::READY_NOW;
    return downstream_->Write(piece).then([this](Status status) {
      if (!status.ok()) downstream_failed_ = true;
    });
  }

  kj::Promise<std::vector<WorkerId>> FinishDownstream(uint64_t length, uint64_t digest) {
    if (downstream_.get() == nullptr || downstream_failed_) return std::vector<WorkerId>();
    return downstream_->Finish(length, digest).then([](Result<std::vector<WorkerId>> durable) {
      return durable.ok() ? *std::move(durable) : std::vector<WorkerId>();
    });
  }

  kj::Own<BlockServer::Impl> server_;  // first: the members below use its connections
  std::shared_ptr<LocalWrite> local_;
  kj::Own<BlockPipe> downstream_;
  bool downstream_failed_ = false;
  kj::Promise<void> tail_;
};

// The end of a pipeline in this process: its writer is on this loop. Limits its calls like those to other servers, so
// that a disk that hangs cannot hang the writer.
class PipeHere final : public BlockPipe {
 public:
  PipeHere(BlockServer::Impl& server, std::unique_ptr<BlockStore::Writer> writer, kj::Own<BlockPipe> downstream)
      : server_(kj::addRef(server)), member_(server, std::move(writer), kj::mv(downstream)) {}

  kj::Promise<Status> Write(const Piece& piece) override {
    return Limited<Status>([&] { return member_.Write(piece, std::nullopt); });
  }
  kj::Promise<Result<std::vector<WorkerId>>> Finish(uint64_t length, uint64_t digest) override {
    return Limited<Result<std::vector<WorkerId>>>([&] { return member_.Finish(length, digest); });
  }

 private:
  template <class T, class F>
  kj::Promise<T> Limited(F call) {
    if (server_->closed()) return T(Unavailable("the data server is shutting down"));
    return server_->peers.Limit(call()).catch_([](kj::Exception&& e) -> T {
      return Unavailable("the block store of this worker: " + rpc::FromException(e).message());
    });
  }

  kj::Own<BlockServer::Impl> server_;
  Member member_;
};

// The end of a pipeline at a connection.
class WriterServer final : public rpc::Guarded<rpc::BlockWriter> {
 public:
  WriterServer(rpc::GuardPtr guard, BlockServer::Impl& server, std::unique_ptr<BlockStore::Writer> writer,
               kj::Own<BlockPipe> downstream)
      : Guarded(std::move(guard)), member_(server, std::move(writer), kj::mv(downstream)) {}

 protected:
  kj::Promise<void> write(WriteContext context) override {
    auto params = context.getParams();
    const auto data = params.getData();
    const uint32_t crc = params.getCrc32c();
    if (params.getOffset() != received_ || data.size() == 0 || data.size() > kPieceBytes || finishing_) {
      rpc::ToOutcome(InvalidArgument("a piece of a block arrived out of order or has an invalid size"),
                     context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    received_ += data.size();
    auto piece = std::make_shared<const std::string>(reinterpret_cast<const char*>(data.begin()), data.size());
    context.releaseParams();
    return member_.Write(piece, crc).then([context](Status status) mutable {
      rpc::ToOutcome(status, context.getResults().initOutcome());
    });
  }

  kj::Promise<void> finish(FinishContext context) override {
    const uint64_t length = context.getParams().getLength();
    const uint64_t digest = context.getParams().getDigest();
    finishing_ = true;
    return member_.Finish(length, digest).then([context](Result<std::vector<WorkerId>> durable) mutable {
      auto results = context.getResults();
      rpc::ToOutcome(durable.status(), results.initOutcome());
      if (!durable.ok()) return;
      auto list = results.initDurable(static_cast<uint>(durable->size()));
      for (uint i = 0; i < list.size(); ++i) list.set(i, (*durable)[i].value);
    });
  }

 private:
  Member member_;
  uint64_t received_ = 0;
  bool finishing_ = false;
};

// The two ends that a new member needs: its own file, and the rest of the pipeline. An unreachable rest is dropped: the
// writer sees in `durable` how many workers have the block.
struct Ends {
  Result<std::unique_ptr<BlockStore::Writer>> writer;
  kj::Own<BlockPipe> downstream;  // may be null
};

kj::Promise<Ends> OpenEnds(BlockServer::Impl& impl, BlockRef block, std::vector<std::string> downstream,
                           std::vector<std::string> grants) {
  // A Result, because a promise cannot hold a null Own: KJ treats that as no value.
  using Pipe = Result<kj::Own<BlockPipe>>;
  kj::Promise<Pipe> below = Pipe(NotFound("the pipeline ends here"));
  if (!downstream.empty()) below = BlockPipe::Open(impl.peers, block, std::move(downstream), std::move(grants));
  using Created = Result<std::unique_ptr<BlockStore::Writer>>;
  auto here = OnPool(impl.options.pool,
                     [&store = impl.store, block]() -> Created { return store.Create(block.id, block.generation); });
  return here.then([below = kj::mv(below)](Created writer) mutable {
    return below.then([writer = std::move(writer)](Pipe pipe) mutable {
      return Ends{std::move(writer), pipe.ok() ? *std::move(pipe) : kj::Own<BlockPipe>()};
    });
  });
}

}  // namespace

BlockServer::BlockServer(kj::AsyncIoContext& io, BlockStore& store, Options options)
    : impl_(kj::refcounted<Impl>(io, store, std::move(options))) {}

BlockServer::~BlockServer() { impl_->Close(); }

void BlockServer::set_worker(WorkerId worker) { impl_->options.worker = worker; }

kj::Promise<void> BlockServer::WriteBlock(WriteContext context, rpc::GuardPtr guard) {
  auto params = context.getParams();
  const BlockRef block = FromWire(params.getBlock());
  std::vector<std::string> downstream;
  for (const auto address : params.getDownstream()) downstream.emplace_back(address.cStr());
  std::vector<std::string> grants;
  for (const auto grant : params.getGrants()) {
    grants.emplace_back(reinterpret_cast<const char*>(grant.begin()), grant.size());
  }
  context.releaseParams();
  const Status allowed =
      guard->CheckGrant(secure::WritesBlock(block.id, block.generation), grants.empty() ? "" : grants.front());
  if (!allowed.ok()) {
    rpc::ToOutcome(allowed, context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  if (!grants.empty()) grants.erase(grants.begin());
  auto made =
      OpenEnds(*impl_, block, std::move(downstream), std::move(grants))
          .then([&impl = *impl_, context, guard](Ends ends) mutable {
            auto results = context.getResults();
            rpc::ToOutcome(ends.writer.status(), results.initOutcome());
            if (!ends.writer.ok()) return;
            results.setWriter(kj::heap<WriterServer>(guard, impl, *std::move(ends.writer), kj::mv(ends.downstream)));
          });
  return impl_->Hold(kj::mv(made));
}

kj::Promise<Result<kj::Own<BlockPipe>>> BlockServer::OpenHere(BlockRef block, std::vector<std::string> downstream,
                                                              std::vector<std::string> grants) {
  using Opened = Result<kj::Own<BlockPipe>>;
  if (impl_->closed()) return Opened(Unavailable("the data server is shutting down"));
  auto made =
      OpenEnds(*impl_, block, std::move(downstream), std::move(grants)).then([&impl = *impl_](Ends ends) -> Opened {
        if (!ends.writer.ok()) return ends.writer.status().With("the block store of this worker");
        (*ends.writer)->TrustBytes();
        return kj::Own<BlockPipe>(kj::heap<PipeHere>(impl, *std::move(ends.writer), kj::mv(ends.downstream)));
      });
  return impl_->peers.Limit(impl_->Hold(kj::mv(made))).catch_([](kj::Exception&& e) -> Opened {
    return Unavailable("the block store of this worker: " + rpc::FromException(e).message());
  });
}

namespace {

using Statuses = std::vector<Status>;

// Writes those blocks whose bytes have come whole. Runs on the pool.
Statuses WriteWhole(BlockStore& store, const std::vector<SmallBlock>& blocks) {
  Statuses statuses(blocks.size());
  std::vector<WholeBlock> whole;
  std::vector<size_t> at;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (Crc32c(blocks[i].bytes) != blocks[i].crc32c) {
      statuses[i] = Corrupted("a block was damaged on its way");
      continue;
    }
    whole.push_back({blocks[i].block, blocks[i].bytes});
    at.push_back(i);
  }
  Statuses written = store.WriteGroup(whole);
  for (size_t i = 0; i < at.size(); ++i) statuses[at[i]] = std::move(written[i]);
  return statuses;
}

Status CheckSize(capnp::List<rpc::NewBlock>::Reader blocks) {
  uint64_t bytes = 0;
  for (const auto block : blocks) bytes += block.getData().size();
  if (blocks.size() <= kMostSmallBlocks && bytes <= kPieceBytes) return Status::Ok();
  return InvalidArgument("one call writes " + std::to_string(blocks.size()) + " blocks of " + std::to_string(bytes) +
                         " bytes, and may write " + std::to_string(kMostSmallBlocks) + " blocks of " +
                         std::to_string(kPieceBytes) + " bytes");
}

std::string ToString(capnp::Data::Reader bytes) { return {bytes.asChars().begin(), bytes.size()}; }

// One call of writeBlocks.
struct GroupWrite {
  std::vector<StoredBlock> stored;  // what became of each block that the call names
  std::vector<size_t> taken;        // indexes of those that may be written
  std::shared_ptr<std::vector<SmallBlock>> blocks = std::make_shared<std::vector<SmallBlock>>();  // they themselves
  std::vector<std::string> downstream;
};

GroupWrite ReadGroup(rpc::DataServer::WriteBlocksParams::Reader params, const rpc::Guard& guard) {
  const auto asked = params.getBlocks();
  GroupWrite group;
  group.stored.resize(asked.size());
  for (const auto address : params.getDownstream()) group.downstream.emplace_back(address.cStr());
  const Status size = CheckSize(asked);
  for (uint i = 0; i < asked.size(); ++i) {
    SmallBlock block{FromWire(asked[i].getBlock()), {}, asked[i].getCrc32c(), {}};
    for (const auto grant : asked[i].getGrants()) block.grants.push_back(ToString(grant));
    Status& status = group.stored[i].status;
    status = size;
    if (status.ok()) {
      status = guard.CheckGrant(secure::WritesBlock(block.block.id, block.block.generation),
                                block.grants.empty() ? "" : block.grants.front());
    }
    if (!status.ok()) continue;
    if (!block.grants.empty()) block.grants.erase(block.grants.begin());
    block.bytes = ToString(asked[i].getData());
    group.taken.push_back(i);
    group.blocks->push_back(std::move(block));
  }
  return group;
}

}  // namespace

kj::Promise<void> BlockServer::WriteBlocks(GroupContext context, const rpc::GuardPtr& guard) {
  auto group = kj::heap<GroupWrite>(ReadGroup(context.getParams(), *guard));
  context.releaseParams();
  const SmallBlocks blocks = group->blocks;
  using Sent = Result<std::vector<StoredBlock>>;
  kj::Promise<Sent> sent = Sent(NotFound("the pipeline ends here"));
  if (!blocks->empty() && !group->downstream.empty()) {
    sent = SendBlocks(impl_->peers, blocks, std::move(group->downstream));
  }
  auto written = OnPool(impl_->options.pool, [&store = impl_->store, blocks] { return WriteWhole(store, *blocks); })
                     .then([&impl = *impl_, blocks](Statuses statuses) {
                       for (size_t i = 0; i < blocks->size(); ++i) {
                         if (statuses[i].ok() && impl.options.on_durable) impl.options.on_durable((*blocks)[i].block);
                       }
                       return statuses;
                     })
                     .fork();
  // The master is notified once the bytes are on disk, even if the writer is gone.
  if (!impl_->closed()) impl_->reports->add(written.addBranch().ignoreResult());
  auto both = written.addBranch().then(
      [&impl = *impl_, group = kj::mv(group), sent = kj::mv(sent), context](Statuses statuses) mutable {
        return sent.then([&impl, group = kj::mv(group), statuses = std::move(statuses), context](Sent below) mutable {
          for (size_t n = 0; n < statuses.size(); ++n) {
            StoredBlock& block = group->stored[group->taken[n]];
            block.status = std::move(statuses[n]);
            if (block.status.ok()) block.durable.push_back(impl.options.worker);
            // One durable replica anywhere in the pipeline is a good answer. The writer counts them.
            if (!below.ok() || !(*below)[n].status.ok()) continue;
            for (const WorkerId worker : (*below)[n].durable) block.durable.push_back(worker);
            block.status = Status::Ok();
          }
          auto list = context.getResults().initBlocks(static_cast<uint>(group->stored.size()));
          for (uint i = 0; i < list.size(); ++i) {
            const StoredBlock& block = group->stored[i];
            rpc::ToOutcome(block.status, list[i].initOutcome());
            auto durable = list[i].initDurable(static_cast<uint>(block.durable.size()));
            for (uint w = 0; w < durable.size(); ++w) durable.set(w, block.durable[w].value);
          }
        });
      });
  return impl_->Hold(kj::mv(both));
}

kj::Promise<void> BlockServer::ReadBlock(ReadContext context, const rpc::GuardPtr& guard) {
  const auto params = context.getParams();
  const auto grant = params.getGrant();
  const Status allowed = guard->CheckGrant(secure::ReadsBlock({params.getId()}, params.getGeneration()),
                                           {reinterpret_cast<const char*>(grant.begin()), grant.size()});
  if (!allowed.ok()) {
    rpc::ToOutcome(allowed, context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  const BlockRef block{{params.getId()}, params.getGeneration(), 0, 0};
  const uint64_t offset = params.getOffset();
  const uint64_t length = std::min<uint64_t>(params.getLength(), kPieceBytes);
  auto read = OnPool(impl_->options.pool, [&store = impl_->store, block, offset, length] {
    return store.Read(block.id, block.generation, offset, length);
  });
  return impl_->Hold(read.then([context](Result<std::string> bytes) mutable {
    auto results = context.getResults(capnp::MessageSize{bytes.ok() ? bytes->size() / 8 + 32 : 64, 0});
    rpc::ToOutcome(bytes.status(), results.initOutcome());
    if (!bytes.ok()) return;
    results.setData(kj::arrayPtr(reinterpret_cast<const kj::byte*>(bytes->data()), bytes->size()));
  }));
}

namespace {

using Copied = BlockServer::Copied;

// Reads from the local store and writes into the pipe, piece by piece.
kj::Promise<Copied> CopyPieces(BlockServer::Impl& server, BlockPipe& pipe, BlockRef block, uint64_t offset) {
  if (offset >= block.length) return Copied{};
  return OnPool(server.options.pool, [&store = server.store, block,
                                      offset] { return store.Read(block.id, block.generation, offset, kPieceBytes); })
      .then([&server, &pipe, block, offset](Result<std::string> bytes) -> kj::Promise<Copied> {
        if (!bytes.ok()) return Copied{bytes.status(), true};
        const uint64_t next = offset + bytes->size();
        if (bytes->empty()) return Copied{Corrupted("the replica here is shorter than the block"), true};
        return pipe.Write(std::make_shared<const std::string>(*std::move(bytes)))
            .then([&server, &pipe, block, next](Status status) -> kj::Promise<Copied> {
              if (!status.ok()) return Copied{status, false};
              return CopyPieces(server, pipe, block, next);
            });
      });
}

}  // namespace

kj::Promise<BlockServer::Copied> BlockServer::Replicate(BlockRef block, std::string to_address, std::string grant) {
  auto copied = BlockPipe::Open(impl_->peers, block, {std::move(to_address)}, {std::move(grant)})
                    .then([&impl = *impl_, block](Result<kj::Own<BlockPipe>> opened) -> kj::Promise<Copied> {
                      if (!opened.ok()) return Copied{opened.status(), false};
                      auto pipe = *std::move(opened);
                      BlockPipe& p = *pipe;
                      return CopyPieces(impl, p, block, 0)
                          .then([&p, block](Copied copied) -> kj::Promise<Copied> {
                            if (!copied.status.ok()) return copied;
                            return p.Finish(block.length, block.digest).then([](Result<std::vector<WorkerId>> durable) {
                              return Copied{durable.status(), false};
                            });
                          })
                          .attach(kj::mv(pipe));
                    });
  return impl_->Hold(kj::mv(copied));
}

kj::Promise<Status> BlockServer::EmptyQuarantine(BlockRef block) {
  return OnPool(impl_->options.pool,
                [&store = impl_->store, block] { return store.EmptyQuarantine(block.id, block.generation); });
}

kj::Promise<Status> BlockServer::Delete(BlockRef block) {
  return OnPool(impl_->options.pool,
                [&store = impl_->store, block] { return store.Delete(block.id, block.generation); });
}

kj::Promise<void> BlockServer::Scrub(uint64_t max_bytes) {
  return OnPool(impl_->options.pool, [&store = impl_->store, max_bytes] { (void)store.Scrub(max_bytes); });
}

}  // namespace mr::dfs
