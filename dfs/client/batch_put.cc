#include "dfs/client/batch_put.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/io/clock.h"

namespace mr::dfs {
namespace {

class BatchPut {
 public:
  BatchPut(DfsClient::Impl& client, Batch batch, const PutOptions& options,
           std::function<void(size_t, const Status&)> ended)
      : client_(kj::addRef(client)), options_(options), ended_(std::move(ended)) {
    for (BatchedFile& file : batch) files_.push_back({std::move(file), 0, {}, {}});
  }

  // Files that are left, when the promise is dropped, are given up.
  ~BatchPut() {
    for (const File& file : files_) Abandon(file.lease);
  }

  kj::Promise<void> Run() {
    if (files_.empty()) return kj::READY_NOW;
    return Create().then([this] { return SendAll(); }).then([this] { return Complete(); });
  }

 private:
  struct File {
    BatchedFile batched;
    uint64_t lease = 0;
    LocatedBlock located;           // without addresses: the file has no block
    std::vector<WorkerId> durable;  // that have the block on disk
  };

  kj::Promise<void> Create() {
    auto request = client_->files.createFilesRequest();
    auto paths = request.initPaths(static_cast<uint>(files_.size()));
    for (uint i = 0; i < paths.size(); ++i) paths.set(i, files_[i].batched.target.c_str());
    request.setOverwrite(options_.overwrite);
    request.setReplication(options_.replication);
    request.setBlockBytes(options_.block_bytes);
    request.setRequestId(std::to_string(RandomId()).c_str());
    request.setNear(client_->options.own_address.c_str());
    return request.send().then(
        [this](auto response) {
          const auto files = response.getFiles();
          for (uint i = 0; i < files.size() && i < files_.size(); ++i) {
            File& file = files_[i];
            const Status status = rpc::FromOutcome(files[i].getOutcome());
            file.lease = files[i].getLease();
            if (status.ok()) {
              file.located = FromWire(files[i].getBlock());
            } else if (file.lease == 0 && status.code() != Code::kUnavailable) {
              ended_(file.batched.at, status);
            }
          }
        },
        // The master may be of an earlier release, which has no such call. If it is gone, the files fail by themselves.
        [](kj::Exception&&) {});
  }

  // Sends the blocks. Those with the same workers go through one pipeline, whichever of the workers is its first.
  kj::Promise<void> SendAll() {
    std::map<std::vector<std::string>, std::vector<size_t>> pipelines;
    for (size_t i = 0; i < files_.size(); ++i) {
      auto addresses = files_[i].located.addresses;
      if (addresses.empty()) continue;
      std::sort(addresses.begin(), addresses.end());
      pipelines[std::move(addresses)].push_back(i);
    }
    auto sent = kj::heapArrayBuilder<kj::Promise<void>>(pipelines.size());
    for (auto& [workers, members] : pipelines) sent.add(Send(std::move(members)));
    return kj::joinPromises(sent.finish());
  }

  kj::Promise<void> Send(std::vector<size_t> members) {
    const std::vector<std::string> addresses = files_[members.front()].located.addresses;
    const auto blocks = std::make_shared<std::vector<SmallBlock>>();
    for (const size_t i : members) {
      File& file = files_[i];
      BlockRef& block = file.located.block;
      block.length = file.batched.bytes.size();
      block.digest = file.batched.digest;
      SmallBlock small{block, std::move(file.batched.bytes), file.batched.crc32c, {}};
      const auto& own = file.located.addresses;
      for (const std::string& address : addresses) {
        const auto at = static_cast<size_t>(std::find(own.begin(), own.end(), address) - own.begin());
        if (at < file.located.grants.size()) small.grants.push_back(file.located.grants[at]);
      }
      blocks->push_back(std::move(small));
    }
    return SendBlocks(client_->peers, blocks, addresses)
        .then([this, members = std::move(members)](Result<std::vector<StoredBlock>> stored) {
          if (!stored.ok()) return;
          for (size_t n = 0; n < members.size(); ++n) files_[members[n]].durable = std::move((*stored)[n].durable);
        });
  }

  // Completes the files whose blocks are on enough workers, and gives up the others.
  kj::Promise<void> Complete() {
    std::vector<File*> filled;
    for (File& file : files_) {
      const size_t need = std::min<size_t>(2, file.located.addresses.size());
      if (need > 0 && file.durable.size() >= need) {
        filled.push_back(&file);
      } else {
        Abandon(std::exchange(file.lease, 0));
      }
    }
    if (filled.empty()) return kj::READY_NOW;
    auto request = client_->files.completeFilesRequest();
    auto list = request.initFiles(static_cast<uint>(filled.size()));
    for (uint i = 0; i < list.size(); ++i) {
      list[i].setLease(filled[i]->lease);
      ToWire(StagedBlock{filled[i]->located.block, filled[i]->durable}, list[i].initBlock());
    }
    return request.send().then(
        [this, filled](auto response) {
          const auto outcomes = response.getOutcomes();
          for (uint i = 0; i < filled.size(); ++i) {
            const Status status = i < outcomes.size() ? rpc::FromOutcome(outcomes[i]) : Unavailable("no outcome");
            const uint64_t lease = std::exchange(filled[i]->lease, 0);
            if (status.ok()) {
              ended_(filled[i]->batched.at, status);
            } else {
              Abandon(lease);
            }
          }
        },
        // The files may be complete. The master knows it, but the connection is gone.
        [this, filled](kj::Exception&& e) {
          for (File* file : filled) {
            file->lease = 0;
            ended_(file->batched.at,
                   rpc::FromException(e).With("cannot write " + file->batched.target + ": the master"));
          }
        });
  }

  void Abandon(uint64_t lease) {
    if (lease == 0) return;
    auto request = client_->files.abandonRequest();
    request.setLease(lease);
    // If the request is lost, the lease expires.
    request.send().ignoreResult().detach([](kj::Exception&&) {});
  }

  kj::Own<DfsClient::Impl> client_;
  const PutOptions options_;
  const std::function<void(size_t, const Status&)> ended_;
  std::vector<File> files_;
};

}  // namespace

kj::Promise<void> PutInOne(DfsClient::Impl& client, Batch batch, const PutOptions& options,
                           std::function<void(size_t, const Status&)> ended) {
  auto put = kj::heap<BatchPut>(client, std::move(batch), options, std::move(ended));
  auto& p = *put;
  return p.Run().attach(kj::mv(put));
}

}  // namespace mr::dfs
