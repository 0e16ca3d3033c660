#include "jobs/mrctl/side_files.h"

#include <filesystem>

#include "common/base/text.h"
#include "common/io/files.h"
#include "common/io/sha256.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

constexpr size_t kMaxNameBytes = 200;

bool UsableName(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.size() > kMaxNameBytes) return false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || byte < 0x20 || byte == 0x7f) return false;
  }
  return true;
}

Result<SideFile> ParseOne(const std::string& word, const std::string& cwd) {
  const auto absolute = [&cwd](std::string path) {
    constexpr std::string_view kScheme = "file://";
    if (path.starts_with(kScheme)) path.erase(0, kScheme.size());
    return path.starts_with('/') ? path : cwd + "/" + path;
  };
  SideFile file{absolute(word), "", 0, ""};
  const size_t hash = word.rfind('#');
  if (hash != std::string::npos && !PathExists(file.path)) {
    file.path = absolute(word.substr(0, hash));
    file.name = word.substr(hash + 1);
  } else {
    file.name = std::filesystem::path(file.path).filename().string();
  }
  if (word.starts_with("dfs://")) {
    return WithHint(InvalidArgument("--files " + word + ": a side file must be on this machine"),
                    "copy it here first: mrctl fs get PATH .");
  }
  std::error_code error;
  const auto status = std::filesystem::status(file.path, error);
  if (!std::filesystem::exists(status)) return NotFound("--files: " + file.path + " does not exist");
  if (!std::filesystem::is_regular_file(status)) {
    return WithHint(InvalidArgument("--files: " + file.path + " is no regular file"),
                    "give its files one by one, or pack them into an archive");
  }
  if (!UsableName(file.name)) {
    return WithHint(InvalidArgument("--files " + word + ": '" + file.name + "' is no name of a file"),
                    "write --files PATH#NAME, with a NAME without '/'");
  }
  MR_ASSIGN_OR_RETURN(file.bytes, FileSize(file.path));
  if (file.bytes > kMaxSideFileBytes) {
    return WithHint(
        InvalidArgument("--files: " + file.path + " has " + std::to_string(file.bytes) + " bytes, the limit is " +
                        std::to_string(kMaxSideFileBytes) + " (" + HumanBytes(kMaxSideFileBytes) + ")"),
        "put it into the block store and read it as an input of the job (a broadcast reaches every task)");
  }
  return file;
}

}  // namespace

Result<std::vector<SideFile>> ParseSideFiles(const std::vector<std::string>& words, const std::string& cwd) {
  if (words.size() > kMaxSideFiles) {
    return InvalidArgument("--files is given " + std::to_string(words.size()) + " times, the limit is " +
                           std::to_string(kMaxSideFiles) + "; pack them into an archive");
  }
  std::vector<SideFile> files;
  for (const std::string& word : words) {
    MR_ASSIGN_OR_RETURN(SideFile file, ParseOne(word, cwd));
    for (const SideFile& other : files) {
      if (other.name != file.name) continue;
      return WithHint(
          InvalidArgument("--files: " + other.path + " and " + file.path + " have the same name '" + file.name + "'"),
          "rename one of them: --files PATH#NAME");
    }
    files.push_back(std::move(file));
  }
  return files;
}

Status DigestSideFiles(std::vector<SideFile>* files) {
  for (SideFile& file : *files) {
    MR_ASSIGN_OR_RETURN(file.sha256, Sha256File(file.path));
  }
  return Status::Ok();
}

}  // namespace mr::ctl
