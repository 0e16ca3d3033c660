// Makes text of tasks, files and other people harmless for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace mr::ctl {

// Escapes control characters but newlines and tabs, bytes that are not valid UTF-8, and characters that reorder the
// text around them: a terminal could obey them.
std::string TerminalText(std::string_view text);

// Prints TerminalText(text) on standard error, without buffering and without adding a line end. All messages of mrctl
// go through it; only the lines of Progress, which it redraws, do not. Thread: any.
void PrintErr(std::string_view text);

}  // namespace mr::ctl
