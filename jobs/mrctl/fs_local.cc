#include "jobs/mrctl/fs_local.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "common/base/file_format.h"
#include "common/base/text.h"
#include "common/io/files.h"
#include "common/io/input_files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/fs_failure.h"
#include "jobs/mrctl/fs_glob.h"
#include "jobs/mrctl/fs_text.h"
#include "jobs/mrctl/local_parts.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/stdout_reader.h"
#include "jobs/mrctl/uri.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

constexpr size_t kLocalPiece = 1u << 20;

Result<FileRow> LocalRow(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound("local file " + path + " does not exist");
    return ErrnoStatus(errno, "cannot look at " + path);
  }
  FileRow row;
  row.path = path;
  row.directory = S_ISDIR(info.st_mode);
  row.bytes = row.directory ? 0 : static_cast<uint64_t>(info.st_size);
  row.modified_unix_ms =
      static_cast<uint64_t>(info.st_mtim.tv_sec) * 1000 + static_cast<uint64_t>(info.st_mtim.tv_nsec) / 1'000'000;
  return row;
}

// One command. Prints at once for people, and collects for a document.
class LocalFs {
 public:
  LocalFs(const Command& command, const Settings& settings) : command_(command), settings_(settings) {}

  Status Run() {
    if (command_.sub == "getmerge") return GetMerge();
    std::vector<FileRow> rows;
    for (const std::string& word : command_.args) {
      MR_ASSIGN_OR_RETURN(const auto paths, PathsOf(word));
      for (const std::string& path : paths) {
        MR_RETURN_IF_ERROR(command_.sub == "ls" ? List(path, &rows) : Show(path));
        if (reader_left_) return Status::Ok();
      }
    }
    if (command_.sub == "ls")
      Print(RenderFiles(rows, settings_.form));
    else if (settings_.form != OutputForm::kTable)
      Print(JsonContents(contents_, settings_.form));
    return Status::Ok();
  }

 private:
  // Returns the path of a word, or the files of a pattern.
  Result<std::vector<std::string>> PathsOf(const std::string& word) const {
    MR_ASSIGN_OR_RETURN(const std::string uri, ResolveUri(word, BarePath::kLocalFile, "/"));
    const std::string path = UriPath(uri);
    if (!IsPattern(path) || PathExists(path)) return std::vector<std::string>{path};
    MR_ASSIGN_OR_RETURN(const auto files, ExpandFileUri(uri, FileRoots::Any()));
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const InputFile& file : files) paths.push_back(UriPath(file.uri));
    return paths;
  }

  Status List(const std::string& path, std::vector<FileRow>* rows) const {
    MR_ASSIGN_OR_RETURN(const FileRow row, LocalRow(path));
    if (!row.directory) {
      rows->push_back(row);
      return Status::Ok();
    }
    MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(path));
    for (const std::string& name : names) {
      auto entry = LocalRow((path == "/" ? "" : path) + "/" + name);
      if (entry.ok()) rows->push_back(*std::move(entry));  // else it was removed, or is a link to nothing
    }
    return Status::Ok();
  }

  Status Show(const std::string& path) {
    MR_ASSIGN_OR_RETURN(const auto parts, PartsOf(path));
    for (const LocalPartFile& part : parts) {
      MR_RETURN_IF_ERROR(ShowPart(part));
      if (reader_left_) break;
    }
    return Status::Ok();
  }

  // Returns the parts of a directory, or the file.
  static Result<std::vector<LocalPartFile>> PartsOf(const std::string& path) {
    MR_ASSIGN_OR_RETURN(const FileRow row, LocalRow(path));
    if (!row.directory) {
      if (!IsRegularFile(path)) return InvalidArgument(path + " is neither a file nor a directory");
      return std::vector<LocalPartFile>{{path, 0}};
    }
    MR_ASSIGN_OR_RETURN(auto parts, LocalPartsIn(path));
    if (parts.empty()) {
      return WithHint(InvalidArgument(path + " is a directory without files"),
                      "mrctl fs ls file://" + path + " lists what is in it");
    }
    return parts;
  }

  Status ShowPart(const LocalPartFile& part) {
    const Compression stored = command_.sub == "text" ? CompressionOfName(part.path) : Compression::kNone;
    const bool people = settings_.form == OutputForm::kTable;
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(part.path, O_RDONLY));
    std::string text;
    const Status done = WriteDecompressed(
        part.path, stored,
        [&](uint64_t offset) -> Result<std::string> {
          std::string piece(kLocalPiece, '\0');
          MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(file.get(), piece.data(), piece.size(), part.begin + offset));
          piece.resize(n);
          return piece;
        },
        [&](std::string_view bytes) -> Status {
          if (people) {
            return PrintPiece(bytes, &reader_left_);
          }
          text += bytes;
          if (text.size() <= kMostTextInJson) return Status::Ok();
          return WithHint(Rejected(part.path + " has more than " + HumanBytes(kMostTextInJson) +
                                   ", the most that a JSON document takes"),
                          "without -o json, fs " + command_.sub + " prints it");
        });
    if (reader_left_) return Status::Ok();  // a reader that has read enough, such as head
    MR_RETURN_IF_ERROR(done);
    if (!people) contents_.push_back({part.path, std::move(text)});
    return Status::Ok();
  }

  Status GetMerge() {
    MR_ASSIGN_OR_RETURN(const auto paths, PathsOf(command_.args[0]));
    std::vector<LocalPartFile> parts;
    std::vector<std::string> names;
    for (const std::string& path : paths) {
      MR_ASSIGN_OR_RETURN(const auto more, PartsOf(path));
      parts.insert(parts.end(), more.begin(), more.end());
      for (const LocalPartFile& part : more) names.push_back(part.path);
    }
    MR_ASSIGN_OR_RETURN(const Compression compression, CompressionOfParts(names));
    if (command_.args[1] == "-") return ShowMerged(paths);
    const Status written = WriteWholeFile(command_.args[1], command_.force, [&parts](int fd) {
      for (const LocalPartFile& part : parts) MR_RETURN_IF_ERROR(CopyLocalPart(part, fd));
      return Status::Ok();
    });
    MR_RETURN_IF_ERROR(GivenUpWrite(written, command_.args[1]));
    const std::string note = MergedNote(compression, command_.args[1], command_.args[0]);
    if (!note.empty()) Say(settings_, note);
    PrintDone({{command_.args[0], command_.sub, command_.args[1], ""}}, settings_);
    return Status::Ok();
  }

  Status ShowMerged(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      MR_RETURN_IF_ERROR(Show(path));
      if (reader_left_) return Status::Ok();
    }
    if (settings_.form != OutputForm::kTable) Print(JsonContents(contents_, settings_.form));
    return Status::Ok();
  }

  const Command& command_;
  const Settings& settings_;
  bool reader_left_ = false;
  std::vector<FileText> contents_;
};

}  // namespace

bool IsLocalFs(const Command& command) {
  const std::string& sub = command.sub;
  const auto local = [](const std::string& word) { return IsFileUri(word); };
  if (sub == "getmerge") return command.args.size() == 2 && local(command.args[0]);
  if (sub != "ls" && sub != "cat" && sub != "text") return false;
  return !command.args.empty() && std::all_of(command.args.begin(), command.args.end(), local);
}

Result<int> RunLocalFs(const Command& command, const Settings& settings) {
  MR_RETURN_IF_ERROR(LocalFs(command, settings).Run());
  return kExitOk;
}

}  // namespace mr::ctl
