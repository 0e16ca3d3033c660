// `mrctl sdk new NAME`: a project of an operator library, made from the SDK's example.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

struct ProjectFile {
  std::string name, content;
};

// The files of jobs/sdk/example, as they were when this was built.
const std::vector<ProjectFile>& ExampleFiles();

// It names the project, its library, its job and its files. kInvalidArgument says what a name may be.
Status CheckProjectName(const std::string& name);

// The example under that name. sdk: directory of PacelineConfig.cmake, for the project to find; may be empty.
std::vector<ProjectFile> ProjectFiles(const std::string& name, const std::string& sdk);

// Makes the directory where it is missing. kRejected for one that is not empty, or is none.
Status WriteProject(const std::string& directory, const std::vector<ProjectFile>& files);

// Where the SDK that belongs to this mrctl is: installed, or in the build tree; empty: neither.
std::string FindSdk();

}  // namespace mr::ctl
