#include "dfs/client/dfs_client.h"

#include <algorithm>

#include "dfs/client/core.h"
#include "dfs/meta/service.h"

namespace mr::dfs {
namespace {

// Number and pause of repeated lookups: replicas may have moved since the blocks were located.
constexpr int kLocateTries = 4;
constexpr Duration kLocatePause = Millis(300);

// Copies a source into a writer.
kj::Promise<Status> Copy(ByteSource& source, FileWriter& writer) {
  return source.Next(kPieceBytes).then([&](Result<std::string> bytes) -> kj::Promise<Status> {
    if (!bytes.ok()) return bytes.status();
    if (bytes->empty()) return Status::Ok();
    return writer.Write(*std::move(bytes)).then([&](Status status) -> kj::Promise<Status> {
      return status.ok() ? Copy(source, writer) : kj::Promise<Status>(status);
    });
  });
}

kj::Promise<Result<LocatedFile>> LocateOn(DfsClient::Impl& impl, const std::string& path, uint64_t file,
                                          uint64_t offset, uint64_t length) {
  auto request = impl.files.locateRequest();
  request.setPath(path.c_str());
  request.setFile(file);
  request.setOffset(offset);
  request.setLength(length);
  request.setNear(impl.options.own_address.c_str());
  auto call = request.send().then([](auto response) -> Result<LocatedFile> {
    const Status status = rpc::FromOutcome(response.getOutcome());
    if (!status.ok()) return status;
    LocatedFile out;
    out.info = FromWire(response.getStatus());
    for (const auto block : response.getBlocks()) out.blocks.push_back(FromWire(block));
    const auto data = response.getInlineData();
    out.inline_data.assign(reinterpret_cast<const char*>(data.begin()), data.size());
    return out;
  });
  return Guard(kj::mv(call));
}

// The state of one Get: delivers bytes from `at` to `end`, one complete block at a time.
struct Reading {
  kj::Own<DfsClient::Impl> impl;
  std::string path;
  uint64_t file;  // 0 = the file at the path
  kj::Own<ByteSink> sink;
  uint64_t at;
  uint64_t end;  // UINT64_MAX until known
  bool to_the_end;

  kj::Promise<Status> Next(int tries) {
    if (at >= end) return Status::Ok();
    return LocateOn(*impl, path, file, at, to_the_end ? 0 : end - at)
        .then([this, tries](Result<LocatedFile> file) -> kj::Promise<Status> {
          if (!file.ok()) return file.status();
          end = std::min(end, file->info.bytes);
          if (at >= end) return Status::Ok();
          if (!file->inline_data.empty()) {
            const uint64_t from = at;
            at = end;
            return sink->Write(file->inline_data.substr(from, end - from));
          }
          auto located = kj::heap<LocatedFile>(*std::move(file));
          auto& l = *located;
          return Blocks(l, 0, tries).attach(kj::mv(located));
        });
  }

