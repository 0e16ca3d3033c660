#include "worker/daemon/inputs.h"

#include <fcntl.h>

#include <algorithm>

#include "dfs/client/dfs_client.h"
#include "worker/daemon/output.h"

namespace mr::worker {
namespace {

Result<SplitInput> OpenLocal(SplitInput input, const std::string& uri) {
  MR_ASSIGN_OR_RETURN(const std::string path, LocalPath(uri));
  MR_ASSIGN_OR_RETURN(input.fd, OpenFile(path, O_RDONLY));
  MR_ASSIGN_OR_RETURN(input.fd_length, FileSize(path));
  if (input.fd_length < input.offset + input.length) {
    return Corrupted(uri + " has become shorter since the job was planned: submit the job again");
  }
  return input;
}

Result<std::string> ReadAt(int fd, uint64_t offset, uint64_t length) {
  std::string bytes(length, '\0');
  MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(fd, bytes.data(), bytes.size(), offset));
  bytes.resize(n);
  return bytes;
}

dfs::LocatedBlock Located(const SplitBlock& block) {
  dfs::LocatedBlock out;
  out.block.id = block.block.id;
  out.block.generation = block.block.generation;
  out.block.length = block.block.length;
  out.block.digest = block.block.digest;
  out.offset = block.offset;
  out.addresses = block.addresses;
  out.damaged = block.damaged;
  return out;
}

const SplitBlock* BlockAt(const Split& split, uint64_t offset) {
  for (const SplitBlock& block : split.blocks) {
    if (block.offset <= offset && offset < block.offset + block.block.length) return &block;
  }
  return nullptr;
}

bool IsDfs(const std::string& uri) { return uri.starts_with("dfs://"); }

Status Unreached() { return Unavailable("the block store's namespace cannot be reached"); }

}  // namespace

InputOpener::InputOpener(PostToPool post, DfsGiver dfs, std::string temp_directory)
    : post_(std::move(post)), dfs_(std::move(dfs)), temp_directory_(std::move(temp_directory)) {}

kj::Promise<Result<std::vector<SplitInput>>> InputOpener::Open(std::shared_ptr<const StageInfo> stage,
                                                               std::vector<Split> splits) {
  auto all = kj::heapArrayBuilder<kj::Promise<Result<SplitInput>>>(splits.size());
  for (const Split& split : splits) {
    SplitInput input;
    input.input = split.input;
    input.name = split.uri;
    input.offset = split.offset;
    input.length = split.length;
    input.file_bytes = split.file_bytes;
    if (split.input >= stage->inputs.size() || stage->inputs[split.input].is_edge) {
      return Result<std::vector<SplitInput>>(InvalidArgument("a split of an input that is not files"));
    }
    input.format = stage->inputs[split.input].format;
    input.sample_bytes = stage->inputs[split.input].sample_bytes;
    all.add(OpenOne(std::move(input), split));
  }
  return kj::joinPromises(all.finish()).then([](kj::Array<Result<SplitInput>> opened) -> Result<std::vector<SplitInput>> {
    std::vector<SplitInput> inputs;
    for (auto& input : opened) {
      if (!input.ok()) return input.status();
      inputs.push_back(*std::move(input));
    }
    return inputs;
  });
}

kj::Promise<Result<SplitInput>> InputOpener::OpenOne(SplitInput input, const Split& split) {
  if (IsDfs(split.uri)) {
    return dfs_().then([this, input = std::move(input),
                        split](dfs::DfsClient* dfs) mutable -> kj::Promise<Result<SplitInput>> {
      if (dfs == nullptr) return Result<SplitInput>(Unreached());
      return OpenBlock(*dfs, std::move(input), split);
    });
  }
  auto shared = std::make_shared<SplitInput>(std::move(input));
  return OnPool(post_, [shared, uri = split.uri] { return OpenLocal(std::move(*shared), uri); });
}

