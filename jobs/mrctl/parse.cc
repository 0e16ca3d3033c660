// Turns words into a Command. The job's words are split off first; CLI11 parses the rest by the option tree.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "common/base/ids.h"
#include "common/base/text.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/help.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/option_tree.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {
namespace {

OptionKind KindIn(const CLI::App* app, std::string_view name) {
  const CLI::Option* option = app->get_option_no_throw(std::string(name));
  if (option == nullptr) return OptionKind::kUnknown;
  return option->get_items_expected_max() == 0 || std::string(name) == "--local" ? OptionKind::kFlag
                                                                                 : OptionKind::kValue;
}

void AddOptionNames(const CLI::App* app, std::vector<std::string>* names) {
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names->push_back("--" + name);
  }
  for (const CLI::App* below : app->get_subcommands()) AddOptionNames(below, names);  // those that were parsed
}

// Returns the names of all options that may follow a verb, for suggestions.
std::vector<std::string> OptionNames(const CLI::App* root, const CLI::App* sub) {
  std::vector<std::string> names;
  if (sub != nullptr) AddOptionNames(sub, &names);
  for (const CLI::Option* option : root->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string Suggest(const std::string& word, const std::vector<std::string>& names) {
  std::vector<std::string_view> views(names.begin(), names.end());
  return DidYouMean(word, views);
}

// Returns the words that resemble submit's options. Only the job's plan knows whether they are mistyped.
std::vector<std::pair<std::string, std::string>> NearOurs(const std::vector<std::string>& words,
                                                          const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::vector<std::pair<std::string, std::string>> near;
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::string ours = Nearest(name, views); !ours.empty()) near.emplace_back(name, std::move(ours));
  }
  return near;
}

Status UnknownWord(const CLI::App* root, const CLI::App* sub, const std::vector<std::string>& extras,
                   const std::string& fallback) {
  for (const std::string& word : extras) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    return InvalidArgument("unknown option " + name + Suggest(name, OptionNames(root, sub)));
  }
  return InvalidArgument(extras.empty() ? fallback : "unexpected '" + extras[0] + "'");
}

// Words that other systems have for a verb (hdfs, kubectl, squeue, ray, docker).
constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
    {"run", "submit"},
    {"ps", "jobs"},
    {"list", "jobs"},
    {"status", "job show"},
    {"info", "job show"},
    {"describe", "job show"},
    {"stop", "kill"},
    {"cancel", "kill"},
    {"delete", "kill"},
    {"nodes", "workers"},
    {"node", "worker show"},
    {"plan", "explain"},
    {"decommission", "worker drain"},
    {"dfs", "fs"},
    {"watch", "attach"},
    {"log", "logs"},
};

// Returns the verb that an unknown word probably means: "fs ls" for "ls", "submit grep" for "grep"; or "".
std::string LikelyVerb(const CLI::App* root, const std::string& word) {
  for (const auto& [other, ours] : kOtherWords) {
    if (word == other) return std::string(ours);
  }
  std::vector<std::string> verbs = {"help"};
  for (const CLI::App* verb : root->get_subcommands({})) {
    verbs.push_back(verb->get_name());
    for (const CLI::App* below : verb->get_subcommands({})) {
      if (below->get_name() == word) return verb->get_name() + " " + word;
    }
  }
  for (const BuiltinJob& job : BuiltinJobList()) {
    if (word == job.name) return "submit " + word;
  }
  return Nearest(word, std::vector<std::string_view>(verbs.begin(), verbs.end()));
}

Status UnknownVerb(const CLI::App* root, const std::string& word) {
  const std::string likely = LikelyVerb(root, word);
  return WithHint(
      InvalidArgument("unknown command '" + word + "'" + (likely.empty() ? "" : " (did you mean '" + likely + "'?)")),
      "mrctl help lists the commands");
}

// Returns the words of the verb that was parsed last: "fs ls".
std::string NameBelow(const CLI::App* verb) {
  const auto below = verb->get_subcommands();
  return below.empty() ? verb->get_name() : verb->get_name() + " " + NameBelow(below.front());
}

