// The environment of the processes that run user code. It is made from a list of allowed names: a daemon's environment
// may have credentials, and variables that change how libraries load.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mr::task {

// Returns whether tasks get this variable of the daemon: search paths, language and time zone, the labels of the worker
// (MR_LABEL_*), and the options of sanitizers. Not MR_TOKEN_FILE, MR_MASTER, LD_* or anything unknown.
bool TasksGet(std::string_view name);

// Returns the allowed ones of these "NAME=value" strings. The array ends with a null pointer.
std::vector<std::string> TaskEnvironment(const char* const* all);

}  // namespace mr::task
