#include "jobs/mrctl/fs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "common/base/text.h"
#include "common/io/files.h"
#include "common/rpc/kj_thread.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/uri.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

namespace stdfs = std::filesystem;

// Steps in which head and tail look for line ends.
constexpr uint64_t kLookBytes = 64u << 10;

constexpr char kReplaceHint[] = "say --overwrite to replace it";

bool Hidden(const std::string& name) { return name.empty() || name[0] == '_' || name[0] == '.'; }
std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string Join(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

Result<std::string> StorePath(const std::string& word) {
  MR_ASSIGN_OR_RETURN(const std::string uri, ResolveUri(word, BarePath::kBlockStore, "/"));
  if (!IsDfsUri(uri)) return InvalidArgument(word + " is a local file: mrctl fs works on the block store");
  return UriPath(uri);
}

// Of a path that is to be made or moved. Removing stays possible: what a crash has left is in an operator's way.
Status CheckNotStaging(const std::string& path) {
  if (!dfs::IsStaging(path)) return Status::Ok();
  return WithHint(Rejected(path + ": /.staging belongs to running jobs, which remove it"), "choose another directory");
}

FileRow RowOf(const dfs::FileInfo& info) {
  FileRow row;
  row.path = info.path;
  row.directory = info.is_directory;
  row.bytes = info.bytes;
  row.block_bytes = info.block_bytes;
  row.modified_unix_ms = info.modified_unix_ms;
  row.replication = info.replication;
  row.blocks = info.blocks;
  row.missing_blocks = info.missing_blocks;
  row.least_replicas = info.least_replicas;
  return row;
}

// One `mrctl fs` command on one connection.
class FsCommand {
 public:
  FsCommand(const Command& command, const Settings& settings, dfs::BlockingDfs& store)
      : command_(command), settings_(settings), store_(store) {
    put_.overwrite = command.force;
    put_.replication = static_cast<uint32_t>(std::max(0, command.replication));
  }

  Status Run() {
    const std::string& sub = command_.sub;
    if (sub == "put") return Put();
    if (sub == "get") return Get();
    if (sub == "getmerge") return GetMerge();
    if (sub == "mv") return Move();
    std::vector<FileRow> rows;
    for (const std::string& word : command_.args) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(word));
      MR_RETURN_IF_ERROR(sub == "ls"      ? List(path, &rows)
                         : sub == "stat"  ? Stat(path, &rows)
                         : sub == "du"    ? DiskUse(path, &rows)
                         : sub == "cat"   ? Cat(path)
                         : sub == "head"  ? Head(path)
                         : sub == "tail"  ? Tail(path)
                         : sub == "mkdir" ? Mkdir(path)
                                          : Remove(path));
    }
    if (sub == "du" && settings_.form == OutputForm::kTable) {
      for (const FileRow& row : rows) Print(std::to_string(row.bytes) + "  " + row.path + "\n");
    } else if (sub == "ls" || sub == "stat" || sub == "du") {
      Print(RenderFiles(rows, settings_.form));
    }
    return Status::Ok();
  }

 private:
  Status List(const std::string& path, std::vector<FileRow>* rows) {
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(path));
    for (const auto& entry : entries) rows->push_back(RowOf(entry));
    return Status::Ok();
  }

  Status Stat(const std::string& path, std::vector<FileRow>* rows) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    rows->push_back(RowOf(info));
    return Status::Ok();
  }

  Result<uint64_t> BytesBelow(const std::string& path) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    if (!info.is_directory) return info.bytes;
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(path));
    uint64_t sum = 0;
    for (const auto& entry : entries) {
      MR_ASSIGN_OR_RETURN(const uint64_t below, entry.is_directory ? BytesBelow(entry.path) : Result<uint64_t>(entry.bytes));
      sum += below;
    }
    return sum;
  }

  Status DiskUse(const std::string& path, std::vector<FileRow>* rows) {
    MR_RETURN_IF_ERROR(Stat(path, rows));
    MR_ASSIGN_OR_RETURN(rows->back().bytes, BytesBelow(path));
    return Status::Ok();
  }

  Status Cat(const std::string& path) {
    std::fflush(stdout);
    return store_.GetToFd(path, 1);
  }

  Status Head(const std::string& path) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    uint64_t lines = 0;
    for (uint64_t offset = 0; offset < info.bytes && lines < command_.lines; offset += kLookBytes) {
      MR_ASSIGN_OR_RETURN(std::string piece, store_.GetBytes(path, offset, std::min(kLookBytes, info.bytes - offset)));
      size_t end = 0;
      while (lines < command_.lines && end < piece.size()) {
        const size_t newline = piece.find('\n', end);
        if (newline == std::string::npos) {
          end = piece.size();
        } else {
          end = newline + 1;
          ++lines;
        }
      }
      Print(piece.substr(0, end));
    }
    return Status::Ok();
  }

  Status Tail(const std::string& path) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    std::string text;
    uint64_t begin = info.bytes;
    while (begin > 0) {
      const uint64_t step = std::min(kLookBytes, begin);
      begin -= step;
      MR_ASSIGN_OR_RETURN(const std::string piece, store_.GetBytes(path, begin, step));
      text.insert(0, piece);
      // One line end more than lines: the one before the first of them.
      if (static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) > command_.lines) break;
    }
    size_t at = text.size();
    if (at > 0 && text[at - 1] == '\n') --at;
    for (uint64_t i = 0; i < command_.lines && at != std::string::npos; ++i) {
      at = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    }
    Print(at == std::string::npos ? text : text.substr(at + 1));
    return Status::Ok();
  }

  Status Mkdir(const std::string& path) {
    MR_RETURN_IF_ERROR(CheckNotStaging(path));
    if (!command_.parents && store_.Stat(path).ok()) {
      return WithHint(Rejected(path + " exists"), "-p takes an existing directory as it is");
    }
    return store_.Mkdir(path);
  }

  Status Remove(const std::string& path) {
    const Status removed = store_.Remove(path, command_.recursive);
    if (removed.code() == Code::kNotFound && command_.force) return Status::Ok();
    if (removed.code() == Code::kRejected && !command_.recursive) return WithHint(removed, "-r removes a directory with all below it");
    return removed;
  }

  Status Move() {
    if (command_.args.size() != 2) return InvalidArgument("fs mv takes FROM and TO");
    MR_ASSIGN_OR_RETURN(const std::string from, StorePath(command_.args[0]));
    MR_ASSIGN_OR_RETURN(std::string to, StorePath(command_.args[1]));
    if (auto info = store_.Stat(to); info.ok() && info->is_directory) to = Join(to, BaseName(from));
    MR_RETURN_IF_ERROR(CheckNotStaging(from));
    MR_RETURN_IF_ERROR(CheckNotStaging(to));
    return store_.Rename(from, to);
  }

  Status Put() {
    if (command_.args.size() < 2) return InvalidArgument("fs put takes LOCAL... and PATH");
    if (!command_.block_size.empty()) {
      auto bytes = ParseSize(command_.block_size);
      if (!bytes.ok()) return bytes.status().With("--block-size");
      put_.block_bytes = *bytes;
    }
    MR_ASSIGN_OR_RETURN(const std::string target, StorePath(command_.args.back()));
    const auto info = store_.Stat(target);
    const bool into = command_.args.size() > 2 || command_.args.back().back() == '/' || (info.ok() && info->is_directory);
    for (size_t i = 0; i + 1 < command_.args.size(); ++i) {
      const std::string& source = command_.args[i];
      if (source == "-") {
        if (into) return InvalidArgument("standard input needs the name of a file to become");
        MR_RETURN_IF_ERROR(CheckNotStaging(target));
        MR_RETURN_IF_ERROR(store_.PutFd(target, put_, 0).status());
        continue;
      }
      if (!PathExists(source)) return NotFound("local file " + source + " does not exist");
      const std::string name = stdfs::path(source).lexically_normal().filename().string();
      MR_RETURN_IF_ERROR(PutTree(source, into ? Join(target, name.empty() ? BaseName(stdfs::canonical(source).string()) : name) : target));
    }
    return Status::Ok();
  }

  Status PutTree(const std::string& source, const std::string& target) {
    MR_RETURN_IF_ERROR(CheckNotStaging(target));
    if (stdfs::is_directory(source)) {
      MR_RETURN_IF_ERROR(store_.Mkdir(target));
      MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(source));
      for (const std::string& name : names) MR_RETURN_IF_ERROR(PutTree(source + "/" + name, Join(target, name)));
      return Status::Ok();
    }
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(source, O_RDONLY));
    auto written = store_.PutFd(target, put_, file.get());
    if (!written.ok() && written.status().code() == Code::kRejected && !command_.force) return WithHint(written.status(), kReplaceHint);
    return written.status();
  }

  Status Get() {
    if (command_.args.size() < 2) return InvalidArgument("fs get takes PATH... and LOCAL");
    const std::string& target = command_.args.back();
    const bool into = target != "-" && (command_.args.size() > 2 || stdfs::is_directory(target));
    for (size_t i = 0; i + 1 < command_.args.size(); ++i) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(command_.args[i]));
      if (target == "-") {
        MR_RETURN_IF_ERROR(Cat(path));
      } else {
        MR_RETURN_IF_ERROR(GetTree(path, into ? target + "/" + BaseName(path) : target));
      }
    }
    return Status::Ok();
  }

  Status GetTree(const std::string& path, const std::string& target) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    if (!info.is_directory) return GetFiles({path}, target);
    MR_RETURN_IF_ERROR(MakeDirectories(target));
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(path));
    for (const auto& entry : entries) MR_RETURN_IF_ERROR(GetTree(entry.path, target + "/" + BaseName(entry.path)));
    return Status::Ok();
  }

  // One local file from the bytes of all paths. Nobody sees it before it is whole.
  Status GetFiles(const std::vector<std::string>& paths, const std::string& target) {
    if (!command_.force && PathExists(target)) return WithHint(Rejected("local file " + target + " exists"), kReplaceHint);
    const size_t slash = target.rfind('/');
    const std::string hidden = (slash == std::string::npos ? "" : target.substr(0, slash + 1)) + "." + BaseName(target) +
                               ".mrctl-" + std::to_string(getpid());
    Status status = [&]() -> Status {
      MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(hidden, O_WRONLY | O_CREAT | O_TRUNC));
      for (const std::string& path : paths) MR_RETURN_IF_ERROR(store_.GetToFd(path, file.get()));
      if (rename(hidden.c_str(), target.c_str()) != 0) return ErrnoStatus(errno, "cannot rename to " + target);
      return Status::Ok();
    }();
    if (!status.ok()) unlink(hidden.c_str());
    return status;
  }

  Status GetMerge() {
    if (command_.args.size() != 2) return InvalidArgument("fs getmerge takes DIRECTORY and LOCAL");
    MR_ASSIGN_OR_RETURN(const std::string directory, StorePath(command_.args[0]));
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(directory));
    std::vector<std::string> paths;
    for (const auto& entry : entries) {
      if (!entry.is_directory && !Hidden(BaseName(entry.path))) paths.push_back(entry.path);
    }
    std::sort(paths.begin(), paths.end());
    if (command_.args[1] != "-") return GetFiles(paths, command_.args[1]);
    for (const std::string& path : paths) MR_RETURN_IF_ERROR(Cat(path));
    return Status::Ok();
  }

  const Command& command_;
  const Settings& settings_;
  dfs::BlockingDfs& store_;
  dfs::PutOptions put_;
};

}  // namespace

Result<int> RunFs(const Command& command, const Settings& settings) {
  // First the client of jobs: it says best why there is no master.
  Client client(settings.master);
  MR_RETURN_IF_ERROR(client.WaitConnected());
  MR_ASSIGN_OR_RETURN(const auto store, dfs::BlockingDfs::Connect(client.loop(), settings.master));
  MR_RETURN_IF_ERROR(FsCommand(command, settings, *store).Run());
  return kExitOk;
}

Status PrintStoredParts(Client& client, const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto store, dfs::BlockingDfs::Connect(client.loop(), client.address()));
  MR_ASSIGN_OR_RETURN(auto entries, store->List(directory));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  for (const auto& entry : entries) {
    if (!entry.is_directory && !Hidden(BaseName(entry.path))) MR_RETURN_IF_ERROR(store->GetToFd(entry.path, 1));
  }
  return store->Remove(directory, true);
}

}  // namespace mr::ctl
