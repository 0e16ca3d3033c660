#include "jobs/mrctl/sdk_new.h"

#include <fcntl.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/tools.h"

namespace mr::ctl {
namespace {

constexpr size_t kMostNameBytes = 40;
// Names reserved by CMake, and the SDK's own names.
constexpr const char* kTaken[] = {
    "all",     "clean",          "depend",   "edit_cache",   "help",          "install", "list_install_components",
    "package", "package_source", "paceline", "paceline_sdk", "rebuild_cache", "test",    "mr"};

void ReplaceAll(const std::string& what, const std::string& with, std::string* text) {
  for (size_t at = text->find(what); at != std::string::npos; at = text->find(what, at + with.size())) {
    text->replace(at, what.size(), with);
  }
}

// Returns WordStats for word_stats.
std::string ClassName(const std::string& name) {
  std::string out;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

}  // namespace

Status CheckProjectName(const std::string& name) {
  const auto refused = [&](const std::string& why) {
    return WithHint(InvalidArgument("'" + name + "' cannot be a project's name: " + why),
                    "it names the library, the job and the files; for example: mrctl sdk new word_stats");
  };
  if (name.empty() || name.size() > kMostNameBytes)
    return refused("it must have 1 to " + std::to_string(kMostNameBytes) + " characters");
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; });
  if (!plain || !std::islower(static_cast<unsigned char>(name[0]))) {
    return refused("it must consist of lower-case letters, digits and '_', and begin with a letter");
  }
  if (name.back() == '_' || name.find("__") != std::string::npos)
    return refused("each '_' must be between two other characters");
  if (std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken))
    return refused("CMake or the SDK uses that name");
  return {};
}

Result<std::vector<ProjectFile>> ProjectFiles(const std::string& name, const std::string& sdk,
                                              const std::string& template_name) {
  const auto& templates = ProjectTemplates();
  const auto found = std::find_if(templates.begin(), templates.end(),
                                  [&](const ProjectTemplate& known) { return known.name == template_name; });
  if (found == templates.end()) {
    std::string names;
    for (const ProjectTemplate& known : templates) names += (names.empty() ? "" : ", ") + known.name;
    return WithHint(InvalidArgument("there is no project template '" + template_name + "'"), "templates: " + names);
  }
  std::vector<ProjectFile> files = found->files;
  for (ProjectFile& file : files) {
    for (std::string* text : {&file.name, &file.content}) {
      ReplaceAll("visits", name, text);
      ReplaceAll("Visits", ClassName(name), text);
    }
    if (!sdk.empty() && file.name == "CMakeLists.txt") {
      ReplaceAll("find_package(Paceline 0.2 REQUIRED)", "find_package(Paceline 0.2 REQUIRED HINTS \"" + sdk + "\")",
                 &file.content);
    }
  }
  return files;
}

Status WriteProject(const std::string& directory, const std::vector<ProjectFile>& files) {
  std::error_code error;
  if (std::filesystem::exists(directory, error)) {
    auto names = ListDirectory(directory);
    if (!names.ok() || !names->empty()) {
      return WithHint(Rejected(directory + " exists" +
                               (names.ok() ? " and is not empty" : " and is no directory that can be read")),
                      "name another directory: mrctl sdk new NAME DIRECTORY");
    }
  }
  MR_RETURN_IF_ERROR(MakeDirectories(directory));
  for (const ProjectFile& file : files) {
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(directory + "/" + file.name, O_WRONLY | O_CREAT | O_EXCL, 0644));
    MR_RETURN_IF_ERROR(WriteAll(fd.get(), file.content));
  }
  return {};
}

std::string FindSdk() {
  for (const char* place : {"/../lib/cmake/Paceline", "/../jobs/sdk"}) {
    std::error_code error;
    const std::filesystem::path found = std::filesystem::canonical(BinaryDirectory() + place, error);
    if (!error && PathExists(found.string() + "/PacelineConfig.cmake")) return found.string();
  }
  return {};
}

}  // namespace mr::ctl
