// Writes one file: divides the stream into blocks and pieces, and sends pieces through the pipeline at once. Sends a
// block again through a new pipeline if too few replicas became durable. A block that one worker took, since the master
// knew no other one then, is read back and written again if the master asks for more at the end.
#include <algorithm>
#include <deque>
#include <map>

#include "common/base/count.h"
#include "common/io/bulk_digest.h"
#include "common/io/clock.h"
#include "common/io/ledger.h"
#include "dfs/block/block_server.h"
#include "dfs/block/pipeline.h"
#include "dfs/client/core.h"
#include "dfs/meta/service.h"

namespace mr::dfs {
namespace {

// A quarter of the master's lease time.
constexpr Duration kRenewEvery = Seconds(15);
constexpr Duration kFirstPause = Millis(50);
constexpr Duration kLongestPause = Seconds(1);

Duration PauseBefore(int attempt) { return {std::min(kLongestPause.ns, kFirstPause.ns << std::min(attempt, 10))}; }

class FileWriterImpl final : public FileWriter {
 public:
  FileWriterImpl(DfsClient::Impl& client, std::string path, uint64_t lease, uint64_t block_bytes)
      : client_(kj::addRef(client)),
        path_(std::move(path)),
        lease_(lease),
        block_bytes_(block_bytes),
        renewing_(Renew()) {}

  ~FileWriterImpl() noexcept override {
    if (closed_) return;
    auto request = client_->files.abandonRequest();
    request.setLease(lease_);
    // If the request is lost, the lease expires.
    request.send().ignoreResult().detach([](kj::Exception&&) {});
  }

  kj::Promise<Status> Write(std::string bytes) override {
    if (buffer_.empty()) {
      buffer_ = std::move(bytes);
    } else {
      buffer_.append(bytes);
    }
    return Drain(false);
  }

  kj::Promise<Result<WrittenFile>> Close() override {
    return Drain(true)
        .then([this](Status status) -> kj::Promise<Status> {
          if (!status.ok() || pieces_.empty()) return status;
          return FinishBlock();
        })
        .then([this](Status status) -> kj::Promise<Status> {
          return status.ok() ? Complete(0) : kj::Promise<Status>(status);
        })
        .then([this](Status status) -> Result<WrittenFile> {
          if (!status.ok()) return status.With("cannot write " + path_);
          closed_ = true;
          renewing_ = kj::Promise<void>(kj::READY_NOW);
          return std::move(written_);
        });
  }

 private:
  // Sends the buffer in whole pieces; at the end also the short rest.
  kj::Promise<Status> Drain(bool last) {
    const uint64_t room = block_bytes_ - length_;
    const size_t have = buffer_.size() - taken_;
    const size_t want = std::min<uint64_t>(kPieceBytes, room);
    if (have == 0 || (have < want && !last)) {
      buffer_.erase(0, taken_);
      taken_ = 0;
      return Status::Ok();
    }
    const bool all = taken_ == 0 && have == want;
    auto piece = std::make_shared<const std::string>(all ? std::move(buffer_) : buffer_.substr(taken_, want));
    if (all) {
      buffer_.clear();
    } else {
      taken_ += piece->size();
    }
    length_ += piece->size();
    digest_.Update(*piece);
    Ledger::Count(Ledger::file_digest, piece->size());
    if (!all) Ledger::Count(Ledger::block_copy, piece->size());
    pieces_.push_back(piece);
    return Send(std::move(piece)).then([this, last](Status status) -> kj::Promise<Status> {
      if (!status.ok()) return status;
      if (length_ < block_bytes_) return Drain(last);
      return FinishBlock().then([this, last](Status finished) -> kj::Promise<Status> {
        return finished.ok() ? Drain(last) : kj::Promise<Status>(finished);
      });
    });
  }

