#include "jobs/mrctl/terminal_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "jobs/mrctl/progress.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TerminalTextTest, StandardErrorGetsNoControlCharacters) {
  testing::internal::CaptureStderr();
  PrintErr(std::string("note \x1b]0;x\a of\0a task\n", 22));
  PrintErr(TerminalText("twice \x1b[31m\n"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "note \\x1b]0;x\\x07 of\\x00a task\ntwice \\x1b[31m\n");
}

TEST(TerminalTextTest, ProgressHasNoControlCharactersOfOthers) {
  JobStatus job;
  job.state = JobState::kPending;
  job.waits = {"queue \x1b]0;x\a has no slots"};
  job.warnings = {"input \x1b[31m is empty"};
  job.last_failure = "it printed \x9b";
  for (const bool terminal : {false, true}) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* out = open_memstream(&text, &size);
    ProgressOptions options;
    options.terminal = terminal;
    options.width = 200;
    Progress(options, out).Show(job, Instant{1});
    std::fclose(out);
    const std::string shown(text, size);
    free(text);
    for (const char* control : {"\x1b]", "\x1b[31m", "\a", "\x9b"}) EXPECT_THAT(shown, Not(HasSubstr(control)));
    EXPECT_THAT(shown, HasSubstr("has no slots"));
    EXPECT_THAT(shown, HasSubstr("input \\x1b[31m is empty"));
    EXPECT_THAT(shown, HasSubstr("it printed \\x9b"));
    EXPECT_EQ(shown.find("\x1b[K") != std::string::npos, terminal) << "mrctl's own ones stay";
  }
}

}  // namespace
}  // namespace mr::ctl
