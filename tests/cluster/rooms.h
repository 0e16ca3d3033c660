// Shared parts of the tests of rooms.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mr::test {

// Replaces the first place of each word by its value.
std::string Replaced(std::string text, const std::map<std::string, std::string>& targets);

// Returns what this machine lacks for rooms of tier 2 or 3; "" if it lacks nothing.
std::string Lacks(int tier);

// Returns the control groups of the worker with this data directory.
std::vector<std::string> GroupsOf(const std::string& data);

// Returns the outcome of each attack in an output of lines "attack TAB outcome".
std::map<std::string, std::string> Outcomes(const std::string& text);

// Returns whether a process of this machine has the word in its command line.
bool Runs(const std::string& word);

}  // namespace mr::test
