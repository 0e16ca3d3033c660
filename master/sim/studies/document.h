// A declarative file (TOML) as a tree whose values know their lines, and a reader of its tables that refuses unknown
// keys and values out of range. Errors name file and line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace mr::sim {

struct Node {
  enum class Kind : uint8_t { kFlag, kNumber, kText, kArray, kTable };
  Kind kind = Kind::kTable;
  uint32_t line = 0;
  bool flag = false;
  double number = 0;
  std::string text;
  std::vector<Node> items;
  std::map<std::string, Node, std::less<>> fields;
};

// Parses a file's text. file: its name in messages. Errors: kInvalidArgument: not TOML, with the line.
Result<Node> ParseToml(const std::string& text, const std::string& file);

// The first error of a file.
struct FirstError {
  std::string file;
  Status status;
  void At(uint32_t line, const std::string& what);
  bool ok() const { return status.ok(); }
};

// Reads one table. Each call takes a key and leaves the variable alone if the table lacks the key. A wrong value
// becomes the file's first error.
class Fields {
 public:
  // what: the table's name in messages ("cluster 'ec2'"). Requires: table and error outlive this object.
  Fields(const Node& table, std::string what, FirstError* error);

  bool Has(std::string_view key) const { return table_.fields.contains(key); }
  void Text(std::string_view key, std::string* value);
  void Texts(std::string_view key, std::vector<std::string>* values);
  void Flag(std::string_view key, bool* value);
  void Number(std::string_view key, double* value, double lowest, double highest);
  void Numbers(std::string_view key, std::vector<double>* values, double lowest, double highest);
  // Numbers without a fraction.
  void Whole(std::string_view key, uint32_t* value, uint32_t lowest, uint32_t highest);
  void Wholes(std::string_view key, std::vector<uint32_t>* values, uint32_t lowest, uint32_t highest);
  // Returns the index of the text among `names`, or `otherwise` without the key.
  size_t Choice(std::string_view key, const std::vector<std::string_view>& names, size_t otherwise);
  // Returns the tables of an array of tables, or none.
  std::vector<const Node*> Tables(std::string_view key);
  // Returns the value, or null.
  const Node* Any(std::string_view key);
  // Makes it an error if a key is missing.
  void Require(std::string_view key);
  // Makes it an error if two keys exclude each other.
  void Exclude(std::string_view a, std::string_view b);
  // Makes each key that no call took an error. Call it last.
  void Done();

  uint32_t line() const { return table_.line; }
  void Wrong(const std::string& why) { error_->At(table_.line, what_ + ": " + why); }
  void Wrong(std::string_view key, const std::string& why);
  FirstError* error() { return error_; }

 private:
  const Node* Take(std::string_view key, Node::Kind kind, const char* kind_name);
  bool InRange(const Node& node, std::string_view key, double lowest, double highest, bool whole);

  const Node& table_;
  const std::string what_;
  FirstError* const error_;
  std::vector<std::string_view> known_;
};

}  // namespace mr::sim
