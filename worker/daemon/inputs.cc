#include "worker/daemon/inputs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "dfs/client/dfs_client.h"
#include "worker/daemon/output.h"

namespace mr::worker {
namespace {

// Compares the open file with the planned version.
InputChanges ChangesOf(const LocalInput& input, const struct stat& info, bool strict) {
  InputChanges changes;
  const FileVersion now = VersionOf(info);
  FileDifference difference;
  if (input.planned.inode != 0) {
    difference = Compare(input.planned, now, input.same_view);
  } else if (now.bytes < input.planned.bytes) {
    difference = {FileChange::kChanged, "it became shorter"};
  }
  if (difference.change == FileChange::kGrew && !strict) {
    changes.grown.push_back(input.uri);
  } else if (difference.change != FileChange::kNone) {
    changes.changed = "input " + input.uri + " has changed since the job was planned: " + difference.text +
                      (difference.change == FileChange::kGrew ? ", and the job has strict inputs" : "") +
                      ". A job reads one version of its inputs: submit it again when no process writes to them";
  }
  return changes;
}

Result<std::string> ReadAt(int fd, uint64_t offset, uint64_t length) {
  std::string bytes(length, '\0');
  MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(fd, bytes.data(), bytes.size(), offset));
  bytes.resize(n);
  return bytes;
}

const LocatedBlock* BlockAt(const SplitToRead& split, uint64_t offset) {
  for (const LocatedBlock& block : split.blocks) {
    if (block.offset <= offset && offset < block.offset + block.block.length) return &block;
  }
  return nullptr;
}

bool IsDfs(const std::string& uri) { return uri.starts_with("dfs://"); }

FileVersion PlannedVersion(const SplitToRead& split) {
  return {split.file_bytes, split.version.mtime_ns, split.version.inode, split.version.device};
}

bool SameView(const SplitToRead& split) { return split.view != 0 && split.view == FileView(); }

Status Unreached() { return Unavailable("the block store's namespace cannot be reached"); }

}  // namespace

InputOpener::InputOpener(PostToPool post, DfsGiver dfs, std::string temp_directory, FileRoots roots, UrlInputs& urls)
    : post_(std::move(post)),
      dfs_(std::move(dfs)),
      temp_directory_(std::move(temp_directory)),
      roots_(std::move(roots)),
      urls_(urls) {}

void InputChanges::Add(const InputChanges& other) {
  if (changed.empty()) changed = other.changed;
  for (const std::string& uri : other.grown) {
    if (grown.size() == kMaxGrown) break;
    if (std::find(grown.begin(), grown.end(), uri) == grown.end()) grown.push_back(uri);
  }
}

kj::Promise<Result<OpenedInputs>> InputOpener::Open(const std::shared_ptr<const StageInfo>& stage,
                                                    const std::vector<SplitToRead>& splits) {
  auto all = kj::heapArrayBuilder<kj::Promise<Result<Opened>>>(splits.size());
  const auto url_failed = std::make_shared<std::atomic<bool>>(false);
  for (const SplitToRead& split : splits) {
    SplitInput input;
    input.input = split.input;
    input.name = split.uri;
    input.offset = split.offset;
    input.length = split.length;
    input.file_bytes = split.file_bytes;
    if (split.input >= stage->spec.inputs.size() || stage->spec.inputs[split.input].is_edge) {
      return Result<OpenedInputs>(InvalidArgument("a split for an input that does not read files"));
    }
    const FileInput& files = stage->spec.inputs[split.input].files;
    input.format = files.format;
    input.sample_bytes = files.sample_bytes;
    // The tasks that follow a sample read the same pages.
    if (files.sample_bytes == 0) {
      input.cached = cached_.Admit(stage->id.job, {split.uri, split.version.id, split.offset}, split.length);
    }
    all.add(OpenOne(std::move(input), split, stage->strict_inputs, url_failed));
  }
  return kj::joinPromises(all.finish()).then([](kj::Array<Result<Opened>> opened) -> Result<OpenedInputs> {
    OpenedInputs out;
    Status failed;
    for (auto& one : opened) {
      if (one.ok()) {
        out.changes.Add(one->changes);
        out.splits.push_back(std::move(one->input));
        out.local.push_back(std::move(one->local));
      } else if (failed.ok() || failed.code() == Code::kCancelled) {  // a failure of another cancels
        failed = one.status();
      }
    }
    // A changed input ends the job, whatever else failed in this attempt.
    if (out.changes.changed.empty() && !failed.ok()) return failed;
    return out;
  });
}

