// The tree of verbs and options as CLI11 has it: parse.cc parses by it, completion.cc writes it out. Whoever includes
// this waits for CLI11's headers.
#pragma once

namespace CLI {
class App;
}

namespace mr::ctl {

struct Command;

// Results of a parse go into `command`, which must outlive `root`. An option's type name is what completion offers:
// PATH for local files, a|b|c for these words.
void BuildOptionTree(CLI::App* root, Command* command);

}  // namespace mr::ctl
