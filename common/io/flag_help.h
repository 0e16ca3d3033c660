// The --help text of a daemon: the flags of its main file only, since gflags would show those of every library first.
// Does not include gflags' header, which only main files include.
#pragma once

#include <string>
#include <vector>

namespace mr {

// Returns the help text. Flags have their default value appended, unless the description says what applies "without
// this flag". flags: the result of gflags::GetAllFlags. file: the end of the name of the file that defines the flags to
// show, such as "mrmaster_main.cc".
template <class FlagInfo>
std::string FlagHelp(const std::string& usage, const std::string& file, const std::vector<FlagInfo>& flags) {
  std::string text = usage + "\n\n";
  for (const auto& flag : flags) {
    if (!flag.filename.ends_with(file)) continue;
    std::string name = "--" + flag.name + (flag.type == "bool" ? "" : flag.type == "string" ? "=TEXT" : "=N");
    if (name.size() < 20) name.resize(20, ' ');
    text += "  " + name + "  " + flag.description;
    const bool described = flag.description.find("without this flag") != std::string::npos;
    if (flag.type != "bool" && !flag.default_value.empty() && !described)
      text += " (default: " + flag.default_value + ")";
    text += "\n";
  }
  return text + "\n--helpfull also shows the flags of glog and gflags; --flagfile=FILE reads flags from a file.\n";
}

}  // namespace mr