kj::Promise<Result<InputOpener::Opened>> InputOpener::OpenOne(SplitInput input, const SplitToRead& split, bool strict,
                                                              const std::shared_ptr<std::atomic<bool>>& url_failed) {
  if (IsDfs(split.uri)) {
    return dfs_().then(
        [this, input = std::move(input), split](dfs::DfsClient* dfs) mutable -> kj::Promise<Result<Opened>> {
          if (dfs == nullptr) return Result<Opened>(Unreached());
          return OpenBlock(*dfs, std::move(input), split).then([](Result<SplitInput> opened) -> Result<Opened> {
            if (!opened.ok()) return opened.status();
            return Opened{*std::move(opened), nullptr, {}};
          });
        });
  }
  if (url::IsUrl(split.uri)) {
    return urls_.Open(std::move(input), split, url_failed).then([](Result<UrlInputs::Opened> opened) -> Result<Opened> {
      if (!opened.ok()) return opened.status();
      return Opened{std::move(opened->input), nullptr, {std::move(opened->changed), {}}};
    });
  }
  auto shared = std::make_shared<SplitInput>(std::move(input));
  return OnPool(post_, [this, shared, split, strict] { return OpenLocal(std::move(*shared), split, strict); });
}

Result<InputOpener::Opened> InputOpener::OpenLocal(SplitInput input, const SplitToRead& split, bool strict) const {
  MR_ASSIGN_OR_RETURN(const std::string path, LocalPath(split.uri));
  MR_RETURN_IF_ERROR(roots_.Check(path));
  Opened opened;
  auto fd = OpenFile(path, O_RDONLY);
  if (!fd.ok()) {
    // If the planner saw the same file systems, the file is gone. Otherwise this worker may lack the path.
    const bool gone = fd.status().code() == Code::kNotFound && SameView(split);
    if (!gone) return fd.status().With("input " + split.uri + ", which was there when the job was planned");
    opened.changes.changed = "input " + split.uri + " is gone: it was removed or renamed since the job was planned. " +
                             "A job reads one version of its inputs: submit it again";
    return opened;
  }
  MR_RETURN_IF_ERROR(roots_.CheckOpen(fd->get(), path));
  struct stat info;
  LocalInput local{UniqueFd(fcntl(fd->get(), F_DUPFD_CLOEXEC, 0)), split.uri, PlannedVersion(split), SameView(split)};
  if (!local.fd.valid() || fstat(fd->get(), &info) != 0) return ErrnoStatus(errno, "cannot stat input " + path);
  opened.changes = ChangesOf(local, info, strict);
  input.fd_length = static_cast<uint64_t>(info.st_size);
  input.fd = *std::move(fd);
  opened.input = std::move(input);
  opened.local = std::make_shared<LocalInput>(std::move(local));
  return opened;
}

kj::Promise<InputChanges> InputOpener::Check(std::vector<LocalInputPtr> local, bool strict) {
  return OnPool(post_, [local = std::move(local), strict] {
    InputChanges all;
    for (const LocalInputPtr& input : local) {
      struct stat info;
      if (input == nullptr || fstat(input->fd.get(), &info) != 0) continue;
      all.Add(ChangesOf(*input, info, strict));
    }
    return all;
  });
}

