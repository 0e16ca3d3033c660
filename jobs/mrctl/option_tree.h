// The tree of verbs and options in CLI11. parse.cc parses by it, and completion.cc writes it out. Declared apart from
// options.h so that other files do not wait for CLI11's headers.
#pragma once

namespace CLI {
class App;
}

namespace mr::ctl {

struct Command;

// Adds all verbs and options to `root`. Results of a parse go into `command`, which must outlive `root`. An option's
// type name drives completion: PATH for local files, a|b|c for these words.
void BuildOptionTree(CLI::App* root, Command* command);

}  // namespace mr::ctl
