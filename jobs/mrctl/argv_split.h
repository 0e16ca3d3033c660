// Splits the words after `submit` into those of mrctl and those of the job.
//
// The rule, as shown by `mrctl submit --help`:
//   before JOB        every word is mrctl's;
//   JOB               the first word that is neither an option nor an option's value;
//   after JOB         an option that the job claims is the job's; one that submit knows is mrctl's;
//                     all else (unknown options, arguments) is the job's, in order;
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

// Returns a word such as -iv or -k4,4nr as the separate words that the job takes: "-i -v", "-k 4,4nr". options: the
// job's names. Returns "" if the word does not begin with a short option of the job.
std::string SeparateShortOptions(std::string_view word, const std::vector<std::string>& options);

// Returns the words as a shell reads them: quoted where they need it.
std::string ShellWords(const std::vector<std::string>& words);

// Returns how the short options of a job's refusal are written, such as "-i -v" for "unknown option '-iv'; its options
// are ...". Returns "" where that does not explain the refusal.
std::string SeparateRefusedWord(const std::string& refusal);

}  // namespace mr::ctl