  // Sends a piece into the current block's pipeline, which is opened with the first piece. A broken pipeline is noticed
  // at the end of the block. Only a refusal of the master ends the file.
  kj::Promise<Status> Send(Piece piece) {
    if (pieces_.size() > 1) return Pump(piece);
    return OpenPipe().then([this, piece = std::move(piece)](Status status) -> kj::Promise<Status> {
      return status.ok() ? Pump(piece) : kj::Promise<Status>(status);
    });
  }

  kj::Promise<Status> Pump(const Piece& piece) {
    if (!broken_.ok()) return Status::Ok();
    in_flight_.push_back(pipe_->Write(piece)
                             .then([this](Status status) {
                               if (!status.ok() && broken_.ok()) broken_ = status;
                             })
                             .eagerlyEvaluate(nullptr));
    if (in_flight_.size() < kPiecesInFlight) return Status::Ok();
    auto oldest = kj::mv(in_flight_.front());
    in_flight_.pop_front();
    return oldest.then([] { return Status::Ok(); });
  }

  // Requests a new block with its pipeline at the current index. Errors: a final refusal by the master.
  kj::Promise<Status> OpenPipe() {
    broken_ = Status::Ok();
    pipe_ = nullptr;
    in_flight_.clear();
    auto request = client_->files.addBlockRequest();
    request.setLease(lease_);
    request.setIndex(static_cast<uint32_t>(index_));
    request.setNear(client_->options.own_address.c_str());
    auto call = request.send().then([this](auto response) -> Status {
      Status status = rpc::FromOutcome(response.getOutcome());
      if (status.ok()) located_ = FromWire(response.getBlock());
      return status;
    });
    return Guard(kj::mv(call)).then([this](Status status) -> kj::Promise<Status> {
      if (status.code() == Code::kUnavailable) {
        broken_ = status;  // no worker at the moment: retried like a broken pipeline
        return Status::Ok();
      }
      if (!status.ok()) return status;
      if (located_.addresses.empty()) {
        broken_ = Unavailable("the workers of the pipeline are gone");
        return Status::Ok();
      }
      return ConnectPipe().then([this](Result<kj::Own<BlockPipe>> pipe) {
        if (pipe.ok()) {
          pipe_ = *std::move(pipe);
        } else {
          broken_ = pipe.status();
        }
        return Status::Ok();
      });
    });
  }

  kj::Promise<Result<kj::Own<BlockPipe>>> ConnectPipe() {
    const DfsClient::Options& options = client_->options;
    if (options.own_server == nullptr || located_.addresses.front() != options.own_address) {
      return BlockPipe::Open(client_->peers, located_.block, located_.addresses, located_.grants);
    }
    const auto rest = [](std::vector<std::string> all) {
      if (!all.empty()) all.erase(all.begin());
      return all;
    };
    return options.own_server->OpenHere(located_.block, rest(located_.addresses), rest(located_.grants));
  }

  // Called when all pieces are sent: makes the block durable, or sends it again.
  kj::Promise<Status> FinishBlock(int attempt = 0) {
    const uint64_t digest = digest_.Finish();
    return kj::joinPromises(InFlight())
        .then([this, digest]() -> kj::Promise<Status> {
          if (!broken_.ok()) return broken_;
          return pipe_->Finish(length_, digest).then([this, digest](Result<std::vector<WorkerId>> durable) {
            return Durable(durable, digest);
          });
        })
        .then([this, attempt](Status status) -> kj::Promise<Status> {
          if (status.ok()) return NextBlock();
          if (attempt + 1 >= client_->options.write_tries) {
            return status.With("block " + std::to_string(index_) + " could not be made durable in " +
                               std::to_string(attempt + 1) + " tries, the last one");
          }
          return Again(attempt);
        });
  }

