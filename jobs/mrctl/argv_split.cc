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

// Returns whether the word contains its value.
bool HasValue(std::string_view word) {
  return word.substr(0, 2) == "--" ? word.find('=') != std::string_view::npos : word.size() > 2;
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

std::string SeparateShortOptions(std::string_view word, const std::vector<std::string>& options) {
  if (word.size() < 3 || word[0] != '-' || word[1] == '-') return "";
  std::string text;
  for (size_t i = 1; i < word.size(); ++i) {
    const std::string name = {'-', word[i]};
    const bool known = std::find(options.begin(), options.end(), name) != options.end();
    if (!known && i == 1) return "";
    text += text.empty() ? "" : " ";
    if (!known) return text + std::string(word.substr(i));  // the value of the option before it
    text += name;
  }
  return text;
}

SplitArgv SplitSubmitArgv(const std::vector<std::string>& argv, const OptionLookup& known, const ClaimLookup& claims) {
  SplitArgv split;
  bool have_job = false;
  for (size_t i = 0; i < argv.size(); ++i) {
    const std::string& word = argv[i];
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
    const OptionKind kind = known(name);
    if (have_job && (kind == OptionKind::kUnknown || claims(split.job, name))) {
      split.job_args.push_back(word);
      continue;
    }
    split.ours.push_back(word);
    if (kind == OptionKind::kValue && !HasValue(word) && i + 1 < argv.size()) split.ours.push_back(argv[++i]);
  }
  return split;
}

std::string SeparateRefusedWord(const std::string& refusal) {
  constexpr std::string_view kUnknown = "unknown option '", kOptions = "; its options are ";
  const size_t at = refusal.find(kUnknown), end = refusal.find('\'', at + kUnknown.size());
  const size_t list = refusal.find(kOptions);
  if (at == std::string::npos || end == std::string::npos || list == std::string::npos) return "";
  std::vector<std::string> options;
  for (size_t from = list + kOptions.size(); from < refusal.size();) {
    const size_t comma = std::min(refusal.find(", ", from), refusal.size());
    options.push_back(refusal.substr(from, comma - from));
    from = comma + 2;
  }
  return SeparateShortOptions(refusal.substr(at + kUnknown.size(), end - at - kUnknown.size()), options);
}

}  // namespace mr::ctl
