#include "jobs/mrctl/input_check.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "common/base/file_format.h"
#include "common/base/text.h"
#include "common/io/file_version.h"
#include "common/io/files.h"
#include "common/io/input_files.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/csv_stages.h"
#include "jobs/mrctl/part_headers.h"
#include "jobs/mrctl/table_check.h"
#include "jobs/mrctl/uri.h"

namespace mr::ctl {
namespace {

// For a table's header, for blank lines before the first row without one, and for the types of columns (guess).
constexpr uint64_t kHeaderBytes = 64u << 10;

bool LeftOut(const std::string& path) {
  const size_t name = path.rfind('/') + 1;
  return name == path.size() || path[name] == '_' || path[name] == '.';
}

class InputCheck {
 public:
  InputCheck(const SpecOptions& options, Client* client, std::vector<std::string>* notes)
      : options_(options), client_(client), notes_(notes) {}

  Status Run(Plan* plan) {
    for (const PlanStage& stage : plan->stages) {
      for (const PlanInput& input : stage.inputs) {
        if (input.files) MR_RETURN_IF_ERROR(CheckContainers(input));
      }
    }
    MR_RETURN_IF_ERROR(CheckHeaders(*plan));
    return CheckTables(plan);
  }

 private:
  std::vector<std::string> UrisOf(const std::vector<std::string>& own, int input) const {
    std::vector<std::string> uris;
    for (const std::string& word : own) {
      auto uri =
          ResolveInputUri(word, options_.bare_is_local ? BarePath::kLocalFile : BarePath::kBlockStore, options_.cwd);
      if (uri.ok()) uris.push_back(*std::move(uri));
    }
    if (!own.empty()) return uris;
    const auto index = static_cast<size_t>(input);
    if (input > 0 && index < options_.inputs.size()) return {options_.inputs[index]};
    return options_.inputs;
  }

  Status CheckContainers(const PlanInput& input) {
    const auto format = ParseInputFormat(FormatOf(input, options_.format));
    if (!format.ok() || format->kind == FileFormat::Kind::kRaw) return Status::Ok();
    for (const std::string& uri : UrisOf(input.uris, input.input)) {
      for (const std::string& file : FilesOf(uri)) {
        const auto head = Head(file, kContainerHeadBytes);
        if (head) MR_RETURN_IF_ERROR(CheckContainer(*head, file, *format));
      }
    }
    return Status::Ok();
  }

  // Finds outputs of table jobs whose headers this job would read as rows or as lines.
  Status CheckHeaders(const Plan& plan) {
    for (const PlanTable& table : plan.tables) {
      for (const std::string& uri : UrisOf(table.uris, -1)) {
        if (table.header || !WasWrittenWithHeader(uri)) continue;
        return InvalidArgument("each part of " + uri +
                               " begins with a header, as the _SUCCESS beside it says; omit --no-header, and give "
                               "columns by their names");
      }
    }
    for (const PlanStage& stage : plan.stages) {
      for (const PlanInput& input : stage.inputs) {
        const auto format = ParseInputFormat(FormatOf(input, options_.format));
        if (!input.files || !format.ok() || !format->text() || format->kind == FileFormat::Kind::kCsv) continue;
        for (const std::string& uri : UrisOf(input.uris, input.input)) {
          if (!WasWrittenWithHeader(uri)) continue;
          std::string note = "each part of " + uri +
                             " begins with a header, which this job reads as a line like the others; a table job "
                             "writes none with --no-output-header";
          if (std::find(notes_->begin(), notes_->end(), note) == notes_->end()) notes_->push_back(std::move(note));
        }
      }
    }
    return Status::Ok();
  }

  // Returns whether a URI names parts that a table job began with a header.
  bool WasWrittenWithHeader(const std::string& uri) {
    constexpr uint64_t kMostBytes = 64u << 20;  // local ones list up to 100,000 parts
    const auto files = FilesOf(uri);
    const auto part = std::find_if(files.begin(), files.end(), [](const std::string& file) {
      return IsMainPart(std::string_view(file).substr(file.rfind('/') + 1));
    });
    if (part == files.end()) return false;
    const std::string directory = part->substr(0, part->rfind('/'));
    const auto [known, fresh] = headers_.try_emplace(directory, false);
    if (fresh) {
      const auto success = Head(directory + "/_SUCCESS", kMostBytes);
      known->second = success && HeaderInSuccess(*success);
    }
    return known->second;
  }

  Status CheckTables(Plan* plan) {
    std::vector<TableHead> heads;
    for (const PlanTable& table : plan->tables) {
      for (const std::string& uri : UrisOf(table.uris, -1)) {
        const auto files = FilesOf(uri);
        if (files.empty()) continue;
        if (auto head = HeadOf(files.front(), table)) heads.push_back(*std::move(head));
        break;
      }
    }
    return CheckTableHeads(*plan, heads, &plan->notes);
  }

