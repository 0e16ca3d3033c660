#include "jobs/mrctl/help.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>

namespace mr::ctl {
namespace {

constexpr size_t kHelpWidth = 80;
constexpr size_t kTextColumn = 29;  // of the texts behind options, arguments and verbs
constexpr char kGlobalHeading[] = "Options of all commands";

constexpr BuiltinJob kBuiltinJobs[] = {
    {"aggregate", "Group rows of CSV files: counts, sums, quantiles",
     "--by city --agg 'sum(amount)' --input sales.csv"},
    {"distinct", "Print each different line once", "--input book.txt"},
    {"grep", "Print lines that match a pattern", "-e 'straight|crooked' --input book.txt"},
    {"invertedindex", "List the files of each word", "--input 'texts/*' --output index"},
    {"join", "Join two CSV files on a column", "--left orders.csv --right people.csv --on person"},
    {"pagerank", "Rank the nodes of a graph", "--rounds 10 --input edges.txt --output ranks"},
    {"parse", "Turn lines of text into a table", "--apache --input access.log --output requests"},
    {"select", "Filter rows, choose and compute columns",
     "--where 'amount > 100' --select 'city, cents = amount * 100' --input sales.csv"},
    {"sessionize", "Cut the events of users into sessions", "--user id --time at --input clicks.csv --output sessions"},
    {"sort", "Sort lines or fixed-length records", "-k 2,2n --input book.txt --output sorted"},
    {"stream", "Run commands on standard input and output",
     "--map 'tr \" \" \"\\n\"' --reduce 'uniq -c' --input book.txt"},
    {"terasort", "Generate, sort and validate records of 100 bytes", "generate --rows 1000000 --output rows"},
    {"topk", "Find the rows with the largest numbers", "--by amount -n 5 --input sales.csv"},
    {"topwords", "Find the most frequent words", "--top 20 --input book.txt"},
    {"triangles", "Count the triangles of a graph", "--input edges.txt"},
    {"wordcount", "Count words", "--input book.txt --output counts"},
    {"empty", "Run tasks that do nothing", "--maps 10", false},
    {"sleep", "Run tasks that sleep", "--ms 100 --tasks 4", false},
};

// Appends a row: two spaces, the left text, and the right text from kTextColumn on.
void AddRow(const std::string& left, const std::string& right, std::string* text) {
  std::string row = "  " + left;
  if (row.size() + 2 > kTextColumn && !right.empty()) {
    *text += row + "\n";
    row.clear();
  }
  if (!right.empty()) row.resize(kTextColumn, ' ');
  *text += row + Wrapped(right, kHelpWidth - kTextColumn, kTextColumn) + "\n";
}

// Returns "-o table|json|ndjson", "--input PATH", "--local[=N]", "-q, --quiet".
std::string OptionText(const CLI::Option& option) {
  std::string text;
  for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) text += (text.empty() ? "--" : ", --") + name;
  // A flag with a default takes a value behind '=' only.
  if (option.get_items_expected_max() == 0) return option.get_fnames().empty() ? text : text + "[=N]";
  std::string type = option.get_type_name();
  if (type == "INT" || type == "UINT" || type == "FLOAT") type = "N";
  return type.empty() ? text : text + " " + type;
}

// Returns "ID", "ID...", "[STATE]", or the text that the tree has for it.
std::string ArgumentText(const CLI::Option& option) {
  if (!option.get_option_text().empty()) return option.get_option_text();
  std::string name = option.get_name(true);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (option.get_items_expected_max() > 1) name += "...";
  return option.get_required() ? name : "[" + name + "]";
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    const CLI::App* root = app;
    while (root->get_parent() != nullptr) root = root->get_parent();
    const auto arguments = app->get_options([](const CLI::Option* o) { return o->get_positional(); });
    std::string text = Wrapped(app->get_description(), kHelpWidth, 0) + "\n\nUsage: " + name + " [OPTIONS]";
    if (name.ends_with(" submit") || name.ends_with(" explain")) text += " JOB [JOB OPTIONS]";
    for (const CLI::Option* argument : arguments) text += " " + ArgumentText(*argument);
    if (app->get_require_subcommand_min() > 0) text += " COMMAND";
    text += "\n";
    if (!arguments.empty()) text += "\nArguments:\n";
    for (const CLI::Option* argument : arguments) {
      AddRow(ArgumentText(*argument), argument->get_description(), &text);
    }
    if (app != root) {
      for (const std::string& group : app->get_groups()) AddOptions(*app, group, group, &text);
    }
    AddVerbs(*app, &text);
    AddOptions(*root, "Options", kGlobalHeading, &text);
    if (!app->get_footer().empty()) text += "\n" + app->get_footer() + "\n";
    return text;
  }

