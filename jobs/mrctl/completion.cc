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

// The completions at one place of the command line: after no verb (""), "job", "job show", ...
struct Node {
  std::string path;
  std::set<std::string> words;    // verbs below it, or words of its arguments
  std::set<std::string> options;  // without options of all verbs
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
    if (names.empty()) node.words.insert(choices.begin(), choices.end());  // an argument
    node.options.insert(names.begin(), names.end());
    // --local takes a value only after '=', so the next word never is its value.
    const bool has_value = option->get_items_expected_max() > 0 && !names.contains("--local");
    for (const std::string& name : names) {
      if (!has_value) continue;
      tree->values[name] = type.starts_with("PATH") ? Value::kFile : Value::kAny;  // also PATH[#NAME]
      if (!choices.empty()) tree->choices[name] = choices;
    }
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : below) node.words.insert(sub->get_name());
  if (path.empty()) node.words.insert("help");
  tree->nodes.push_back(std::move(node));
  for (const CLI::App* sub : below) Walk(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), tree);
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

std::string NodeCases(const OptionTree& tree, const std::vector<std::string>& jobs) {
  const std::set<std::string>& everywhere = tree.nodes.front().options;
  std::string text = "  case \"$node\" in\n";
  for (const Node& node : tree.nodes) {
    std::set<std::string> options = node.options;
    options.insert(everywhere.begin(), everywhere.end());
    std::set<std::string> words = node.words;
    if (node.path == "submit" || node.path == "explain") words.insert(jobs.begin(), jobs.end());
    text += "    \"" + node.path + "\") words=\"" + Spaced(words) + "\"; options=\"" + Spaced(options) + "\" ;;\n";
  }
  return text + "  esac\n";
}

// Returns the cases of verbs that have further verbs.
std::string StepCases(const OptionTree& tree) {
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
  return text + "    esac\n";
}

std::string BashScript(const OptionTree& tree, const std::vector<std::string>& jobs) {
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
         "  local node=\"\" word=\"\" words=\"\" options=\"\" i=1\n"
         "  COMPREPLY=()\n"
         "  if [ \"$cur\" = = ]; then cur=\"\"; elif [ \"$prev\" = = ]; then prev=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n"
         "  while [ \"$i\" -lt \"$COMP_CWORD\" ]; do\n"
         "    word=\"${COMP_WORDS[i]}\"\n" +
         StepCases(tree) +
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

}  // namespace

Result<std::string> CompletionScript(const std::string& shell, const std::vector<std::string>& jobs) {
  Command command;
  CLI::App root("", "mrctl");
  BuildOptionTree(&root, &command);
  OptionTree tree;
  Walk(root, "", &tree);
  if (shell == "bash") return BashScript(tree, jobs);
  if (shell == "zsh") {
    return "#compdef mrctl\nautoload -U +X bashcompinit && bashcompinit\n" + BashScript(tree, jobs);
  }
  constexpr std::string_view kShells[] = {"bash", "zsh"};
  return WithHint(InvalidArgument("there is no completion for '" + shell + "'" + DidYouMean(shell, kShells)),
                  "bash and zsh are supported");
}

}  // namespace mr::ctl