// The verb has verbs below it, and none of the words names one of them.
Status UnknownBelow(const CLI::App* root, const CLI::App* verb, const std::vector<std::string>& words) {
  const std::string& name = verb->get_name();
  std::vector<std::string> below;
  std::string all;
  for (const CLI::App* app : verb->get_subcommands({})) {
    below.push_back(app->get_name());
    all += (all.empty() ? "" : ", ") + app->get_name();
  }
  const std::string hint = "mrctl " + name + " --help explains " + all;
  for (size_t i = 0; i < words.size(); ++i) {
    // Hadoop writes `dfs -ls`.
    const std::string letters = words[i].substr(std::min(words[i].find_first_not_of('-'), words[i].size()));
    const bool dashed = letters.size() < words[i].size();
    if (dashed && KindIn(root, words[i]) == OptionKind::kValue) ++i;
    if (dashed && std::find(below.begin(), below.end(), letters) == below.end()) continue;
    std::string likely = Nearest(letters, std::vector<std::string_view>(below.begin(), below.end()));
    if (likely.empty() && name == "job" && (letters == "list" || letters == "ls")) return UnknownVerb(root, "ps");
    if (likely.empty() && ParseJobId(letters) && name == "job") likely = "show";
    return WithHint(InvalidArgument("unknown command '" + name + " " + words[i] + "'" +
                                    (likely.empty() ? "" : " (did you mean '" + name + " " + likely + "'?)")),
                    hint);
  }
  return WithHint(InvalidArgument(name + " needs a command: " + all), hint);
}

// Returns the index of the verb in argv: the first word that is neither a global option nor its value.
size_t FindVerb(const CLI::App* root, const std::vector<std::string>& argv) {
  for (size_t i = 0; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.empty() || word[0] != '-') return i;
    if (ValueFollows(word, [root](std::string_view name) { return KindIn(root, name); })) ++i;
  }
  return argv.size();
}

// Returns the words whose help `mrctl help WORDS...` prints: those of a verb, or those of submit for a job.
Result<std::vector<std::string>> AskedHelp(const CLI::App* root, std::vector<std::string> words,
                                           std::vector<std::string> verbs) {
  const size_t at = FindVerb(root, words);
  const bool verb = at == words.size() || std::find(verbs.begin(), verbs.end(), words[at]) != verbs.end();
  words.emplace_back("--help");
  if (verb) return words;
  // A job of a library or of a file is known only to that.
  bool job = IsJobFile(words[at]);
  for (const std::string& word : words) job = job || word == "--lib" || word.starts_with("--lib=");
  for (const BuiltinJob& known : BuiltinJobList()) {
    job = job || words[at] == known.name;
    verbs.emplace_back(known.name);
  }
  if (!job) {
    return WithHint(
        InvalidArgument("there is no command and no job '" + words[at] + "'" + Suggest(words[at], verbs)),
        "mrctl help lists the commands, mrctl submit --help the jobs, and mrctl help --lib FILE JOB shows a "
        "job of a library");
  }
  words.insert(words.begin(), "submit");
  return words;
}

constexpr std::string_view kNoPaths = "paths is required";  // of the parser

// Returns the cause of an error of the parser (CLI11) in plain words.
std::string PlainCause(const std::string& cause) {
  static const std::string kMissing = " is required", kMany = ": At Most 1 required but received ";
  if (cause == kNoPaths) return "its paths are missing";
  if (cause.ends_with(kMissing)) {
    std::string word = cause.substr(0, cause.size() - kMissing.size());
    if (word.starts_with("-")) return word + " is missing";
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
    return word + " is missing";
  }
  const size_t many = cause.find(kMany);
  if (many == cause.npos) return cause;
  return cause.substr(0, many) + " is given " + cause.substr(many + kMany.size()) + " times, and takes one value";
}

}  // namespace

