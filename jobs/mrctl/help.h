// The layout of help texts: of verbs (from the option tree), and of jobs (from their libraries). help2man reads it,
// too.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace mr::ctl {

// Returns the formatter of the root; verbs that are added later inherit it. A help has: what the verb does, its usage,
// arguments, options by group, the options of all verbs, verbs below it, and the footer. Lines have at most 80 columns,
// except those of the footer.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

// The options of one heading of `mrctl submit --help`, as "--name".
struct OptionGroup {
  const char* heading;
  std::vector<const char*> options;
};
// Moves the options under their headings. An option that no group names stays under "Options".
void GroupOptions(CLI::App* app, const std::vector<OptionGroup>& groups);

// A built-in job, as `submit --help` lists it.
struct BuiltinJob {
  const char* name;
  const char* what;
  const char* example;  // a command line that runs here, on files of any name
  bool shown = true;    // false: for measuring and tests
};
std::span<const BuiltinJob> BuiltinJobList();
// Returns the list for the footer of `submit --help`.
std::string BuiltinJobsText();

// Returns the help of one job. help: as its library has it, a line and then its options.
std::string JobHelp(const std::string& job, std::string_view help);

// Returns the lines for the options of a job that refused --help with this message: those that it declares with Args
// (paceline/args.h), or that it declares none. Returns nothing if the message says nothing about options.
std::optional<std::string> OptionsInRefusal(std::string_view message);

// Returns those of the lines with options that the help of the job does not name.
std::string UnlistedOptions(std::string_view options, std::string_view help);

// Returns `text` in lines of at most `width` columns, the second and later ones indented. Keeps line ends.
std::string Wrapped(std::string_view text, size_t width, size_t indent);

}  // namespace mr::ctl
