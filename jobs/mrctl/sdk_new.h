// `mrctl sdk new NAME`: creates the project of an operator library from the SDK's example.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

struct ProjectFile {
  std::string name, content;
};

// Returns the files of jobs/sdk/example at the time of the build.
const std::vector<ProjectFile>& ExampleFiles();

// Checks the name of a project, which its library, job and files also get. Errors: kInvalidArgument with the rules.
Status CheckProjectName(const std::string& name);

// Returns the example under that name. sdk: directory of PacelineConfig.cmake, for the project; may be empty.
std::vector<ProjectFile> ProjectFiles(const std::string& name, const std::string& sdk);

// Writes the files, and makes the directory if it is missing. Errors: kRejected if it is not empty or no directory.
Status WriteProject(const std::string& directory, const std::vector<ProjectFile>& files);

// Returns the directory of the SDK that belongs to this mrctl, installed or in the build tree; "" if there is none.
std::string FindSdk();

}  // namespace mr::ctl
