// Splits the words behind `submit` into those that are mrctl's and those that are the job's.
//
// The rule, which users see in `mrctl submit --help`:
//   before JOB        every word is mrctl's;
//   JOB               the first word that is no option and no option's value;
//   after JOB         an option that the job claims is the job's; one that submit knows is mrctl's;
//                     all else (unknown options, arguments) is the job's, in its order;
//   after "--"        everything is the job's.
// Pure: what mrctl knows and what a job claims come as functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mr::ctl {

enum class OptionKind { kUnknown, kFlag, kValue };

// name: with its dashes, without "=value".
using OptionLookup = std::function<OptionKind(std::string_view name)>;
// Whether `job` takes an option of this name for itself.
using ClaimLookup = std::function<bool(std::string_view job, std::string_view name)>;

struct SplitArgv {
  std::vector<std::string> ours;  // options with their values; JOB and the job's words taken out
  std::string job;                // empty: there is none
  std::vector<std::string> job_args;
  bool job_help = false;  // --help or -h behind JOB
};

SplitArgv SplitSubmitArgv(const std::vector<std::string>& argv, const OptionLookup& known, const ClaimLookup& claims);

// What the built-in jobs claim of names that mrctl has too.
bool BuiltinClaims(std::string_view job, std::string_view name);

}  // namespace mr::ctl
