// What mrctl prints reaches a terminal, which obeys control characters: text of tasks, files and other people goes
// through functions that escape them.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>

#include "tests/tidy/source_tree.h"

namespace mr::tidy {
namespace {

// Returns whether the line writes to standard output or standard error itself.
bool WritesItself(const std::string& line) {
  static const std::regex kWrites(
      R"(\b(v?f?printf|v?dprintf|fputs|fputc|puts|putc|putchar|fwrite|perror|psignal)\s*\()"
      R"(|\bstd::(cerr|clog|cout)\b|\b(WriteAll|write)\((1|2|STDOUT_FILENO|STDERR_FILENO),)");
  return std::regex_search(line, kWrites);
}

TEST(TerminalRuleTest, CatchesEachWayToWrite) {
  for (const char* line :
       {R"(std::fprintf(stderr, "%s\n", note.c_str());)", "  std::fprintf(", "std::fputs(text.c_str(), stderr);",
        R"(printf("%s", x);)", "std::puts(x);", "fwrite(text.data(), 1, text.size(), out_);", "std::cerr << note;",
        "(void)WriteAll(1, text);", "(void)write(2, text.data(), text.size());", R"(perror("open");)"}) {
    EXPECT_TRUE(WritesItself(line)) << line;
  }
  for (const char* line :
       {"std::snprintf(code, sizeof code, format);", "PrintErr(note);", "Print(text);", "WriteAll(fd.get(), text)",
        "Write(TerminalText(text));", "write(pipe, &pid, sizeof pid);"}) {
    EXPECT_FALSE(WritesItself(line)) << line;
  }
}

TEST(TerminalRuleTest, MrctlPrintsThroughFunctionsThatEscape) {
  // Numbers of lines that write. The texts of Print and PrintErr, contents of files, and the screens that mrctl draws
  // with control characters of its own.
  const std::map<std::string, int> allowed = {{"jobs/mrctl/mrctl_main.cc", 1},
                                              {"jobs/mrctl/terminal_text.cc", 1},
                                              {"jobs/mrctl/top.cc", 1},
                                              {"jobs/mrctl/progress.cc", 1}};
  std::map<std::string, int> writes;
  for (const SourceFile& file : SourceTree()) {
    if (!IsCode(file) || !StartsWith(file.path, "jobs/mrctl/")) continue;
    int number = 0;
    for (const std::string& line : file.lines()) {
      ++number;
      if (!WritesItself(line)) continue;
      ++writes[file.path];
      EXPECT_TRUE(allowed.contains(file.path))
          << file.path << ":" << number << ": print it with PrintErr (terminal_text.h), Say or Print (verbs.h)";
    }
  }
  for (const auto& [path, lines] : allowed) EXPECT_EQ(writes[path], lines) << path;
}

}  // namespace
}  // namespace mr::tidy
