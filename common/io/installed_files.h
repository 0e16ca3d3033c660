// Where files of this release are, from the directory of its programs.
#pragma once

#include <string>

#include "common/io/files.h"

namespace mr {

// Returns the library of built-in jobs that belongs to the programs in this directory: beside it in lib, as builds have
// it, or in lib/paceline, as installations have it. Where there is none, returns the first of these.
inline std::string BuiltinLibraryOf(const std::string& programs) {
  const std::string built = programs + "/../lib/libpaceline_jobs.so";
  const std::string installed = programs + "/../lib/paceline/libpaceline_jobs.so";
  return !PathExists(built) && PathExists(installed) ? installed : built;
}

}  // namespace mr
