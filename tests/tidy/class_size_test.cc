// The host of the master is divided by duty: small classes, each in few files (master/host/README.md).
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/tidy/source_tree.h"

namespace mr::tidy {
namespace {

constexpr size_t kMostPublicMembers = 40;
constexpr size_t kMostFiles = 4;  // that define members of one class
constexpr size_t kMostLines = 400;

// The text without comments and literals. Lines stay.
std::string WithoutComments(const std::string& text) {
  static const std::regex skipped(R"re(//[^\n]*|"(?:[^"\\\n]|\\.)*")re");
  return std::regex_replace(text, skipped, "");
}

// Returns the number of public members of each class of a header: functions and fields, not types and aliases. Classes
// begin in column 0. It reads what clang-format has laid out, and no macros.
std::map<std::string, size_t> PublicMembers(const std::string& header) {
  std::map<std::string, size_t> members;
  const std::string text = WithoutComments(header);
  static const std::regex begin(R"((^|\n)(class|struct) (\w+)[^;{()]*\{)");
  static const std::regex type(R"(^\s*(using|struct|class|enum|friend|template)\b)");
  for (std::sregex_iterator it(text.begin(), text.end(), begin), end; it != end; ++it) {
    bool open = (*it)[2] == "struct";
    size_t count = 0;
    int depth = 1, parentheses = 0;
    std::string statement;
    const auto finish = [&] {
      if (open && statement.find_first_not_of(" \n") != std::string::npos && !std::regex_search(statement, type))
        ++count;
      statement.clear();
    };
    for (auto at = static_cast<size_t>(it->position() + it->length()); at < text.size() && depth > 0; ++at) {
      const char c = text[at];
      if (c == '(') ++parentheses;
      if (c == ')') --parentheses;
      if (c == '{') ++depth;
      if (c == '}' && --depth == 1 && parentheses == 0 && statement.find('(') != std::string::npos) finish();
      if (depth != 1 || c == '}') continue;
      if (c == ';' && parentheses == 0) {
        finish();
        continue;
      }
      statement += c;
      for (const char* label : {"public:", "private:", "protected:"}) {
        if (!EndsWith(statement, label)) continue;
        open = label == std::string("public:");
        statement.clear();
      }
    }
    members[(*it)[3]] = count;
  }
  return members;
}

TEST(ClassSizeTest, CountsFunctionsAndFieldsThatArePublic) {
  const auto members = PublicMembers(
      "struct A {\n  int a = 0;\n  B b{1};  // one; two\n  using C = int;\n};\n"
      "class D final : public E {\n public:\n  explicit D(A a) : a_{a} {}\n  struct F {\n    int g;\n  };\n"
      "  void G(std::function<void()> h = [] { return; });\n  int I() const { return i_; }\n\n private:\n  int "
      "i_;\n};\n");
  EXPECT_EQ(members.at("A"), 2u);
  EXPECT_EQ(members.at("D"), 3u);
}

TEST(ClassSizeTest, NoClassOfTheHostIsLargeOrCutOverManyFiles) {
  std::set<std::string> classes;
  const auto tree = SourceTree();
  for (const SourceFile& file : tree) {
    if (!StartsWith(file.path, "master/host/") || !IsCode(file)) continue;
    EXPECT_LE(file.lines().size(), kMostLines) << file.path;
    if (!EndsWith(file.path, ".h")) continue;
    for (const auto& [name, count] : PublicMembers(file.text)) {
      EXPECT_LE(count, kMostPublicMembers) << name << " in " << file.path;
      classes.insert(name);
    }
  }
  EXPECT_GT(classes.size(), 20u);
  for (const std::string& name : classes) {
    const std::regex definition("(^|\\n)[^/#\\s][^\\n]*\\b" + name + "::~?\\w+\\(");
    std::set<std::string> files;
    for (const SourceFile& file : tree) {
      if (!StartsWith(file.path, "master/host/") || !EndsWith(file.path, ".cc")) continue;
      if (std::regex_search(file.text, definition)) files.insert(file.path);
    }
    EXPECT_LE(files.size(), kMostFiles) << name << " is cut over many files";
  }
}

}  // namespace
}  // namespace mr::tidy
