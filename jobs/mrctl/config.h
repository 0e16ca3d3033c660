// Sources of settings, by precedence: flag > environment > ./mr.toml > $XDG_CONFIG_HOME/mr/config.toml >
// /etc/mr/config.toml > default.
//
// A context is a name for several settings: [contexts.NAME] in any of the files. Naming one (MR_CONTEXT, or `context`
// in a file) gives its settings the precedence of that place, just below the place's own settings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

// The value in force of a setting.
struct ShownSetting {
  std::string key, value, origin;  // value: empty if it is not set and has no default
};

// The settings that the verbs use.
struct Settings {
  std::string master = kDefaultMaster;
  std::string queue;       // empty: the master's default
  std::string token_file;  // empty: that of the cluster, among the user's (credentials.h)
  OutputForm form = OutputForm::kTable;
  bool quiet = false, verbose = false, color = true, progress = true;
  std::optional<Duration> timeout;
  int status_fd = -1;                   // descriptor for --status-fd (status_fd.h); -1: none
  uint64_t keep_runs = 0;               // local runs that are remembered
  std::string runs_directory;           // of these (local_runs.h); empty: there is no home directory
  std::string context, context_origin;  // empty: no context
  std::vector<ShownSetting> shown;      // all of them, for `mrctl config view`
  std::vector<std::string> files;       // files that were read, the strongest first
};

// The environment and files, replaceable so that tests need neither.
struct ConfigSources {
  // Returns the value of an environment variable, if it is set and not empty.
  std::function<std::optional<std::string>(const char* name)> env;
  // Returns the text of a file, or nothing if there is no such file.
  std::function<Result<std::optional<std::string>>(const std::string& path)> file;
};
ConfigSources RealSources();

// Errors: kInvalidArgument with the place of the error; unknown keys of a file are errors.
Result<Settings> ResolveSettings(const GlobalOptions& flags, const ConfigSources& sources);

}  // namespace mr::ctl
