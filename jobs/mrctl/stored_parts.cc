#include "jobs/mrctl/stored_parts.h"

#include <algorithm>

#include "jobs/mrctl/part_headers.h"
#include "jobs/mrctl/stdout_reader.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns the text of _SUCCESS, or "" without one.
std::string SuccessText(dfs::BlockingDfs& store, const std::string& directory) {
  constexpr uint64_t kMostBytes = 1u << 20;  // the master writes 32 KiB at most
  const auto info = store.Stat((directory == "/" ? "" : directory) + "/_SUCCESS");
  if (!info.ok() || info->is_directory || info->bytes == 0 || info->bytes > kMostBytes) return "";
  auto text = store.GetBytes(info->path);
  return text.ok() ? *std::move(text) : "";
}

constexpr uint64_t kPrintBytes = 8u << 20;  // read size

// Longest waits for the removal of a directory: usually, and after an interrupt or --timeout.
constexpr Duration kRemoval = Seconds(60);
constexpr Duration kHastyRemoval = Millis(500);

}  // namespace

Result<std::vector<StoredPart>> PartsIn(dfs::BlockingDfs& store, const std::string& directory) {
  MR_ASSIGN_OR_RETURN(auto entries, store.List(directory));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  PartHeaders headers(SuccessText(store, directory));
  std::vector<StoredPart> parts;
  for (const auto& entry : entries) {
    const std::string name = NameIn(entry.path);
    if (entry.is_directory || name.starts_with('_') || name.starts_with('.')) continue;
    const auto head = [&](uint64_t bytes) -> Result<std::string> {
      if (entry.bytes == 0) return std::string();
      return store.GetBytes(entry.path, 0, std::min(bytes, entry.bytes));
    };
    MR_ASSIGN_OR_RETURN(const uint64_t begin, headers.BytesToSkip(name, head));
    parts.push_back({entry.path, begin, entry.bytes});
  }
  return parts;
}

Status CopyPart(dfs::BlockingDfs& store, const StoredPart& part, int fd) {
  return part.begin > 0 && part.begin >= part.bytes ? Status::Ok() : store.GetToFd(part.path, fd, part.begin);
}

Status PrintStoredParts(Client& client, const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto store, client.Store());
  const Status printed = [&]() -> Status {
    MR_ASSIGN_OR_RETURN(const auto parts, PartsIn(*store, directory));
    bool reader_left = false;
    for (const StoredPart& part : parts) {
      for (uint64_t at = part.begin; at < part.bytes; at += kPrintBytes) {
        MR_ASSIGN_OR_RETURN(const std::string piece,
                            store->GetBytes(part.path, at, std::min(kPrintBytes, part.bytes - at)));
        const Status written = PrintPiece(piece, &reader_left);
        if (reader_left) return Status::Ok();
        MR_RETURN_IF_ERROR(written);
      }
    }
    return Status::Ok();
  }();
  const Status removed = store->RemoveWithin(directory, true, CheckGoingOn().ok() ? kRemoval : kHastyRemoval);
  return printed.ok() ? removed.With("cannot remove " + directory) : printed;
}

Status StoreFailure(Client& client, const Status& status, StoreUse use) {
  if (status.code() != Code::kUnavailable || !client.Info().ok()) return status;
  return {use == StoreUse::kReads ? Code::kInternal : Code::kRejected, status.message()};
}

}  // namespace mr::ctl
