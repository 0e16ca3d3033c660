// Files of keys and values that people write: job files (.toml, .json) and mr.toml. A table gives "key=value" strings
// under its name. A table within a table gives entries "table.table.key". An array of tables (the steps of a job) gives
// one KeyTable each. Only job_file.cc uses toml11, and only json_in.cc parses JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

struct KeyTable {
  struct Entry {
    std::string key;
    std::vector<std::string> values;  // one for a scalar; "k=v" strings for a table
    bool list = false;                // an array or a table
    std::vector<KeyTable> tables;     // of an array of tables
    std::string fault;                // the error, if the value has another type
  };
  std::vector<Entry> entries;
};

// Errors of both: kInvalidArgument that names `file` and, if the parser reports it, the line.
Result<KeyTable> ParseToml(const std::string& text, const std::string& file);
Result<KeyTable> ParseJsonTable(const std::string& text, const std::string& file);

// Reads and applies a job file (.toml, .json, or "-": standard input, JSON if it begins with '{'). Keys are the long
// options of submit with '_' or '-', and job and args. Errors: kNotFound, kInvalidArgument.
Status LoadJobFile(const std::string& path, SubmitOptions* options);
bool IsJobFile(const std::string& job);

}  // namespace mr::ctl
