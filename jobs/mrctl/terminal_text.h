// Makes text of tasks, files and other people harmless for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace mr::ctl {

// Escapes control characters but newlines and tabs, bytes that are not valid UTF-8, and characters that reorder the
// text around them: a terminal could obey them.
std::string TerminalText(std::string_view text);

}  // namespace mr::ctl
