// Where settings come from: flag > environment > ./mr.toml > $XDG_CONFIG_HOME/mr/config.toml >
// /etc/mr/config.toml > default.
//
// A context is a name for several settings: [contexts.NAME] in any of the files. What names one (MR_CONTEXT, or
// `context` in a file) gives its settings the rank of the place where it is named, behind what that place says itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

// A setting as it is in force.
struct ShownSetting {
  std::string key, value, origin;  // value: empty where none is set and there is no default
};

// What the verbs go by.
struct Settings {
  std::string master = kDefaultMaster;
  std::string queue;  // empty: the master's default
  OutputForm form = OutputForm::kTable;
  bool quiet = false, verbose = false, color = true, progress = true;
  std::optional<Duration> timeout;
  std::string context, context_origin;  // empty: none is named
  std::vector<ShownSetting> shown;      // all of them, for `mrctl config view`
  std::vector<std::string> files;       // that were read, the strongest first
};

// The outside world as Resolve sees it, so that tests need no environment and no files.
struct ConfigSources {
  // Value of an environment variable, if set and not empty.
  std::function<std::optional<std::string>(const char* name)> env;
  // Text of a file, or nothing where there is none.
  std::function<Result<std::optional<std::string>>(const std::string& path)> file;
};
ConfigSources RealSources();

// kInvalidArgument names the place of what is wrong; an unknown key of a file is wrong.
Result<Settings> ResolveSettings(const GlobalOptions& flags, const ConfigSources& sources);

}  // namespace mr::ctl