kj::Promise<Result<SplitInput>> InputOpener::OpenBlock(dfs::DfsClient& dfs, SplitInput input, const Split& split) {
  const SplitBlock* block = BlockAt(split, split.offset);
  if (block == nullptr) {
    if (split.length > 0) return Result<SplitInput>(Internal(split.uri + ": a split without its block"));
    // An empty file has no block; the child still wants a descriptor.
    auto fd = OpenUnnamed(temp_directory_);
    if (!fd.ok()) return Result<SplitInput>(fd.status());
    input.fd = *std::move(fd);
    input.fd_offset = input.offset;
    return Result<SplitInput>(std::move(input));
  }
  const uint64_t begin = split.offset - block->offset;
  const uint64_t end = std::min(block->block.length, begin + split.length);
  return dfs.ReadBlock(Located(*block), begin, end, temp_directory_)
      .then([input = std::move(input), at = block->offset](
                Result<dfs::DfsClient::BlockBytes> bytes) mutable -> Result<SplitInput> {
        if (!bytes.ok()) return bytes.status().With("reading " + input.name);
        input.fd = std::move(bytes->fd);
        input.fd_offset = at + bytes->base;
        // A local replica is all there, but only so much of it has been checked.
        input.fd_length = bytes->verified_end - bytes->base;
        return std::move(input);
      });
}

kj::Promise<Result<std::string>> InputOpener::ReadMore(const Split& split, uint64_t offset, uint64_t length) {
  const uint64_t end = std::min(split.file_bytes, offset + length);
  if (offset >= end) return Result<std::string>(std::string());
  if (IsDfs(split.uri)) return ReadBlocks(split, offset, end, "");
  return OnPool(post_, [uri = split.uri, offset, end]() -> Result<std::string> {
    MR_ASSIGN_OR_RETURN(const std::string path, LocalPath(uri));
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
    return ReadAt(fd.get(), offset, end - offset);
  });
}

kj::Promise<Result<std::string>> InputOpener::ReadBlocks(Split split, uint64_t offset, uint64_t end, std::string sofar) {
  return dfs_().then([this, split = std::move(split), offset, end, sofar = std::move(sofar)](
                         dfs::DfsClient* dfs) mutable -> kj::Promise<Result<std::string>> {
    if (dfs == nullptr) return Result<std::string>(Unreached());
    return ReadBlocksOf(*dfs, std::move(split), offset, end, std::move(sofar));
  });
}

kj::Promise<Result<std::string>> InputOpener::ReadBlocksOf(dfs::DfsClient& dfs, Split split, uint64_t offset,
                                                           uint64_t end, std::string sofar) {
  const SplitBlock* block = BlockAt(split, offset);
  if (block == nullptr) {
    // Behind the blocks that came with the split, which happens for records longer than a block.
    auto text = kj::heap<std::string>();
    auto sink = dfs::StringSink(text.get());
    return dfs.Get(split.uri.substr(split.uri.find("//") + 2), kj::mv(sink), offset, end - offset)
        .then([text = kj::mv(text), sofar = std::move(sofar)](Status s) mutable -> Result<std::string> {
          if (!s.ok()) return s;
          return std::move(sofar) + *text;
        });
  }
  const uint64_t begin = offset - block->offset;
  const uint64_t stop = std::min(block->block.length, end - block->offset);
  const uint64_t next = block->offset + stop;
  return dfs.ReadBlock(Located(*block), begin, stop, temp_directory_)
      .then([this, begin, stop](Result<dfs::DfsClient::BlockBytes> bytes) -> kj::Promise<Result<std::string>> {
        if (!bytes.ok()) return Result<std::string>(bytes.status());
        return OnPool(post_, [bytes = std::make_shared<dfs::DfsClient::BlockBytes>(*std::move(bytes)), begin, stop] {
          return ReadAt(bytes->fd.get(), begin - bytes->base, stop - begin);
        });
      })
      .then([this, split = std::move(split), next, end, sofar = std::move(sofar)](
                Result<std::string> bytes) mutable -> kj::Promise<Result<std::string>> {
        if (!bytes.ok()) return bytes;
        sofar += *bytes;
        if (next >= end) return Result<std::string>(std::move(sofar));
        return ReadBlocks(std::move(split), next, end, std::move(sofar));
      });
}

}  // namespace mr::worker
