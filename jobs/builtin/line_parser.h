// Parsers of lines of text into columns, for the job parse.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/args.h"
#include "paceline/config.h"
#include "paceline/csv.h"

namespace mr::builtin {

// How the job parse reads lines: exactly one of these is given.
struct LineFormat {
  bool apache = false;
  std::string regex, json, split;
  std::vector<std::string> columns;  // of --split

  // Declares --apache, --regex, --json, --split and --columns.
  void AddTo(Args* args);
  // Refuses none or several of the options, and what cannot be used.
  void Check(const Args& args);
  void AddTo(Config* config) const;
  static LineFormat Of(const Config& config);

 private:
  std::string columns_;
};

class LineParser {
 public:
  // Errors: throws JobError with the reason if the format cannot be used.
  static std::unique_ptr<LineParser> Make(const LineFormat& format);
  virtual ~LineParser() = default;

  const std::vector<std::string>& columns() const { return columns_; }

  // Sets the fields of a line, one per column; they are valid until the next call, and as long as the line. Missing
  // values are empty fields. Returns false if the line does not have this format.
  virtual bool Parse(std::string_view line, CsvRow* row) = 0;

 protected:
  std::vector<std::string> columns_;
};

// Help text of the options.
#define MR_LINE_FORMAT_HELP                                                                                 \
  "  --apache               lines of a web server's log (Apache, nginx; common or combined): host, user,\n" \
  "                         time (as 2000-10-10T20:55:36Z), method, path, protocol, status, bytes,\n"       \
  "                         referer, agent\n"                                                               \
  "  --regex PATTERN        an RE2 pattern that matches the whole line; its named groups, such as\n"        \
  "                         (?P<level>[A-Z]+), are the columns\n"                                           \
  "  --json PATHS           JSON objects: COLUMN or NAME = PATH, separated by commas, such as\n"            \
  "                         'id, city = address.city, tag = tags[0]'\n"                                     \
  "  --split SEPARATOR      fields between separators; a blank stands for any run of blanks\n"              \
  "  --columns LIST         names of the columns of --split\n"

}  // namespace mr::builtin
