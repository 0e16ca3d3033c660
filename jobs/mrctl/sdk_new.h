// `mrctl sdk new NAME`: creates the project of an operator library from one of the SDK's templates.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

struct ProjectFile {
  std::string name, content;
};

// One kind of project, by the name that --template takes.
struct ProjectTemplate {
  std::string name;
  std::vector<ProjectFile> files;
};

inline constexpr char kDefaultTemplate[] = "map";

// Returns the templates of jobs/sdk/templates at the time of the build. The default is the first.
const std::vector<ProjectTemplate>& ProjectTemplates();

// Checks the name of a project, which its library, job and files also get. Errors: kInvalidArgument with the rules.
Status CheckProjectName(const std::string& name);

// Returns the files of the template under that name. sdk: directory of PacelineConfig.cmake, for the project; may be
// empty. Errors: kInvalidArgument if there is no such template.
Result<std::vector<ProjectFile>> ProjectFiles(const std::string& name, const std::string& sdk,
                                              const std::string& template_name = kDefaultTemplate);

// Writes the files, and makes the directory if it is missing. Errors: kRejected if it is not empty or no directory.
Status WriteProject(const std::string& directory, const std::vector<ProjectFile>& files);

// Returns the directory of the SDK that belongs to this mrctl, installed or in the build tree; "" if there is none.
std::string FindSdk();

}  // namespace mr::ctl
