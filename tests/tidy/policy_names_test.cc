// A policy is named in its own folder, in the list, in the defaults and in the data of studies, and nowhere else. Then
// a new policy is a folder and a line in the list.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace mr::tidy {
namespace {

constexpr char kPolicies[] = "master/sched/policies/";

// Names that are words of plain English, too: they count where they stand as an item of a list. A new policy with such
// a name needs an entry here.
const std::set<std::string> kWords = {"fair", "late", "delay", "coupling"};

// Literals that others read, and that only look like a policy's name.
struct Other {
  const char* file_end;
  const char* name;
  const char* what;
};
constexpr Other kOthers[] = {
    {"common/model/attempt.cc", "opportunistic", "the cause of an attempt, in JSON"},
    {"jobs/mrctl/job_spec.cc", "jockey", "the key jockey.utility of a job's settings"},
    {"jobs/mrctl/options.cc", "jockey", "the key jockey.utility of a job's settings"},
    {"/predictor.cc", "fair", "the confidence of a prediction, in JSON"},
};

// Returns the string literals of C++ source, without comments and includes.
std::vector<std::string> Literals(const std::string& text) {
  std::vector<std::string> found;
  const auto skip = [&](size_t i, const char* end) {
    const size_t at = text.find(end, i);
    return at == std::string::npos ? text.size() : at + std::string(end).size();
  };
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0 || text.compare(i, 8, "#include") == 0) {
      i = skip(i, "\n");
    } else if (text.compare(i, 2, "/*") == 0) {
      i = skip(i + 2, "*/");
    } else if (text.compare(i, 2, "R\"") == 0 && text.find('(', i) != std::string::npos) {
      const size_t open = text.find('(', i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      const size_t end = skip(open, close.c_str());
      found.push_back(text.substr(open + 1, end - open - 1 - close.size()));
      i = end;
    } else if (text[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0) {
      ++i;  // between the digits of a number
    } else if (text[i] == '"' || text[i] == '\'') {
      const char quote = text[i];
      std::string literal;
      for (++i; i < text.size() && text[i] != quote; ++i) {
        if (text[i] == '\\') ++i;
        if (i < text.size()) literal += text[i];
      }
      ++i;
      if (quote == '"') found.push_back(literal);
    } else {
      ++i;
    }
  }
  return found;
}

bool Names(const std::string& literal, const std::string& policy) {
  const std::string item = "(^|[,'\"(])" + policy + "($|[,('\"])", word = "\\b" + policy + "\\b";
  return std::regex_search(literal, std::regex(kWords.count(policy) != 0 ? item : word));
}

// Workloads, clusters and lists of the papers' figures and of the swarm.
bool IsStudy(const std::string& path) {
  static const std::regex study(
      "master/sim/(.*/)?(studies/.*|swarm.*|reproduce.+|[a-z]+_setups\\.(h|cc)|dolly_figures\\.h|jockey_days\\.cc)");
  return std::regex_match(path, study);
}

// Returns the names of the list, with the folder of each; "" if git knows no file of the policy.
std::map<std::string, std::string> PoliciesOf(const std::vector<SourceFile>& tree) {
  std::map<std::string, std::string> folders;
  for (const SourceFile& file : tree) {
    if (file.path != std::string(kPolicies) + "list.cc") continue;
    const std::regex line("\\{\"([a-z_]+)\", (&Make|kM)");
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), line), end; it != end; ++it) folders[(*it)[1]];
  }
  for (auto& [name, folder] : folders) {
    for (const SourceFile& file : tree) {
      const bool own = EndsWith(file.path, "/" + name + ".h") || StartsWith(file.path, kPolicies + name + "/");
      if (StartsWith(file.path, kPolicies) && own) folder = file.path.substr(0, file.path.rfind('/') + 1);
    }
  }
  return folders;
}

TEST(PolicyNamesTest, LiteralsAreFoundAndCommentsAreNot) {
  const std::string text =
      "#include \"late.h\"\n// \"one\"\nf('\"', 1'000, \"two \\\" 2\"); /* \"three\" */ g(R\"x(four\")x\");\n";
  EXPECT_EQ(Literals(text), (std::vector<std::string>{"two \" 2", "four\""}));
  EXPECT_TRUE(Names("fifo,late(cap=0.2)", "late"));
  EXPECT_TRUE(Names("late", "late"));
  EXPECT_FALSE(Names("a report that came late, or never", "late"));
  EXPECT_TRUE(Names("without jockey", "jockey"));
  EXPECT_FALSE(Names("mantri_restart", "mantri"));
}

TEST(PolicyNamesTest, EachPolicyHasAFolder) {
  const auto folders = PoliciesOf(SourceTree());
  EXPECT_GE(folders.size(), 18u);
  for (const auto& [name, folder] : folders) {
    EXPECT_NE(folder, "") << name << ": git knows no file of it below " << kPolicies
                          << ". If its folder is new, run git add on it";
  }
}

TEST(PolicyNamesTest, NobodyElseNamesAPolicy) {
  const std::vector<SourceFile> tree = SourceTree();
  const auto folders = PoliciesOf(tree);
  size_t seen = 0;
  for (const SourceFile& file : tree) {
    if (!IsCode(file) || StartsWith(file.path, "tests/") || IsStudy(file.path)) continue;
    if (file.path == std::string(kPolicies) + "list.cc" || file.path == "master/sched/defaults.h") continue;
    for (const std::string& literal : Literals(file.text)) {
      ++seen;
      for (const auto& [name, folder] : folders) {
        // Without a known folder, no file is the policy's own.
        const bool own = !folder.empty() && StartsWith(file.path, folder);
        if (own || literal.find(name) == std::string::npos || !Names(literal, name)) continue;
        bool other = false;
        for (const Other& o : kOthers) other = other || (EndsWith(file.path, o.file_end) && name == o.name);
        EXPECT_TRUE(other) << file.path << ": \"" << literal << "\" names the policy " << name
                           << ": use a hook (master/sched/policy.h) or a trait (policies/list.h). If the text only "
                              "has the word and the name is plain English, add the name to kWords of this test";
      }
    }
  }
  EXPECT_GT(seen, 1000u);
}

}  // namespace
}  // namespace mr::tidy