  Status Durable(const Result<std::vector<WorkerId>>& durable, uint64_t digest) {
    if (!durable.ok()) return durable.status();
    const size_t need = std::min<size_t>(2, located_.addresses.size());
    if (durable->size() < need) {
      return Unavailable(std::to_string(durable->size()) + " of " + CountOf(located_.addresses.size(), "worker") +
                         (durable->size() == 1 ? " has" : " have") + " the block");
    }
    located_.block.length = length_;
    located_.block.digest = digest;
    const StagedBlock block{located_.block, *durable};
    if (index_ == written_.blocks.size()) {
      written_.bytes += length_;
      written_.blocks.push_back(block);
    } else {
      written_.blocks[index_] = block;
    }
    on_one_.erase(index_);
    if (durable->size() == 1) on_one_.emplace(index_, located_);
    return Status::Ok();
  }

  Status NextBlock() {
    pipe_ = nullptr;
    pieces_.clear();
    length_ = 0;
    digest_.Reset();
    index_ = written_.blocks.size();
    return Status::Ok();
  }

  kj::Promise<Status> Again(int attempt) {
    return client_->peers.timer()
        .afterDelay(PauseBefore(attempt).ns * kj::NANOSECONDS)
        .then([this] { return client_->Reconnected(); })
        .then([this, attempt] { return Anew(attempt + 1); });
  }

  // Sends all pieces through a new pipeline.
  kj::Promise<Status> Anew(int attempt) {
    return OpenPipe()
        .then([this](Status status) -> kj::Promise<Status> {
          return status.ok() ? SendAgain(0) : kj::Promise<Status>(status);
        })
        .then([this, attempt](Status status) -> kj::Promise<Status> {
          return status.ok() ? FinishBlock(attempt) : kj::Promise<Status>(status);
        });
  }

  kj::Promise<Status> SendAgain(size_t piece) {
    if (piece == pieces_.size()) return Status::Ok();
    return Pump(pieces_[piece]).then([this, piece](Status status) -> kj::Promise<Status> {
      return status.ok() ? SendAgain(piece + 1) : kj::Promise<Status>(status);
    });
  }

  kj::Promise<Status> Complete(int attempt) {
    auto request = client_->files.completeRequest();
    request.setLease(lease_);
    auto blocks = request.initBlocks(static_cast<uint>(written_.blocks.size()));
    for (uint i = 0; i < blocks.size(); ++i) ToWire(written_.blocks[i], blocks[i]);
    refused_ = false;
    auto call = request.send().then([this](auto response) -> Status {
      Status status = rpc::FromOutcome(response.getOutcome());
      refused_ = !status.ok();
      return status;
    });
    return Guard(kj::mv(call)).then([this, attempt](Status status) -> kj::Promise<Status> {
      if (status.code() != Code::kUnavailable || attempt + 1 >= client_->options.write_tries) return status;
      // Repeating it is safe: a completed lease answers ok.
      return client_->peers.timer()
          .afterDelay(PauseBefore(attempt).ns * kj::NANOSECONDS)
          .then([this] { return client_->Reconnected(); })
          .then(
              [this]() -> kj::Promise<Status> { return refused_ ? WriteAgain(0) : kj::Promise<Status>(Status::Ok()); })
          .then([this, attempt](Status again) -> kj::Promise<Status> {
            return again.ok() ? Complete(attempt + 1) : kj::Promise<Status>(again);
          });
    });
  }

  // Writes again those blocks from this index on that one worker has, until one of them cannot be read or is given to
  // one worker again: more replicas are then not what the master asks for.
  kj::Promise<Status> WriteAgain(size_t from) {
    const auto it = on_one_.lower_bound(from);
    if (it == on_one_.end() || alone_) return Status::Ok();
    const size_t index = it->first;
    return client_->ReadRange(it->second, 0, it->second.block.length)
        .then([this, index](Result<std::string> bytes) -> kj::Promise<Status> {
          if (!bytes.ok()) return Status::Ok();
          index_ = index;
          length_ = bytes->size();
          digest_.Update(*bytes);
          for (size_t at = 0; at < bytes->size(); at += kPieceBytes) {
            pieces_.push_back(std::make_shared<const std::string>(bytes->substr(at, kPieceBytes)));
          }
          return Anew(0);
        })
        .then([this, index](Status status) -> kj::Promise<Status> {
          alone_ = alone_ || on_one_.contains(index);
          return status.ok() ? WriteAgain(index + 1) : kj::Promise<Status>(status);
        });
  }

