// The project's own files, for tests that read them as text.
#pragma once

#include <string>
#include <vector>

namespace mr::tidy {

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::string text;
  std::vector<std::string> lines() const;
};

// Files that git tracks (what is half written and not yet added does not count), or, where there is
// no git, all files outside of build directories.
std::vector<SourceFile> SourceTree();

bool EndsWith(const std::string& text, const std::string& end);
bool StartsWith(const std::string& text, const std::string& begin);
// Of C++: .h and .cc.
bool IsCode(const SourceFile& file);

struct Include {
  std::string name;
  bool system = false;  // in angle brackets
};
std::vector<Include> IncludesOf(const std::string& text);

// What is wrong with this file's includes, or "": the folders of the house and who may include
// whom, and where libraries may be used.
std::string CheckIncludes(const std::string& path, const std::vector<Include>& includes);

}  // namespace mr::tidy