 private:
  static void AddOptions(const CLI::App& app, const std::string& group, const std::string& heading, std::string* text) {
    bool any = false;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() || option->get_group() != group) continue;
      if (app.get_parent() != nullptr && option == app.get_help_ptr()) continue;  // one of all verbs
      if (!std::exchange(any, true)) *text += "\n" + heading + ":\n";
      AddRow(OptionText(*option), option->get_description(), text);
    }
  }

  static void AddVerbs(const CLI::App& app, std::string* text) {
    std::vector<std::string> groups;
    const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* verb : verbs) {
      if (std::find(groups.begin(), groups.end(), verb->get_group()) == groups.end())
        groups.push_back(verb->get_group());
    }
    for (const std::string& group : groups) {
      *text += "\n" + (group == "Subcommands" ? "Commands" : group) + ":\n";
      for (const CLI::App* verb : verbs) {
        if (verb->get_group() == group) AddRow(verb->get_name(), verb->get_description(), text);
      }
    }
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() { return std::make_shared<HelpFormatter>(); }

void GroupOptions(CLI::App* app, const std::vector<OptionGroup>& groups) {
  for (const OptionGroup& group : groups) {
    for (const char* name : group.options) app->get_option(name)->group(group.heading);
  }
}

std::span<const BuiltinJob> BuiltinJobList() { return kBuiltinJobs; }

std::string BuiltinJobsText() {
  std::string text = "Jobs:\n";
  for (const BuiltinJob& job : kBuiltinJobs) {
    if (job.shown) AddRow(job.name, job.what, &text);
  }
  return text;
}

std::string JobHelp(const std::string& job, std::string_view help) {
  const size_t line = std::min(help.find('\n'), help.size());
  std::string text(help.substr(0, line));
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  const bool builtin = std::any_of(std::begin(kBuiltinJobs), std::end(kBuiltinJobs),
                                   [&](const BuiltinJob& known) { return job == known.name; });
  text = Wrapped(text, kHelpWidth, 0) + "\n\nUsage: mrctl submit " + (builtin ? "" : "--lib FILE ") + "[OPTIONS] " +
         job + " [JOB OPTIONS]\n";
  const std::string_view rest = help.substr(std::min(line + 1, help.size()));
  if (!rest.empty()) text += std::string(rest.starts_with("  ") ? "\nOptions of the job:\n" : "\n") + std::string(rest);
  if (text.back() != '\n') text += "\n";
  text += "\nOptions of submit stand before or behind the job: mrctl submit --help\n";
  for (const BuiltinJob& known : kBuiltinJobs) {
    if (job == known.name) text += "\nExample:\n  mrctl submit --local " + job + " " + known.example + "\n";
  }
  return text;
}

std::optional<std::string> OptionsInRefusal(std::string_view message) {
  constexpr std::string_view kNone = "The job declares no options.\n",
                             kList = ": options:", kNames = "; its options are ";
  if (const size_t at = message.find(kList); at != message.npos) {
    const std::string_view lines = message.substr(at + kList.size());
    return lines.empty() ? std::string(kNone) : std::string(lines.substr(1)) + "\n";
  }
  // Libraries of an older SDK only name them.
  if (message.ends_with("; it has no options")) return std::string(kNone);
  const size_t at = message.find(kNames);
  if (at == message.npos) return std::nullopt;
  std::string text = "  ";
  for (std::string_view names = message.substr(at + kNames.size()); !names.empty();) {
    const size_t comma = std::min(names.find(", "), names.size());
    text += std::string(names.substr(0, comma)) + "\n" + (comma < names.size() ? "  " : "");
    names.remove_prefix(std::min(comma + 2, names.size()));
  }
  return text;
}

std::string UnlistedOptions(std::string_view options, std::string_view help) {
  const auto listed = [help](std::string_view name) {
    constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    for (size_t at = 0; (at = help.find(name, at)) != help.npos; ++at) {
      const size_t end = at + name.size();
      const bool begins = at == 0 || kOfNames.find(help[at - 1]) == help.npos;
      if (begins && (end == help.size() || kOfNames.find(help[end]) == help.npos)) return true;
    }
    return false;
  };
  std::string text;
  while (!options.empty()) {
    const size_t end = std::min(options.find('\n'), options.size());
    const std::string_view line = options.substr(0, end);
    options.remove_prefix(std::min(end + 1, options.size()));
    if (!line.starts_with("  -")) continue;
    constexpr std::string_view kConf = "  --conf ";
    const std::string_view name = line.starts_with(kConf) ? line.substr(kConf.size()) : line.substr(2);
    if (!listed(name.substr(0, name.find_first_of(" =")))) text += std::string(line) + "\n";
  }
  return text;
}

std::string Wrapped(std::string_view text, size_t width, size_t indent) {
  const std::string next = "\n" + std::string(indent, ' ');
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const size_t word = end - at;
    if (column != 0 && column + 1 + word > width) {
      out += next;
      column = 0;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, word);
    column += word;
    if (end < text.size() && text[end] == '\n') {
      out += next;
      column = 0;
    }
    at = end + 1;
  }
  return out;
}

}  // namespace mr::ctl