  kj::Promise<void> Renew() {
    return client_->peers.timer()
        .afterDelay(kRenewEvery.ns * kj::NANOSECONDS)
        .then([this] {
          auto request = client_->files.renewRequest();
          request.setLease(lease_);
          return request.send().ignoreResult();
        })
        .catch_([](kj::Exception&&) {})  // the next call returns the error, unless there is a new connection by then
        .then([this] { return Renew(); })
        .eagerlyEvaluate(nullptr);
  }

  kj::Array<kj::Promise<void>> InFlight() {
    auto all = kj::heapArrayBuilder<kj::Promise<void>>(in_flight_.size());
    for (auto& promise : in_flight_) all.add(kj::mv(promise));
    in_flight_.clear();
    return all.finish();
  }

  kj::Own<DfsClient::Impl> client_;  // first: the members below use its connections
  const std::string path_;
  const uint64_t lease_;
  const uint64_t block_bytes_;
  bool closed_ = false;
  WrittenFile written_;

  std::string buffer_;  // given by the caller; its first taken_ bytes are in pieces
  size_t taken_ = 0;

  // By its index in the file, each block that only one worker made durable.
  std::map<size_t, LocatedBlock> on_one_;
  bool alone_ = false;    // one of them, written again, still is on one worker, or could not be read
  bool refused_ = false;  // the master answered Complete, and not the connection

  // The current block.
  size_t index_ = 0;  // in the file
  std::vector<Piece> pieces_;
  uint64_t length_ = 0;
  BulkHasher64 digest_;
  LocatedBlock located_;
  kj::Own<BlockPipe> pipe_;
  Status broken_;
  std::deque<kj::Promise<void>> in_flight_;

  kj::Promise<void> renewing_;
};

}  // namespace

namespace {

// A repetition has the request id of the first try, so that one that was carried out is not refused.
kj::Promise<Result<kj::Own<FileWriter>>> TryOpen(kj::Own<DfsClient::Impl> client, std::string path, PutOptions options,
                                                 std::string request_id, int attempt) {
  using Opened = Result<kj::Own<FileWriter>>;
  DfsClient::Impl& c = *client;
  auto request = c.files.createRequest();
  request.setPath(path.c_str());
  request.setOverwrite(options.overwrite);
  request.setReplication(options.replication);
  request.setBlockBytes(options.block_bytes);
  request.setRequestId(request_id.c_str());
  auto call = request.send().then([&c, path](auto response) -> Opened {
    const Status status = rpc::FromOutcome(response.getOutcome());
    if (!status.ok()) return status;
    return kj::Own<FileWriter>(kj::heap<FileWriterImpl>(c, path, response.getLease(), response.getBlockBytes()));
  });
  return Guard(kj::mv(call))
      .then([client = kj::mv(client), path = std::move(path), options, request_id = std::move(request_id),
             attempt](Opened opened) mutable -> kj::Promise<Opened> {
        DfsClient::Impl& c = *client;
        const bool repeat = opened.status().code() == Code::kUnavailable && c.options.reconnected != nullptr &&
                            attempt + 1 < c.options.write_tries;
        if (!repeat) return kj::mv(opened);
        return c.peers.timer()
            .afterDelay(PauseBefore(attempt).ns * kj::NANOSECONDS)
            .then([&c] { return c.Reconnected(); })
            .then([client = kj::mv(client), path = std::move(path), options, request_id = std::move(request_id),
                   attempt]() mutable {
              return TryOpen(kj::mv(client), std::move(path), options, std::move(request_id), attempt + 1);
            });
      });
}

}  // namespace

kj::Promise<Result<kj::Own<FileWriter>>> OpenWriter(DfsClient::Impl& client, std::string path, PutOptions options) {
  return TryOpen(kj::addRef(client), std::move(path), options, std::to_string(RandomId()), 0);
}

}  // namespace mr::dfs