Result<Command> ParseCommandLine(const std::vector<std::string>& argv) {
  Command command;
  CLI::App root("Runs and watches jobs of a Paceline cluster.", "mrctl");
  AddGlobals(&root, &command);
  std::vector<std::string> words = argv;
  const size_t at = FindVerb(&root, argv);
  AddVerbs(&root, &command, at < argv.size() ? argv[at] : "");
  const CLI::App* sub = nullptr;
  std::vector<std::string> verbs = {"help"};
  for (const CLI::App* s : root.get_subcommands({})) verbs.push_back(s->get_name());
  for (size_t i = 0; i < std::min(at, argv.size()); ++i) {
    const std::string name = argv[i].substr(0, argv[i].starts_with("--") ? argv[i].find('=') : 2);
    if (argv[i][0] != '-' || KindIn(&root, name) != OptionKind::kUnknown) continue;
    return WithHint(InvalidArgument("unknown option " + name + Suggest(name, OptionNames(&root, nullptr))),
                    "the options of a command stand behind it: mrctl help COMMAND");
  }
  if (at < argv.size()) {
    command.verb = argv[at];
    if (command.verb == "help" && at + 1 < argv.size()) {
      MR_ASSIGN_OR_RETURN(const auto asked,
                          AskedHelp(&root, {argv.begin() + static_cast<ptrdiff_t>(at) + 1, argv.end()}, verbs));
      return ParseCommandLine(asked);
    }
    if (command.verb == "help") {
      command.help = root.help();
      return command;
    }
    for (const CLI::App* s : root.get_subcommands({})) {
      if (s->get_name() == command.verb) sub = s;
    }
    if (sub == nullptr) {
      return UnknownVerb(&root, command.verb);
    }
    if (command.verb == "submit" || command.verb == "explain") {
      const auto lookup = [&](std::string_view name) {
        const OptionKind kind = KindIn(sub, name);
        return kind != OptionKind::kUnknown ? kind : KindIn(&root, name);
      };
      auto split = SplitSubmitArgv({argv.begin() + static_cast<ptrdiff_t>(at) + 1, argv.end()}, lookup, BuiltinClaims);
      words.resize(at + 1);
      words.insert(words.end(), split.ours.begin(), split.ours.end());
      command.submit.job = std::move(split.job);
      command.submit.job_args = std::move(split.job_args);
      command.submit.job_help = split.job_help;
      command.submit.near_ours = NearOurs(command.submit.job_args, OptionNames(&root, sub));
    }
  }
  const std::string job = command.submit.job;
  try {
    std::reverse(words.begin(), words.end());
    root.parse(words);
  } catch (const CLI::CallForHelp&) {
    command.help = root.help();
    return command;
  } catch (const CLI::ExtrasError& error) {
    return UnknownWord(&root, sub, root.remaining(true), error.what());
  } catch (const CLI::ParseError& error) {
    if (at >= argv.size()) {
      return WithHint(InvalidArgument("a command is needed"), "mrctl help lists the commands");
    }
    if (sub->get_require_subcommand_min() > 0 && sub->get_subcommands().empty()) {
      return UnknownBelow(&root, sub, {argv.begin() + static_cast<ptrdiff_t>(at) + 1, argv.end()});
    }
    // The cause may be a mistyped option before the missing word, which took that word as its value.
    const std::string form = NameBelow(sub);
    const std::string what = error.what();
    const std::string root_list = form == "fs ls" && what == kNoPaths ? "mrctl fs ls / lists the root directory; " : "";
    return WithHint(InvalidArgument(form + ": " + PlainCause(what)),
                    root_list + "mrctl " + form + " --help shows its form");
  }
  if (command.verb == "explain") command.submit.dry_run = true;
  if ((command.verb == "submit" || command.verb == "explain") && command.submit.job.empty()) {
    return WithHint(InvalidArgument("JOB is missing"), "for example: mrctl submit --local wordcount --input FILE");
  }
  if (command.submit.local < 0 || command.submit.local > kMaxLocalWorkers) {
    return InvalidArgument("--local takes 1 to " + std::to_string(kMaxLocalWorkers) + " workers");
  }
  return command;
}

}  // namespace mr::ctl