  kj::Promise<Status> Blocks(const LocatedFile& file, size_t i, int tries) {
    if (at >= end) return Status::Ok();
    if (i == file.blocks.size()) return Next(0);  // more blocks than one answer has
    const LocatedBlock& block = file.blocks[i];
    const uint64_t from = at - block.offset;
    const uint64_t to = std::min(block.block.length, end - block.offset);
    return impl->ReadRange(block, from, to)
        .then([this, &file, i, tries](Result<std::string> bytes) -> kj::Promise<Status> {
          if (bytes.ok()) {
            at += bytes->size();
            return sink->Write(*std::move(bytes)).then([this, &file, i](Status status) -> kj::Promise<Status> {
              return status.ok() ? Blocks(file, i + 1, 0) : kj::Promise<Status>(status);
            });
          }
          if (tries + 1 >= kLocateTries) return bytes.status().With("cannot read " + path);
          return impl->peers.timer().afterDelay(kLocatePause.ns * kj::NANOSECONDS).then([this, tries] {
            return Next(tries + 1);
          });
        });
  }
};

template <class Request>
kj::Promise<Status> Send(Request request) {
  auto call = request.send().then([](auto response) -> Status { return rpc::FromOutcome(response.getOutcome()); });
  return Guard(kj::mv(call));
}

}  // namespace

DfsClient::DfsClient(kj::AsyncIoContext& io, rpc::FileSystem::Client files, Options options)
    : impl_(kj::refcounted<Impl>(io, kj::mv(files), std::move(options))) {}
void DfsClient::SetFiles(rpc::FileSystem::Client files) { impl_->files = kj::mv(files); }
DfsClient::~DfsClient() = default;

kj::Promise<void> DfsClient::Impl::Reconnected() {
  if (options.reconnected) return options.reconnected();
  return kj::READY_NOW;
}

kj::Promise<Result<kj::Own<FileWriter>>> DfsClient::Create(std::string path, PutOptions options) {
  return OpenWriter(*impl_, std::move(path), options).attach(kj::addRef(*impl_));
}

kj::Promise<Result<WrittenFile>> DfsClient::Put(std::string path, PutOptions options, kj::Own<ByteSource> source) {
  using Written = Result<WrittenFile>;
  return Create(std::move(path), options)
      .then([source = kj::mv(source)](Result<kj::Own<FileWriter>> opened) mutable -> kj::Promise<Written> {
        if (!opened.ok()) return Written(opened.status());
        auto writer = *std::move(opened);
        auto& w = *writer;
        auto& s = *source;
        return Copy(s, w)
            .then([&w](Status status) -> kj::Promise<Written> {
              return status.ok() ? w.Close() : kj::Promise<Written>(Written(status));
            })
            .attach(kj::mv(writer), kj::mv(source));
      });
}

kj::Promise<Status> DfsClient::Get(std::string path, kj::Own<ByteSink> sink, uint64_t offset, uint64_t length,
                                   uint64_t file) {
  const bool to_the_end = length == 0 || length > UINT64_MAX - offset;
  auto reading = kj::heap<Reading>(Reading{kj::addRef(*impl_), std::move(path), file, kj::mv(sink), offset,
                                           to_the_end ? UINT64_MAX : offset + length, to_the_end});
  auto& r = *reading;
  return r.Next(0).attach(kj::mv(reading));
}

kj::Promise<Result<DfsClient::BlockBytes>> DfsClient::ReadBlock(LocatedBlock block, uint64_t begin, uint64_t end,
                                                                Check check, const std::string& temp_directory) {
  using Got = Result<BlockBytes>;
  if (begin > end || end > block.block.length) {
    return Got(InvalidArgument("the requested range ends beyond its block"));
  }
  BlockStore* store = impl_->options.own_store;
  const auto& addresses = block.addresses;
  const bool here =
      store != nullptr && std::find(addresses.begin(), addresses.end(), impl_->options.own_address) != addresses.end();
  kj::Promise<Result<LocalBlock>> local = Result<LocalBlock>(NotFound("no replica here"));
  // One more checksum chunk costs one more check. Requesting it later costs another call of the pool.
  uint64_t verified = std::min(block.block.length, end + kChecksumChunk);
  if (check == Check::kReader) {
    // Whole chunks, since only these can be checked.
    verified = std::min(block.block.length, (verified + kChecksumChunk - 1) / kChecksumChunk * kChecksumChunk);
  }
  if (here && begin < end) {
    local = OnPool(impl_->options.pool, [store, ref = block.block, begin, verified, check] {
      return store->OpenForRead(ref.id, ref.generation, check == Check::kHere, begin, verified - begin);
    });
  }
  return local.then([impl = kj::addRef(*impl_), block = std::move(block), begin, end, verified,
                     temp_directory](Result<LocalBlock> opened) mutable -> kj::Promise<Got> {
    if (opened.ok()) return Got(BlockBytes{std::move(opened->fd), 0, verified, true, std::move(opened->crcs)});
    auto& client = *impl;
    return client.ReadRange(std::move(block), begin, end)
        .then([impl = kj::mv(impl), begin, end, temp_directory](Result<std::string> bytes) -> kj::Promise<Got> {
          if (!bytes.ok()) return Got(bytes.status());
          return OnPool(impl->options.pool, [bytes = *std::move(bytes), begin, end, temp_directory]() -> Got {
            MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenUnnamed(temp_directory));
            if (Status s = PwriteAll(fd.get(), bytes, 0); !s.ok()) {
              return s.With("cannot write the block to " + temp_directory);
            }
            return BlockBytes{std::move(fd), begin, end, false, {}};
          });
        });
  });
}

