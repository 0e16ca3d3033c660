#include "jobs/mrctl/completion.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <map>
#include <set>

#include "common/base/text.h"
#include "common/base/version.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/option_tree.h"
#include "jobs/mrctl/options.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// The completions at one place of the command line: after no verb (""), "job", "job show", ... Words and options have
// their descriptions.
struct Node {
  std::string path;
  std::map<std::string, std::string> words;    // verbs below it, or words of its arguments
  std::map<std::string, std::string> options;  // without options of all verbs
  bool files = false;                          // its arguments may be local files
};

// Kinds of values of options.
enum class Value { kAny, kFile };
struct OptionTree {
  std::vector<Node> nodes;
  std::map<std::string, Value> values;
  std::map<std::string, std::set<std::string>> choices;
};

std::set<std::string> Names(const CLI::Option& option) {
  std::set<std::string> names;
  for (const std::string& name : option.get_lnames()) names.insert("--" + name);
  for (const std::string& name : option.get_snames()) names.insert("-" + name);
  return names;
}

// Returns the words of "a|b|c".
std::set<std::string> Choices(const std::string& type) {
  std::set<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  for (size_t at = 0; at <= type.size();) {
    const size_t end = std::min(type.find('|', at), type.size());
    words.insert(type.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

void Walk(const CLI::App& app, const std::string& path, OptionTree* tree) {
  Node node{path, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const std::set<std::string> choices = Choices(type);
    const auto names = Names(*option);
    if (names.empty()) {  // an argument
      for (const std::string& word : choices) node.words.emplace(word, "");
      node.files = type.starts_with("PATH") || option->get_option_text().find("LOCAL") != std::string::npos;
    }
    for (const std::string& name : names) node.options.emplace(name, option->get_description());
    // --local takes a value only after '=', so the next word never is its value.
    const bool has_value = option->get_items_expected_max() > 0 && !names.contains("--local");
    for (const std::string& name : names) {
      if (!has_value) continue;
      tree->values[name] = type.starts_with("PATH") ? Value::kFile : Value::kAny;  // also PATH[#NAME]
      if (!choices.empty()) tree->choices[name] = choices;
    }
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : below) node.words.emplace(sub->get_name(), sub->get_description());
  if (path.empty()) node.words.emplace("help", "Explain a command or a job");
  tree->nodes.push_back(std::move(node));
  for (const CLI::App* sub : below) Walk(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), tree);
}

bool RunsJobs(const std::string& path) { return path == "submit" || path == "explain"; }

template <class Map>
std::set<std::string> Keys(const Map& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) keys.insert(key);
  return keys;
}

template <class List>
std::string Spaced(const List& words, const std::string& before = "") {
  std::string text = before;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

template <class List>
std::string Alternatives(const List& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "|") + word;
  return text;
}

// Returns a `case` over the word before the cursor, for options with values.
std::string ValueCases(const OptionTree& tree) {
  std::map<std::string, std::set<std::string>> by_choice;
  std::set<std::string> files, any;
  for (const auto& [name, value] : tree.values) {
    const auto choices = tree.choices.find(name);
    if (choices != tree.choices.end())
      by_choice[Spaced(choices->second)].insert(name);
    else
      (value == Value::kFile ? files : any).insert(name);
  }
  std::string text = "  case \"$prev\" in\n";
  for (const auto& [words, names] : by_choice) {
    text += "    " + Alternatives(names) + ") COMPREPLY=($(compgen -W \"" + words + "\" -- \"$cur\")); return ;;\n";
  }
  if (!files.empty()) text += "    " + Alternatives(files) + ") _mrctl_files \"$cur\"; return ;;\n";
  if (!any.empty()) text += "    " + Alternatives(any) + ") return ;;\n";
  return text + "  esac\n";
}

std::string NodeCases(const OptionTree& tree, const std::vector<JobWords>& jobs) {
  const auto everywhere = Keys(tree.nodes.front().options);
  std::string text = "  case \"$node\" in\n";
  for (const Node& node : tree.nodes) {
    std::set<std::string> options = Keys(node.options), words = Keys(node.words);
    options.insert(everywhere.begin(), everywhere.end());
    for (const JobWords& job : jobs) {
      if (RunsJobs(node.path)) words.insert(job.name);
    }
    text += "    \"" + node.path + "\") words=\"" + Spaced(words) + "\"; options=\"" + Spaced(options) + "\" ;;\n";
  }
  text += "  esac\n  [ -z \"$job\" ] || words=\"\"\n  case \"$job\" in\n";
  for (const JobWords& job : jobs) {
    if (!job.options.empty()) {
      text += "    " + job.name + ") options=\"$options " + Spaced(job.options) + "\" ;;\n";
    }
  }
  return text + "  esac\n";
}

// Returns the cases of one word before the cursor: options with values, verbs, jobs.
std::string StepCases(const OptionTree& tree, const std::vector<JobWords>& jobs) {
  std::string text = "    case \"$node|$word\" in\n";
  std::set<std::string> with_value;
  for (const auto& [name, value] : tree.values) with_value.insert("*\"|" + name + "\"");
  text += "      " + Alternatives(with_value) + ") i=$((i + 1)) ;;\n";
  for (const Node& node : tree.nodes) {
    if (node.path.empty()) continue;
    const size_t space = node.path.rfind(' ');
    const std::string above = space == std::string::npos ? "" : node.path.substr(0, space);
    const std::string last = space == std::string::npos ? node.path : node.path.substr(space + 1);
    text += "      \"" + above + "|" + last + "\") node=\"" + node.path + "\" ;;\n";
  }
  std::set<std::string> names;
  for (const JobWords& job : jobs) {
    for (const char* verb : {"submit", "explain"}) names.insert("\"" + std::string(verb) + "|" + job.name + "\"");
  }
  if (!names.empty()) text += "      " + Alternatives(names) + ") job=\"${job:-$word}\" ;;\n";
  return text + "    esac\n";
}

std::string BashScript(const OptionTree& tree, const std::vector<JobWords>& jobs) {
  return std::string("# Completion of mrctl ") + kVersion +
         ", generated from its option tree by: mrctl completion bash\n"
         // One name per line, with any other bytes in it; the typed word may be quoted. Also run by zsh.
         "_mrctl_files() {\n"
         "  local typed=\"${1#[\\\"\\']}\" IFS=$'\\n' glob=on\n"
         "  case \"$-\" in *f*) glob=off ;; esac\n"
         "  set -f\n"
         "  COMPREPLY=($(compgen -f -- \"${typed//\\\\/}\"))\n"
         "  [ \"$glob\" = off ] || set +f\n"
         "  compopt -o filenames 2>/dev/null\n"
         "}\n"
         "_mrctl() {\n"
         "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local node=\"\" job=\"\" word=\"\" words=\"\" options=\"\" i=1\n"
         "  COMPREPLY=()\n"
         "  if [ \"$cur\" = = ]; then cur=\"\"; elif [ \"$prev\" = = ]; then prev=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n"
         "  while [ \"$i\" -lt \"$COMP_CWORD\" ]; do\n"
         "    word=\"${COMP_WORDS[i]}\"\n" +
         StepCases(tree, jobs) +
         "    i=$((i + 1))\n"
         "  done\n" +
         ValueCases(tree) + NodeCases(tree, jobs) +
         "  case \"$cur\" in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o bashdefault -o default -F _mrctl mrctl\n";
}

std::string FishQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

// Returns the first line or sentence, which fits beside a completion.
std::string Brief(const std::string& text) { return text.substr(0, text.find_first_of(";:(\n")); }

std::string FishOption(const OptionTree& tree, const std::string& when, const std::string& name,
                       const std::string& what) {
  const bool is_long = name.starts_with("--");
  std::string line = "complete -c mrctl" + when + (is_long ? " -l " + name.substr(2) : " -s " + name.substr(1));
  const auto value = tree.values.find(name);
  const auto choices = tree.choices.find(name);
  if (choices != tree.choices.end()) {
    line += " -x -a " + FishQuoted(Spaced(choices->second));
  } else if (value != tree.values.end()) {
    line += value->second == Value::kFile ? " -r -F" : " -x";
  }
  return line + (what.empty() ? "" : " -d " + FishQuoted(Brief(what))) + "\n";
}

// Returns a `switch` like bash's StepCases.
std::string FishSteps(const OptionTree& tree, const std::vector<JobWords>& jobs) {
  std::string text = "    switch \"$node|$word\"\n      case";
  for (const auto& [name, value] : tree.values) text += " '*|" + name + "'";
  text += "\n        set skip 1\n";
  for (const Node& node : tree.nodes) {
    if (node.path.empty()) continue;
    const size_t space = node.path.rfind(' ');
    const std::string above = space == std::string::npos ? "" : node.path.substr(0, space);
    text += "      case '" + above + "|" + node.path.substr(space == std::string::npos ? 0 : space + 1) +
            "'\n        set node '" + node.path + "'\n";
  }
  std::string names;
  for (const JobWords& job : jobs) names += " 'submit|" + job.name + "' 'explain|" + job.name + "'";
  if (!names.empty()) text += "      case" + names + "\n        test -n \"$job\"; or set job $word\n";
  return text + "    end\n";
}

std::string FishScript(const OptionTree& tree, const std::vector<JobWords>& jobs) {
  std::string text = std::string("# Completion of mrctl ") + kVersion +
                     ", generated from its option tree by: mrctl completion fish\n"
                     // The verbs before the cursor, and the job behind submit or explain.
                     "function __mrctl_at\n"
                     "  set -l words (commandline -opc)\n"
                     "  set -l node ''\n  set -l job ''\n  set -l skip 0\n"
                     "  for word in $words[2..-1]\n"
                     "    if test $skip = 1\n      set skip 0\n      continue\n    end\n" +
                     FishSteps(tree, jobs) +
                     "  end\n"
                     "  test \"$node\" = \"$argv[1]\"; or return 1\n"
                     "  test (count $argv) -lt 2; or test \"$job\" = \"$argv[2]\"\n"
                     "end\n"
                     "complete -c mrctl -f\n";
  for (const auto& [name, what] : tree.nodes.front().options) text += FishOption(tree, "", name, what);
  for (const Node& node : tree.nodes) {
    const std::string when = " -n \"__mrctl_at '" + node.path + "'\"";
    for (const auto& [word, what] : node.words) {
      text +=
          "complete -c mrctl" + when + " -a " + word + (what.empty() ? "" : " -d " + FishQuoted(Brief(what))) + "\n";
    }
    if (node.files) text += "complete -c mrctl" + when + " -F\n";
    if (!node.path.empty()) {
      for (const auto& [name, what] : node.options) text += FishOption(tree, when, name, what);
    }
    if (!RunsJobs(node.path)) continue;
    for (const JobWords& job : jobs) {
      text += "complete -c mrctl -n \"__mrctl_at '" + node.path + "' ''\" -a " + job.name + " -d " +
              FishQuoted(Brief(job.what)) + "\n";
      const std::string behind = " -n \"__mrctl_at '" + node.path + "' '" + job.name + "'\"";
      for (const std::string& option : job.options) text += FishOption(tree, behind, option, "option of " + job.name);
      text += "complete -c mrctl" + behind + " -F\n";
    }
  }
  return text;
}

}  // namespace

