// What --help of a daemon shows: its own flags, as its main file defines them; gflags would show those of every library
// first. Without gflags' header, which main files alone include.
#pragma once

#include <string>
#include <vector>

namespace mr {

// flags: what gflags::GetAllFlags gives. file: what the name of the file that defines those to be shown ends with,
// "mrmaster_main.cc".
template <class FlagInfo>
std::string FlagHelp(const std::string& usage, const std::string& file, const std::vector<FlagInfo>& flags) {
  std::string text = usage + "\n\n";
  for (const auto& flag : flags) {
    if (!flag.filename.ends_with(file)) continue;
    std::string name = "--" + flag.name + (flag.type == "bool" ? "" : flag.type == "string" ? "=TEXT" : "=N");
    if (name.size() < 20) name.resize(20, ' ');
    text += "  " + name + "  " + flag.description;
    if (flag.type != "bool" && !flag.default_value.empty()) text += " (default: " + flag.default_value + ")";
    text += "\n";
  }
  return text +
         "\n--helpfull shows those of the log (glog) and of gflags, too; --flagfile=FILE reads flags from a file.\n";
}

}  // namespace mr
