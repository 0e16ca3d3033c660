// Splits the words after `submit` into those of mrctl and those of the job.
//
// The rule, as shown by `mrctl submit --help`:
//   before JOB        every word is mrctl's;
//   JOB               the first word that is neither an option nor an option's value;
//   after JOB         an option that the job claims is the job's; one that submit knows is mrctl's;
//                     all else (unknown options, arguments) is the job's, in order. Letters that are
//                     written together are mrctl's up to the first one of the job;
//   after "--"        everything is the job's.
// Pure: functions return which options mrctl and the job have.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mr::ctl {

enum class OptionKind { kUnknown, kFlag, kValue };

// name: with dashes, without "=value".
using OptionLookup = std::function<OptionKind(std::string_view name)>;
// Returns whether `job` claims an option of this name.
using ClaimLookup = std::function<bool(std::string_view job, std::string_view name)>;

struct SplitArgv {
  std::vector<std::string> ours;  // options with their values, without JOB and the job's words
  std::string job;                // empty: no job
  std::vector<std::string> job_args;
  bool job_help = false;  // --help or -h after JOB
};

SplitArgv SplitSubmitArgv(const std::vector<std::string>& argv, const OptionLookup& known, const ClaimLookup& claims);

// Returns whether a built-in job claims the name of one of mrctl's options.
bool BuiltinClaims(std::string_view job, std::string_view name);

// Returns whether the value of an option in this word is the next word: for --name and -o, and for letters that are
// written together, such as -qo; not where the value is attached, as in --name=value, -ojson and -qojson.
bool ValueFollows(std::string_view word, const OptionLookup& known);

// Returns the words as a shell reads them: quoted where they need it.
std::string ShellWords(const std::vector<std::string>& words);

}  // namespace mr::ctl
