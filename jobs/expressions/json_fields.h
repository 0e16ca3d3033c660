// Picks values out of lines of JSON by their paths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/csv.h"

namespace mr::expr {

class JsonFields {
 public:
  JsonFields() = default;
  // A path has keys and indexes: name, address.city, tags[0], "a key.with dots".x. Errors: JobError for other texts.
  // null: the field for null and missing values.
  explicit JsonFields(const std::vector<std::string>& paths, std::string null = "");

  // Sets one field per path; valid until the next call. Texts are without quotes and escapes; numbers, true and false
  // are as written; objects and arrays are JSON; null and missing values are the null text. Of equal keys the last one
  // counts. Returns false if the line is no JSON object.
  bool Parse(std::string_view line, CsvRow* row);
  // Returns why the parser refused the last line, or "" if it did not: a line that is an array, for example.
  const std::string& wrong() const { return wrong_; }
  // Returns a key of the last line that is on no path and not within the value of one, or "".
  const std::string& unknown_key() const { return unknown_; }

 private:
  friend class JsonReader;
  struct Node {
    int field = -1;  // of the paths; -1: none ends here
    std::vector<std::pair<std::string, uint32_t>> keys;
    std::vector<std::pair<uint64_t, uint32_t>> indexes;
  };
  void Add(const std::string& path, int field);

  std::vector<Node> nodes_{1};  // a tree of paths; 0 is the root
  std::vector<std::string> values_;
  std::string unknown_, null_, wrong_;
};

// Appends the paths of a line's values to *paths, except those that are there: keys of objects, of objects in these,
// and so on. Arrays are values. Returns false if the line is no JSON object: *paths is unchanged then, and *wrong is
// set to the reason if the parser refused the line.
bool AddJsonPaths(std::string_view line, std::vector<std::string>* paths, std::string* wrong = nullptr);

// Appends the paths that a --types declares, such as "user.city=text", except those that are there or are no paths.
void AddDeclaredPaths(const std::string& types, std::vector<std::string>* paths);

}  // namespace mr::expr
