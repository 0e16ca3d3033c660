#include "jobs/mrctl/job_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <toml.hpp>

#include "common/base/text.h"
#include "common/base/utf8.h"
#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

// Returns a scalar as the text that the option would have on the command line.
std::string Scalar(const toml::value& value, std::string* fault) {
  if (value.is_string()) return value.as_string().str;
  if (value.is_boolean()) return value.as_boolean() ? "true" : "false";
  if (value.is_integer()) return std::to_string(value.as_integer());
  if (fault->empty()) {
    *fault = "(line " + std::to_string(value.location().line()) + ") must be a string, a whole number, true or false";
  }
  return {};
}

// Adds one entry "above.key" for each scalar of a nested table.
void AddNested(const std::string& above, const toml::value& nested, KeyTable* table) {
  for (const auto& [name, element] : nested.as_table()) {
    KeyTable::Entry entry{above + "." + name, {}, false, {}, {}};
    entry.values.push_back(Scalar(element, &entry.fault));
    table->entries.push_back(std::move(entry));
  }
}

KeyTable Flatten(const toml::value& root) {
  KeyTable table;
  for (const auto& [key, value] : root.as_table()) {
    KeyTable::Entry entry{key, {}, false, {}, {}};
    if (value.is_array()) {
      entry.list = true;
      for (const auto& element : value.as_array()) {
        if (element.is_table()) {
          entry.tables.push_back(Flatten(element));
        } else {
          entry.values.push_back(Scalar(element, &entry.fault));
        }
      }
    } else if (value.is_table()) {
      entry.list = true;
      for (const auto& [name, element] : value.as_table()) {
        if (element.is_table()) {  // [contexts.NAME]
          AddNested(key + "." + name, element, &table);
        } else {
          entry.values.push_back(name + "=" + Scalar(element, &entry.fault));
        }
      }
    } else {
      entry.values.push_back(Scalar(value, &entry.fault));
    }
    const bool only_nested = value.is_table() && entry.values.empty() && !value.as_table().empty();
    if (!only_nested) table.entries.push_back(std::move(entry));
  }
  return table;
}

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Result<std::string> ReadAll(int fd) {
  std::string text;
  char piece[65536];
  while (true) {
    MR_ASSIGN_OR_RETURN(const size_t n, [&]() -> Result<size_t> {
      const ssize_t got = ::read(fd, piece, sizeof piece);
      if (got < 0) return ErrnoStatus(errno, "cannot read standard input");
      return static_cast<size_t>(got);
    }());
    if (n == 0) return text;
    text.append(piece, n);
  }
}

}  // namespace

Result<KeyTable> ParseToml(const std::string& text, const std::string& file) {
  // toml11 3.7 reads outside of its buffer where a string in quotes has other bytes.
  if (const size_t at = InvalidUtf8(text); at != std::string::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n');
    return InvalidArgument(file + ":" + std::to_string(line) + ": a byte that is not UTF-8; save the file as UTF-8");
  }
  std::istringstream in(text);
  try {
    return Flatten(toml::parse(in, file));
  } catch (const toml::exception& error) {
    // what() has several lines: the first has the error; the location is printed separately.
    std::string what = error.what();
    what = what.substr(0, what.find('\n'));
    return InvalidArgument(file + ":" + std::to_string(error.location().line()) + ": " + what);
  } catch (const std::exception& error) {
    return InvalidArgument(file + ": " + error.what());
  }
}

bool IsJobFile(const std::string& job) { return job == "-" || EndsWith(job, ".toml") || EndsWith(job, ".json"); }

Status LoadJobFile(const std::string& path, SubmitOptions* options) {
  const std::string file = path == "-" ? "standard input" : path;
  Result<std::string> text = path == "-" ? ReadAll(0) : ReadFile(path);
  if (!text.ok()) return text.status().With("job file");
  const size_t first = text->find_first_not_of(" \t\r\n");
  const bool json = EndsWith(path, ".json") || (path == "-" && first != std::string::npos && (*text)[first] == '{');
  MR_ASSIGN_OR_RETURN(const KeyTable table, json ? ParseJsonTable(*text, file) : ParseToml(*text, file));
  return ApplyJobFile(table, file, options);
}

}  // namespace mr::ctl