  // Returns nothing if the file cannot be read here, is compressed, or has no complete record in its first bytes.
  std::optional<TableHead> HeadOf(const std::string& file, const PlanTable& table) {
    const auto head = Head(file, kHeaderBytes);
    if (!head || CompressionOfName(file) != Compression::kNone || head->starts_with("\x1f\x8b") ||
        head->starts_with("\x28\xb5\x2f\xfd")) {
      return std::nullopt;
    }
    return ReadTableHead(file, *head, head->size() < kHeaderBytes, table);
  }

  // Returns the first files of a URI, in the order in which a job reads them.
  std::vector<std::string> FilesOf(const std::string& uri) {
    const auto known = files_.find(uri);
    if (known != files_.end()) return known->second;
    std::vector<std::string> files;
    if (IsFileUri(uri) && SeesFilesOfCluster()) {
      const auto found = ExpandFileUri(uri, FileRoots::Any());
      for (size_t i = 0; found.ok() && i < std::min(found->size(), kFilesLookedAt); ++i)
        files.push_back((*found)[i].uri);
    } else if (IsDfsUri(uri) && store() != nullptr) {
      AddStored(UriPath(uri), &files);
    }
    return files_[uri] = files;
  }

  void AddStored(const std::string& path, std::vector<std::string>* files) {
    std::vector<std::string> paths = {path};
    if (path.find_first_of("*?[") != path.npos) {
      paths.clear();
      const std::string directory = ParentOf(path);
      if (directory.find_first_of("*?[") != directory.npos) return;  // the tasks will report it
      const auto entries = store()->List(directory);
      for (size_t i = 0; entries.ok() && i < entries->size(); ++i) {
        const std::string& name = (*entries)[i].path;
        if (!LeftOut(name) && fnmatch(path.c_str(), name.c_str(), FNM_PATHNAME) == 0) paths.push_back(name);
      }
      std::sort(paths.begin(), paths.end());
    }
    for (const std::string& each : paths) AddBelow(each, files);
  }

  void AddBelow(const std::string& path, std::vector<std::string>* files) {
    if (files->size() >= kFilesLookedAt) return;
    const auto info = store()->Stat(path);
    if (!info.ok()) return;
    if (!info->is_directory) {
      sizes_[path] = info->bytes;
      return files->push_back("dfs://" + path);
    }
    auto entries = store()->List(path);
    if (!entries.ok()) return;
    std::sort(entries->begin(), entries->end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    for (const auto& entry : *entries) {
      if (!LeftOut(entry.path)) AddBelow(entry.path, files);
    }
  }

  std::optional<std::string> Head(const std::string& uri, uint64_t bytes) {
    const std::string path = UriPath(uri);
    if (IsDfsUri(uri)) {
      const auto size = SizeInStore(path);
      if (!size || *size == 0) return std::nullopt;
      auto got = store()->GetBytes(path, 0, std::min(bytes, *size));
      return got.ok() ? std::optional(*std::move(got)) : std::nullopt;
    }
    const auto fd = OpenFile(path, O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (!fd.ok() || fstat(fd->get(), &info) != 0) return std::nullopt;
    std::string head(std::min(bytes, static_cast<uint64_t>(info.st_size)), '\0');
    const auto got = PreadUpTo(fd->get(), head.data(), head.size(), 0);
    if (!got.ok()) return std::nullopt;
    head.resize(*got);
    return head;
  }

  // Returns nothing if there is no such file, or no store.
  std::optional<uint64_t> SizeInStore(const std::string& path) {
    if (const auto known = sizes_.find(path); known != sizes_.end()) return known->second;
    if (store() == nullptr) return std::nullopt;
    const auto info = store()->Stat(path);
    return info.ok() ? std::optional(info->bytes) : std::nullopt;
  }

  // Returns whether a file:// path is the same file here and for the master. Without a master the job runs here.
  bool SeesFilesOfCluster() {
    if (client_ == nullptr) return true;
    if (!same_files_) {
      const auto info = client_->Info();
      same_files_ = info.ok() && info->file_view != 0 && info->file_view == FileView();
    }
    return *same_files_;
  }

  // Returns null if there is no master, or no answer.
  dfs::BlockingDfs* store() {
    if (!connected_ && client_ != nullptr) {
      auto store = client_->Store();
      if (store.ok()) store_ = *std::move(store);
    }
    connected_ = true;
    return store_.get();
  }

  const SpecOptions& options_;
  Client* const client_;
  std::vector<std::string>* const notes_;
  std::optional<bool> same_files_;
  bool connected_ = false;
  std::unique_ptr<dfs::BlockingDfs> store_;
  std::map<std::string, std::vector<std::string>> files_;
  std::map<std::string, uint64_t> sizes_;  // by path: files of the block store that were found
  std::map<std::string, bool> headers_;    // by directory: whether its parts begin with one
};

}  // namespace

Status CheckInputs(Plan* plan, const SpecOptions& options, Client* client, std::vector<std::string>* notes) {
  return InputCheck(options, client, notes).Run(plan);
}

}  // namespace mr::ctl
