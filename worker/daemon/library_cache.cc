#include "worker/daemon/library_cache.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>

#include "common/io/files.h"
#include "common/io/sha256.h"

namespace mr::worker {
namespace {

bool IsSha256(const std::string& text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Status CheckDigest(const std::string& path, const std::string& sha256) {
  MR_ASSIGN_OR_RETURN(const std::string found, Sha256File(path));
  if (found != sha256)
    return Corrupted("the file " + sha256.substr(0, 12) + " does not match its name, which is its SHA-256");
  return Status::Ok();
}

Status WritePiece(const std::string& path, uint64_t offset, const std::string& bytes) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT | (offset == 0 ? O_TRUNC : 0), 0755));
  return PwriteAll(fd.get(), bytes, offset);
}

Status CheckAndRename(const std::string& from, const std::string& to, const std::string& sha256) {
  MR_RETURN_IF_ERROR(CheckDigest(from, sha256));
  if (::rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, "cannot rename " + from);
  return Status::Ok();
}

}  // namespace

LibraryCache::LibraryCache(rpc::KjThread& loop, PostToPool post, std::string builtin_path, std::string directory,
                           Ask ask)
    : loop_(loop),
      post_(std::move(post)),
      builtin_path_(std::move(builtin_path)),
      directory_(std::move(directory)),
      ask_(std::move(ask)) {}

kj::Promise<Result<std::string>> LibraryCache::Path(const std::string& sha256) {
  if (sha256.empty()) return Result<std::string>(builtin_path_);
  if (!IsSha256(sha256))
    return Result<std::string>(InvalidArgument("'" + sha256 + "' is not the SHA-256 of a library"));
  if (checked_.contains(sha256)) return Result<std::string>(directory_ + "/" + sha256 + ".so");
  auto it = under_way_.find(sha256);
  if (it == under_way_.end()) {
    auto done = Provide(sha256).then([this, sha256](Result<std::string> path) {
      if (path.ok()) checked_.insert(sha256);
      // Later callers start a new transfer. Present callers hold this promise.
      loop_.Post([this, sha256] { under_way_.erase(sha256); });
      return path;
    });
    it = under_way_.emplace(sha256, done.fork()).first;
  }
  return it->second.addBranch();
}

kj::Promise<void> LibraryCache::Remove(const std::string& sha256, std::function<void()> remove) {
  if (under_way_.contains(sha256) || removing_.contains(sha256)) return kj::READY_NOW;
  checked_.erase(sha256);
  const auto forget = [this, sha256] { loop_.Post([this, sha256] { removing_.erase(sha256); }); };
  auto done = OnPool(post_, [remove = std::move(remove)] {
                remove();
                return true;
              }).then([forget](bool) { forget(); }, [forget](kj::Exception&&) { forget(); });
  return removing_.emplace(sha256, done.fork()).first->second.addBranch();
}

kj::Promise<void> LibraryCache::Removed(const std::string& sha256) {
  const auto it = removing_.find(sha256);
  return it == removing_.end() ? kj::Promise<void>(kj::READY_NOW) : it->second.addBranch();
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): KJ counts the references of a fork
}

kj::Promise<Result<std::string>> LibraryCache::Provide(const std::string& sha256) {
  const std::string path = directory_ + "/" + sha256 + ".so";
  return Removed(sha256)
      .then([this, path, sha256] { return OnPool(post_, [path, sha256] { return CheckDigest(path, sha256); }); })
      .then([this, path, sha256](Status here) -> kj::Promise<Status> {
        if (here.ok()) return here;
        return Transfer(sha256, path + ".part", 0).then([this, path, sha256](Status s) -> kj::Promise<Status> {
          if (!s.ok()) return s;
          return OnPool(post_, [path, sha256] { return CheckAndRename(path + ".part", path, sha256); });
        });
      })
      .then([path, sha256](Status s) -> Result<std::string> {
        if (!s.ok())
          return s.With("cannot get operator library or side file " + sha256.substr(0, 12) + " from the master");
        return path;
      });
}

kj::Promise<Status> LibraryCache::Transfer(const std::string& sha256, const std::string& to, uint64_t offset) {
  return ask_(sha256, offset).then([this, sha256, to, offset](Result<Piece> piece) -> kj::Promise<Status> {
    if (!piece.ok()) return piece.status();
    const uint64_t end = offset + piece->bytes.size();
    if ((piece->bytes.empty() && piece->total_bytes != 0) || end > piece->total_bytes) {
      return Status(Corrupted("the master's file ends at byte " + std::to_string(offset)));
    }
    const bool last = end == piece->total_bytes;
    return OnPool(post_, [to, offset, bytes = std::move(piece->bytes)] { return WritePiece(to, offset, bytes); })
        .then([this, sha256, to, end, last](Status s) -> kj::Promise<Status> {
          if (!s.ok() || last) return s;
          return Transfer(sha256, to, end);
        });
  });
}

}  // namespace mr::worker
