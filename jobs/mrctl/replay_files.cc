#include "jobs/mrctl/replay_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "common/abi/batch.h"
#include "common/base/file_format.h"
#include "common/io/sha256.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/side_files.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/uri.h"

namespace mr::ctl {
namespace {

// Fetches one split. Of a compressed file it fetches everything, since bytes before the split may be needed. Of other
// files it fetches the first bytes, which show the compression, and the split, at their offsets in a sparse file.
Result<ReplayFile> FetchSplit(dfs::BlockingDfs& store, const std::string& path, const SplitToRead& split,
                              const std::string& to) {
  const uint64_t head_bytes = std::min<uint64_t>(4, split.file_bytes);
  std::string head;
  if (head_bytes > 0) {
    MR_ASSIGN_OR_RETURN(head, store.GetBytes(path, 0, head_bytes, split.version.id));
  }
  const bool whole = CompressionOfName(path) != Compression::kNone || head.starts_with("\x1f\x8b") ||
                     head.starts_with("\x28\xb5\x2f\xfd") || (head.size() == 4 && head.substr(1) == "\x2a\x4d\x18");
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(to, O_WRONLY | O_CREAT | O_EXCL, 0600));
  const uint64_t begin = whole ? 0 : split.offset;
  const uint64_t end =
      whole ? split.file_bytes : std::min(split.offset + split.length + kMaxRecordBytes, split.file_bytes);
  MR_RETURN_IF_ERROR(WriteAll(fd.get(), head));
  if (lseek(fd.get(), static_cast<off_t>(begin), SEEK_SET) < 0) return ErrnoStatus(errno, "cannot write " + to);
  if (end > begin) MR_RETURN_IF_ERROR(store.GetToFd(path, fd.get(), begin, end - begin, split.version.id));
  return ReplayFile{to, 0, end};
}

}  // namespace

Status ReplayDirectory::Make() {
  const char* tmp = getenv("TMPDIR");
  path_ = std::string(tmp == nullptr || *tmp == '\0' ? "/tmp" : tmp) + "/mrctl-replay.XXXXXX";
  if (mkdtemp(path_.data()) != nullptr) return {};
  const int error = errno;
  return ErrnoStatus(error, "cannot make a directory " + std::exchange(path_, ""));
}

Status LinkSideFiles(const ReplayTask& task, const std::vector<std::string>& words, const std::string& directory) {
  MR_ASSIGN_OR_RETURN(std::vector<SideFile> files, ParseSideFiles(words, std::filesystem::current_path().string()));
  MR_RETURN_IF_ERROR(DigestSideFiles(&files));
  if (task.stage.files.empty()) {
    if (!files.empty()) return InvalidArgument("the attempt's job has no side files: omit --files");
    return {};
  }
  MR_RETURN_IF_ERROR(MakeDirectories(directory));
  for (const auto& wanted : task.stage.files) {
    const auto named = [&](const SideFile& file) { return file.name == wanted.name; };
    const auto given = std::find_if(files.begin(), files.end(), named);
    if (given == files.end()) {
      return WithHint(InvalidArgument("the attempt's job has a side file '" + wanted.name + "'"),
                      "give its path: --files PATH#" + wanted.name);
    }
    if (given->sha256 != wanted.sha256) {
      return InvalidArgument("--files " + given->path + " differs from the attempt's side file '" + wanted.name +
                             "': its SHA-256 begins with " + given->sha256.substr(0, 12) + ", the job's with " +
                             wanted.sha256.substr(0, 12));
    }
    if (symlink(given->path.c_str(), (directory + "/" + wanted.name).c_str()) != 0) {
      return ErrnoStatus(errno, "cannot link side file " + wanted.name);
    }
  }
  return {};
}

Result<std::string> LibraryOf(const ReplayTask& task, const std::string& given) {
  if (task.stage.library.empty()) {
    if (!given.empty()) {  // it may be that of other stages of the job
      PrintErr("mrctl: the attempt ran an operator of the built-in library: --lib is not used for it\n");
    }
    return BuiltinLibrary();
  }
  const std::string shown = task.stage.library.substr(0, 12);
  if (given.empty()) {
    return WithHint(InvalidArgument("the attempt ran an operator of the job's own library (SHA-256 " + shown + "...)"),
                    "give its path: --lib FILE.so");
  }
  auto sha256 = Sha256File(given);
  if (!sha256.ok()) return sha256.status().With("--lib");
  if (*sha256 != task.stage.library) {
    PrintErr("mrctl: --lib " + given + " is another build than the attempt ran (SHA-256 " + sha256->substr(0, 12) +
             "..., the job's is " + shown + "...): the result shows what this build does with the attempt's input\n");
  }
  return given;
}

Result<std::vector<ReplayFile>> SplitFetcher::Fetch(const ReplayTask& task, const std::string& directory) {
  std::vector<ReplayFile> files;
  for (const SplitToRead& split : task.launch.splits) {
    if (IsUrl(split.uri)) {
      return WithHint(InvalidArgument("input " + split.uri + " is a URL, which a replay does not fetch"),
                      "download the file, submit the job with it, and replay an attempt of that run");
    }
    const std::string path = UriPath(split.uri);
    if (!IsDfsUri(split.uri)) {
      auto size = FileSize(path);
      if (!size.ok())
        return WithHint(size.status().With("input"),
                        "a replay reads file:// inputs on this machine: run it on the host that has them");
      if (*size != split.file_bytes) {
        return WithHint(
            Rejected("input " + path + " has " + std::to_string(*size) + " bytes here, but had " +
                     std::to_string(split.file_bytes) + " when the job ran"),
            "a replay needs the bytes of that time: restore that version of the file, or submit the job again and "
            "replay an attempt of that run");
      }
      files.push_back({path, 0, *size});
      continue;
    }
    if (store_ == nullptr) {
      MR_ASSIGN_OR_RETURN(store_, source_.Store());
    }
    MR_ASSIGN_OR_RETURN(ReplayFile file,
                        FetchSplit(*store_, path, split, directory + "/split" + std::to_string(files.size())));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace mr::ctl