kj::Promise<Result<FileInfo>> DfsClient::Stat(const std::string& path) {
  auto request = impl_->files.statRequest();
  request.setPath(path.c_str());
  auto call = request.send().then([](auto response) -> Result<FileInfo> {
    const Status status = rpc::FromOutcome(response.getOutcome());
    if (!status.ok()) return status;
    return FromWire(response.getStatus());
  });
  return Guard(kj::mv(call));
}

namespace {

// Lists the pages after `sofar`.
kj::Promise<Result<std::vector<FileInfo>>> ListRest(rpc::FileSystem::Client files, std::string path,
                                                    std::vector<FileInfo> sofar) {
  auto request = files.listRequest();
  request.setPath(path.c_str());
  if (!sofar.empty()) request.setAfter(sofar.back().path.c_str());
  return request.send().then([files = kj::mv(files), path = std::move(path), sofar = std::move(sofar)](
                                 auto response) mutable -> kj::Promise<Result<std::vector<FileInfo>>> {
    const Status status = rpc::FromOutcome(response.getOutcome());
    if (!status.ok()) return Result<std::vector<FileInfo>>(status);
    const auto entries = response.getEntries();
    for (const auto entry : entries) sofar.push_back(FromWire(entry));
    if (!response.getMore() || entries.size() == 0) return Result<std::vector<FileInfo>>(std::move(sofar));
    return ListRest(kj::mv(files), std::move(path), std::move(sofar));
  });
}

}  // namespace

kj::Promise<Result<std::vector<FileInfo>>> DfsClient::List(std::string path) {
  return Guard(ListRest(impl_->files, std::move(path), {}));
}

kj::Promise<Result<LocatedFile>> DfsClient::Locate(const std::string& path, uint64_t offset, uint64_t length) {
  return LocateOn(*impl_, path, 0, offset, length);
}

kj::Promise<Status> DfsClient::Mkdir(const std::string& path) {
  auto request = impl_->files.mkdirRequest();
  request.setPath(path.c_str());
  return Send(kj::mv(request));
}

kj::Promise<Status> DfsClient::Remove(const std::string& path, bool recursive) {
  auto request = impl_->files.removeRequest();
  request.setPath(path.c_str());
  request.setRecursive(recursive);
  return Send(kj::mv(request));
}

kj::Promise<Status> DfsClient::Rename(const std::string& from, const std::string& to) {
  auto request = impl_->files.renameRequest();
  request.setFrom(from.c_str());
  request.setTo(to.c_str());
  return Send(kj::mv(request));
}

kj::Promise<Status> DfsClient::SetReplication(const std::string& path, uint32_t replication) {
  auto request = impl_->files.setReplicationRequest();
  request.setPath(path.c_str());
  request.setReplication(replication);
  return Send(kj::mv(request));
}

kj::Promise<Status> DfsClient::SetOwner(const std::string& path, const std::string& owner) {
  auto request = impl_->files.setOwnerRequest();
  request.setPath(path.c_str());
  request.setOwner(owner.c_str());
  return Send(kj::mv(request));
}

kj::Promise<Status> DfsClient::SetReaders(const std::string& path, bool all) {
  auto request = impl_->files.setReadersRequest();
  request.setPath(path.c_str());
  request.setAll(all);
  return Send(kj::mv(request));
}

kj::Promise<Result<StoreHealth>> DfsClient::Health(uint32_t max_files) {
  auto request = impl_->files.healthRequest();
  request.setMaxFiles(max_files);
  auto call = request.send().then([](auto response) -> Result<StoreHealth> { return FromWire(response.getHealth()); });
  return Guard(kj::mv(call));
}

std::string StagingRoot(const std::string& job) { return std::string(kStaging) + "/" + job; }

std::string StagingPath(const std::string& job, const std::string& attempt, const std::string& part) {
  return StagingRoot(job) + "/" + attempt + "/" + part;
}

}  // namespace mr::dfs
