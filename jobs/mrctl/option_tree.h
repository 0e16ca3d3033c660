// The tree of verbs and options in CLI11. parse.cc parses by it, and completion.cc writes it out. Declared apart from
// options.h so that other files do not wait for CLI11's headers.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace mr::ctl {

struct Command;

// Adds the global options to `root`. Results of a parse go into `command`, which must outlive `root`. An option's type
// name drives completion: PATH for local files, a|b|c for these words.
void AddGlobals(CLI::App* root, Command* command);
// Adds all verbs and their options; or, where `verb` is submit or explain, that one alone, because the objects of some
// two hundred other options take a millisecond (measured). Requires: AddGlobals.
void AddVerbs(CLI::App* root, Command* command, std::string_view verb = "");

// The verbs for people and credentials: cluster, token (options_people.cc).
void AddPeopleVerbs(CLI::App* root, Command* command);

// Appends an example to the footer.
void AddExample(CLI::App* app, const std::string& example);
// Adds a verb below another. Its word goes to Command::sub.
CLI::App* AddSub(CLI::App* above, Command* command, const std::string& name, const std::string& help,
                 const std::string& example);

}  // namespace mr::ctl