JobWords WordsOfJob(const std::string& name, const std::string& help) {
  JobWords job{name, help.substr(0, help.find('\n')), {}};
  for (size_t at = help.find('\n'); at != std::string::npos; at = help.find('\n', at + 1)) {
    // "  -k, --key F    what it does": the options of a line stand before the text.
    const size_t begin = at + 3;
    if (help.compare(at, 3, "\n  ") != 0 || begin >= help.size() || help[begin] == ' ') continue;
    const size_t end = std::min({help.find('\n', begin), help.find("  ", begin), help.size()});
    for (size_t dash = help.find('-', begin); dash < end; dash = help.find('-', dash + 1)) {
      if (dash != begin && help[dash - 1] != ' ' && help[dash - 1] != '[') continue;
      const size_t stop = std::min(
          help.find_first_not_of("-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", dash), end);
      if (stop - dash > 1) job.options.push_back(help.substr(dash, stop - dash));
      dash = stop - 1;
    }
  }
  return job;
}

Result<std::string> CompletionScript(const std::string& shell, const std::vector<JobWords>& jobs) {
  Command command;
  CLI::App root("", "mrctl");
  AddGlobals(&root, &command);
  AddVerbs(&root, &command);
  OptionTree tree;
  Walk(root, "", &tree);
  if (shell == "bash") return BashScript(tree, jobs);
  if (shell == "zsh") {
    // A file of a directory in fpath is run as the function _mrctl, at the first completion.
    return "#compdef mrctl\nautoload -U +X bashcompinit && bashcompinit\n" + BashScript(tree, jobs) +
           "[ \"${funcstack[1]}\" != _mrctl ] || _bash_complete -o bashdefault -o default -F _mrctl\n";
  }
  if (shell == "fish") return FishScript(tree, jobs);
  constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};
  return WithHint(InvalidArgument("there is no completion for '" + shell + "'" + DidYouMean(shell, kShells)),
                  "bash, zsh and fish are supported");
}

}  // namespace mr::ctl
