// The part of submit that needs neither a master nor child processes.
#pragma once

#include <string>

#include "common/base/status.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/job_spec.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

// The result of checking the options, before anything is started.
struct SubmitPlan {
  SubmitOptions options;
  SpecOptions spec;          // without library_sha256
  std::string library;       // path
  bool own_library = false;  // --lib
  bool stdin_input = false;  // one input is "-": spec.inputs has its index
  size_t stdin_index = 0;
  Status refused;          // of a dry run: the reason why submit would be refused, as far as it is known here
  bool to_stdout = false;  // the result is printed; the caller sets spec.output_uri
};

// Checks options that stand alone or exclude each other, and makes paths absolute. Errors: kInvalidArgument; kNotFound
// (local inputs); kRejected (the local output exists, and it is no dry run).
Result<SubmitPlan> PrepareSubmit(SubmitOptions options, const Settings& settings, const std::string& cwd);

}  // namespace mr::ctl
