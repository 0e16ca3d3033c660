#include "jobs/mrctl/argv_split.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mr::ctl {
namespace {

bool IsOption(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

// Returns the name in an option word: "--conf=a=b" gives "--conf", "-ojson" gives "-o".
std::string_view NameOf(std::string_view word) {
  if (word.substr(0, 2) == "--") return word.substr(0, word.find('='));
  return word.substr(0, 2);
}

constexpr std::pair<std::string_view, std::string_view> kClaims[] = {
    {"grep", "-v"}, {"grep", "-o"}, {"sleep", "--reduces"}, {"sort", "--format"}, {"stream", "-v"},
};
// Table jobs read and write formats of tables.
constexpr std::string_view kTableJobs[] = {"aggregate", "join", "parse", "select", "sessionize", "topk"};
constexpr std::string_view kTableOptions[] = {"--format", "--output-format"};

}  // namespace

bool BuiltinClaims(std::string_view job, std::string_view name) {
  for (const auto& [claimer, claimed] : kClaims) {
    if (claimer == job && claimed == name) return true;
  }
  return std::count(std::begin(kTableJobs), std::end(kTableJobs), job) != 0 &&
         std::count(std::begin(kTableOptions), std::end(kTableOptions), name) != 0;
}

std::string ShellWords(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

bool ValueFollows(std::string_view word, const OptionLookup& known) {
  if (word.starts_with("--")) return word.find('=') == word.npos && known(word) == OptionKind::kValue;
  for (size_t i = 1; i < word.size(); ++i) {
    const OptionKind kind = known(std::string{'-', word[i]});
    // The letters behind an option with a value are its value.
    if (kind != OptionKind::kFlag) return kind == OptionKind::kValue && i + 1 == word.size();
  }
  return false;
}

SplitArgv SplitSubmitArgv(const std::vector<std::string>& argv, const OptionLookup& known, const ClaimLookup& claims) {
  SplitArgv split;
  bool have_job = false;
  const auto of_job = [&](std::string_view name) {
    return have_job && (known(name) == OptionKind::kUnknown || claims(split.job, name));
  };
  for (size_t i = 0; i < argv.size(); ++i) {
    std::string word = argv[i];
    if (word == "--") {
      split.job_args.insert(split.job_args.end(), argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, argv.end());
      break;
    }
    if (!IsOption(word)) {
      if (have_job) {
        split.job_args.push_back(word);
      } else {
        split.job = word;
        have_job = true;
      }
      continue;
    }
    const std::string_view name = NameOf(word);
    if (have_job && (word == "--help" || word == "-h")) {
      split.job_help = true;
      continue;
    }
    if (of_job(name)) {
      split.job_args.push_back(word);
      continue;
    }
    // Letters that are written together may be of both: -qn of grep.
    for (size_t at = 2; have_job && !word.starts_with("--") && at < word.size(); ++at) {
      if (known(std::string{'-', word[at - 1]}) != OptionKind::kFlag) break;  // the rest is its value
      if (!of_job(std::string{'-', word[at]})) continue;
      split.job_args.push_back("-" + word.substr(at));
      word.resize(at);
    }
    split.ours.push_back(word);
    if (ValueFollows(word, known) && i + 1 < argv.size()) split.ours.push_back(argv[++i]);
  }
  return split;
}

}  // namespace mr::ctl
