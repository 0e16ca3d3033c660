// Where settings come from: flag > environment > ./mr.toml > $XDG_CONFIG_HOME/mr/config.toml >
// /etc/mr/config.toml > default.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

// What the verbs go by.
struct Settings {
  std::string master = kDefaultMaster;
  std::string queue;  // empty: the master's default
  OutputForm form = OutputForm::kTable;
  bool quiet = false, verbose = false, color = true, progress = true;
  std::optional<Duration> timeout;
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
