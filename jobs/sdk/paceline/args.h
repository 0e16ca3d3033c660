// Arguments of a job, for plan functions: declare the options, then call Parse. An undeclared option is refused, with
// the nearest name as a suggestion.
//
//   int64_t top = 20;
//   Args("topwords").Add("--top", &top).Parse(args);
//
// Options of one letter may be written together, and with their value attached, as getopt reads them: -n5, -ivn,
// -k2,2n.
//
// `mrctl submit --lib FILE JOB --help` shows the declared options.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paceline/error.h"

namespace mr {

// Returns " (did you mean 'x'?)" for the candidate that the word probably means, else "": at most a third of its
// letters is wrong, or the candidate begins with it. Case and leading dashes do not count.
std::string Suggest(std::string_view word, const std::vector<std::string>& candidates);

// The options of one job. Errors of all members: JobError with the job's name and the text for the user.
class Args {
 public:
  // job: its name, for messages.
  explicit Args(std::string job) : job_(std::move(job)) {}

  // Declares an option without a value: a flag.
  Args& Add(const std::string& name, bool* set);
  // Declares an option with one value.
  Args& Add(const std::string& name, std::string* text);
  // Declares an option that may be repeated.
  Args& Add(const std::string& name, std::vector<std::string>* list);
  // Declares a whole number from `least` to `most`.
  Args& Add(const std::string& name, int64_t* number, int64_t least = 0,
            int64_t most = std::numeric_limits<int64_t>::max());
  // Declares a size: bytes, or a number with suffix k, m, g or t (KiB, MiB, GiB, TiB), such as 64m.
  Args& AddBytes(const std::string& name, int64_t* bytes, int64_t least = 0,
                 int64_t most = std::numeric_limits<int64_t>::max());
  // Declares a setting of `mrctl submit --conf NAME=VALUE`: true, false, 1 or 0.
  Args& Conf(const std::string& name, bool* set);
  // Declares a setting of `--conf NAME=VALUE` with any text.
  Args& Conf(const std::string& name, std::string* text);
  // Accepts arguments that are not options, and all after `--`. Without this call they are refused.
  Args& Rest(std::vector<std::string>* rest) {
    rest_ = rest;
    return *this;
  }

  // Parses the arguments into the declared variables.
  void Parse(const std::vector<std::string>& args) const;

  // Refuses the arguments. Errors: always JobError, with the text "JOB: why".
  [[noreturn]] void Refuse(const std::string& why) const { throw JobError(job_ + ": " + why); }

 private:
  struct Option {
    std::string name, value;  // value: its kind, for people; empty: it takes none
    std::function<void(const std::string&, const std::string&)> set;
  };

  Args& AddOption(const std::string& name, const std::string& value,
                  std::function<void(const std::string&, const std::string&)> set);

  Args& AddConf(const std::string& name, std::function<void(const std::string&, const std::string&)> set);

  void ParseConf(const std::string& pair) const;

  void ParseOption(const std::vector<std::string>& args, size_t* i) const;

  // Parses -abVALUE: options of one letter without a value, then perhaps one with a value, attached or in the next
  // argument. Returns false if the first letter is no such option.
  bool ParseLetters(const std::vector<std::string>& args, size_t* i) const;

  const Option* Find(const std::string& name) const;

  [[noreturn]] void RefuseUnknown(const std::string& name, const std::string& where) const;

  // Returns "options:" and a line for each, which mrctl takes from the refusal (jobs/mrctl/help.cc).
  std::string OptionsText() const;

  std::string Known() const;

  std::string job_;
  std::vector<Option> options_, conf_;
  std::vector<std::string>* rest_ = nullptr;
};

}  // namespace mr

#ifndef PACELINE_COMPILED
#include "paceline/args_inl.h"
#endif