kj::Promise<Result<SplitInput>> InputOpener::OpenBlock(dfs::DfsClient& dfs, SplitInput input,
                                                       const SplitToRead& split) {
  const LocatedBlock* block = BlockAt(split, split.offset);
  if (block == nullptr) {
    if (split.length > 0) {
      return Result<SplitInput>(NotFound("input " + split.uri + " has no block at byte " +
                                         std::to_string(split.offset) +
                                         " any more: it was removed or replaced since the job was planned"));
    }
    // An empty file has no block, but the child needs a descriptor.
    auto fd = OpenUnnamed(temp_directory_);
    if (!fd.ok()) return Result<SplitInput>(fd.status());
    input.fd = *std::move(fd);
    input.fd_offset = input.offset;
    return Result<SplitInput>(std::move(input));
  }
  const uint64_t begin = split.offset - block->offset;
  // A sample needs the beginning of its split. If its last record is longer, the child asks for the rest.
  const uint64_t wanted = input.sample_bytes == 0 ? split.length : std::min(split.length, 2 * input.sample_bytes);
  const uint64_t end = std::min(block->block.length, begin + wanted);
  return dfs.ReadBlock(*block, begin, end, dfs::DfsClient::Check::kReader, temp_directory_)
      .then([input = std::move(input),
             at = block->offset](Result<dfs::DfsClient::BlockBytes> bytes) mutable -> Result<SplitInput> {
        if (!bytes.ok()) return bytes.status().With("reading " + input.name);
        input.fd = std::move(bytes->fd);
        input.fd_offset = at + bytes->base;
        // The descriptor of a local replica has the whole block, but only this part of it can be checked.
        input.fd_length = bytes->verified_end - bytes->base;
        if (!bytes->crcs.empty()) {
          input.chunk_bytes = dfs::kChecksumChunk;
          input.crcs = std::move(bytes->crcs);
        }
        return std::move(input);
      });
}

kj::Promise<Result<std::string>> InputOpener::ReadMore(const SplitToRead& split, LocalInputPtr local, uint64_t offset,
                                                       uint64_t length) {
  const uint64_t end = std::min(split.file_bytes, offset + length);
  if (offset >= end) return Result<std::string>(std::string());
  if (IsDfs(split.uri)) return ReadBlocks(split, offset, end, "");
  if (url::IsUrl(split.uri)) return urls_.Read(split, offset, end);
  if (local == nullptr) return Result<std::string>(Internal(split.uri + " is not open"));
  return OnPool(post_,
                [local = std::move(local), offset, end] { return ReadAt(local->fd.get(), offset, end - offset); });
}

kj::Promise<Result<std::string>> InputOpener::ReadBlocks(SplitToRead split, uint64_t offset, uint64_t end,
                                                         std::string sofar) {
  return dfs_().then([this, split = std::move(split), offset, end,
                      sofar = std::move(sofar)](dfs::DfsClient* dfs) mutable -> kj::Promise<Result<std::string>> {
    if (dfs == nullptr) return Result<std::string>(Unreached());
    return ReadBlocksOf(*dfs, std::move(split), offset, end, std::move(sofar));
  });
}

kj::Promise<Result<std::string>> InputOpener::ReadBlocksOf(dfs::DfsClient& dfs, SplitToRead split, uint64_t offset,
                                                           uint64_t end, std::string sofar) {
  const LocatedBlock* block = BlockAt(split, offset);
  if (block == nullptr) {
    // The bytes are after the split's blocks: a record is longer than a block.
    auto text = kj::heap<std::string>();
    auto sink = dfs::StringSink(text.get());
    return dfs.Get(split.uri.substr(split.uri.find("//") + 2), kj::mv(sink), offset, end - offset, split.version.id)
        .then([text = kj::mv(text), sofar = std::move(sofar)](Status s) mutable -> Result<std::string> {
          if (!s.ok()) return s;
          return std::move(sofar) + *text;
        });
  }
  const uint64_t begin = offset - block->offset;
  const uint64_t stop = std::min(block->block.length, end - block->offset);
  const uint64_t next = block->offset + stop;
  return dfs.ReadBlock(*block, begin, stop, dfs::DfsClient::Check::kHere, temp_directory_)
      .then([this, begin, stop](Result<dfs::DfsClient::BlockBytes> bytes) -> kj::Promise<Result<std::string>> {
        if (!bytes.ok()) return Result<std::string>(bytes.status());
        return OnPool(post_, [bytes = std::make_shared<dfs::DfsClient::BlockBytes>(*std::move(bytes)), begin, stop] {
          return ReadAt(bytes->fd.get(), begin - bytes->base, stop - begin);
        });
      })
      .then([this, split = std::move(split), next, end,
             sofar = std::move(sofar)](Result<std::string> bytes) mutable -> kj::Promise<Result<std::string>> {
        if (!bytes.ok()) return bytes;
        sofar += *bytes;
        if (next >= end) return Result<std::string>(std::move(sofar));
        return ReadBlocks(std::move(split), next, end, std::move(sofar));
      });
}

}  // namespace mr::worker
