// mrctl task replay: mrtask runs an attempt that reads files again on this machine, with the same library and inputs.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "common/abi/batch.h"
#include "common/base/file_format.h"
#include "common/io/files.h"
#include "common/io/sha256.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/side_files.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/uri.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// A private directory that is removed with the object.
class ReplayDirectory {
 public:
  Status Make() {
    const char* tmp = getenv("TMPDIR");
    path_ = std::string(tmp == nullptr || *tmp == '\0' ? "/tmp" : tmp) + "/mrctl-replay.XXXXXX";
    if (mkdtemp(path_.data()) != nullptr) return {};
    const int error = errno;
    return ErrnoStatus(error, "cannot make a directory " + std::exchange(path_, ""));
  }
  ~ReplayDirectory() {
    if (!path_.empty()) (void)RemoveTree(path_);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Status Replayable(const std::string& word, const ReplayTask& task) {
  const StageSpec& stage = task.stage.spec;
  const auto edges =
      std::count_if(stage.inputs.begin(), stage.inputs.end(), [](const InputSpec& input) { return input.is_edge; });
  if (edges != 0) {
    return WithHint(Rejected(word + " cannot be replayed: " + std::to_string(edges) + " of the " +
                             std::to_string(stage.inputs.size()) + " inputs of stage '" + stage.name + "' " +
                             (edges == 1 ? "is" : "are") + " what other tasks wrote, and " +
                             "their workers keep that for readers within the job only"),
                    "replay an attempt of a stage that reads only files (mrctl job stages), or test the operator with "
                    "paceline/testing.h");
  }
  return {};
}

// Links the job's side files under their names into `directory`, checked by their digests. Makes the directory only if
// the job has side files.
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

// Returns the library for the replay: the built-in one, or the given one. Another build than the attempt ran is
// reported and taken, since it tries a repaired operator.
Result<std::string> LibraryOf(const ReplayTask& task, const std::string& given) {
  if (task.stage.library.empty()) {
    if (!given.empty()) return InvalidArgument("the attempt ran an operator of the built-in library: omit --lib");
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

// Fetches each split into a file on this machine, with the bytes after its end that complete its last record.
Result<std::vector<ReplayFile>> Fetch(Client& client, const ReplayTask& task, const ReplayDirectory& directory) {
  std::vector<ReplayFile> files;
  std::unique_ptr<dfs::BlockingDfs> store;
  for (const SplitToRead& split : task.launch.splits) {
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
    if (store == nullptr) {
      MR_ASSIGN_OR_RETURN(store, client.Store());
    }
    MR_ASSIGN_OR_RETURN(ReplayFile file,
                        FetchSplit(*store, path, split, directory / ("split" + std::to_string(files.size()))));
    files.push_back(std::move(file));
  }
  return files;
}

// Runs mrtask in the foreground on this terminal, alone or under gdb. Returns its exit code, or 128 + a signal.
Result<int> RunHere(const std::vector<std::string>& argv, const std::string& out) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  UniqueFd to;
  if (!out.empty()) {
    MR_ASSIGN_OR_RETURN(to, OpenFile(out, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  }
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "cannot start " + argv[0]);
  if (pid == 0) {
    for (const int s : {SIGINT, SIGTERM, SIGPIPE}) signal(s, SIG_DFL);
    if (to.get() >= 0) dup2(to.get(), 1);
    execvp(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<int> RunReplay(const Command& command, const Settings& settings) {
  const std::string& word = command.args[0];
  MR_RETURN_IF_ERROR(NotOfLocalRun(word, "the attempt", settings.runs_directory));
  const auto id = ParseAttemptId(word);
  if (!id.has_value()) {
    return WithHint(InvalidArgument("'" + word + "' is no attempt id"), "mrctl job attempts JOB lists them");
  }
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const ReplayTask task, client.Launched(*id));
  MR_RETURN_IF_ERROR(Replayable(word, task));
  MR_ASSIGN_OR_RETURN(const std::string library, LibraryOf(task, command.replay_lib));
  ReplayDirectory directory;
  MR_RETURN_IF_ERROR(directory.Make());
  const std::string side_files = task.stage.files.empty() ? "" : directory / "files";
  MR_RETURN_IF_ERROR(LinkSideFiles(task, command.replay_files, side_files));
  MR_ASSIGN_OR_RETURN(const auto files, Fetch(client, task, directory));
  const std::string document = directory / "task.json", answer = directory / "result.json";
  {
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(document, O_WRONLY | O_CREAT | O_EXCL, 0600));
    MR_RETURN_IF_ERROR(WriteAll(fd.get(), ReplayDocument(word, task, library, files, side_files, directory.path())));
  }
  const std::string mrtask = BinaryDirectory() + "/mrtask";
  if (command.gdb) {
    MR_ASSIGN_OR_RETURN(const int exit, RunHere({"gdb", "--args", mrtask, "replay", document}, ""));
    if (exit == 127) return WithHint(InvalidArgument("there is no gdb in $PATH"), "install it, or omit --gdb");
    return exit == 0 ? kExitOk : kExitJobFailed;
  }
  MR_ASSIGN_OR_RETURN(const int exit, RunHere({mrtask, "replay", document, "watched"}, answer));
  ReplayResult result;
  if (exit != 0 && exit != 1) return Internal("mrtask replay exited with " + std::to_string(exit));
  {
    MR_ASSIGN_OR_RETURN(const std::string json, ReadFile(answer));
    MR_ASSIGN_OR_RETURN(result, ParseReplay(json));
  }
  Print(RenderReplay(word, task, result, settings.form));
  return result.done ? kExitOk : kExitJobFailed;
}

}  // namespace mr::ctl
