// Files of keys and values that people write: job files (.toml, .json) and mr.toml. A table gives "key=value" strings
// under its name, a table within a table entries "table.table.key", an array of tables (the steps of a job) a KeyTable
// for each. toml11 stays in job_file.cc, JSON in json_in.cc.
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
    std::vector<std::string> values;  // one for a scalar; "k=v" each for a table
    bool list = false;                // was an array or a table
    std::vector<KeyTable> tables;     // of an array of tables
    std::string fault;                // what is wrong with the value, where it is none of these
  };
  std::vector<Entry> entries;
};

// Both name `file` and, where the parser tells it, the line. kInvalidArgument.
Result<KeyTable> ParseToml(const std::string& text, const std::string& file);
Result<KeyTable> ParseJsonTable(const std::string& text, const std::string& file);

// Reads a job file (.toml, .json, or "-": standard input, JSON if it begins with '{') and applies
// it: keys are the long options of submit with '_' or '-', and job, args. kNotFound, kInvalidArgument.
Status LoadJobFile(const std::string& path, SubmitOptions* options);
bool IsJobFile(const std::string& job);

}  // namespace mr::ctl
