// Types of columns, for expressions: whole numbers, real numbers, text. They are declared (--types a=int,b=text) or
// found from a sample of the rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mr::expr {

enum class Type : uint8_t { kText, kInt, kReal };

// Returns "text", "int" or "real".
const char* NameOf(Type type);

struct Column {
  std::string name;
  Type type = Type::kText;
  bool declared = false;  // by --types; else the type was found
  std::string example;    // a value of the sample that made a found type text, or ""
  bool known = true;      // false: the sample had no value
};

// Returns the name of a column for a message: as it is, or with control characters as in C, such as a\nb.
std::string ShownName(std::string_view name);

// The text of missing values and of decimal marks.
struct Values {
  std::vector<std::string> nulls = {""};  // fields that are NULL; the first one is written for NULL
  char decimal = '.';                     // mark of real numbers in the input

  // Sets the fields that are NULL to these and the empty field.
  void SetNulls(const std::vector<std::string>& texts) {
    nulls = texts;
    if (!IsNull("")) nulls.emplace_back();
  }
  bool IsNull(std::string_view field) const {
    if (nulls.size() == 1) return field == nulls[0];  // in each row of tables without --null
    for (const std::string& null : nulls) {
      if (field == null) return true;
    }
    return false;
  }
};

// Parse a field. Whole numbers: an optional sign and digits, from -2^63 to 2^63 - 1. Real numbers: optional sign,
// digits with at most one decimal mark, optional exponent; finite. Return false for any other text.
bool ParseInt(std::string_view field, int64_t* value);
bool ParseReal(std::string_view field, char decimal, double* value);

// Appends a real number as the shortest text that reads back as it, with a point or an exponent.
void AppendReal(double value, std::string* out);

// A declaration of --types.
struct TypeOf {
  std::string name;
  Type type;
};
// Parses "a=int,b=real". Errors: *wrong is set to the reason.
std::vector<TypeOf> ParseTypes(std::string_view list, std::string* wrong);

// Finds the type of a column from its values: int if all are whole numbers, real if all are numbers, else text. A
// column without values is text. Merging is associative and commutative apart from the example.
class TypeFinder {
 public:
  void Take(std::string_view field, const Values& values);
  void Merge(const TypeFinder& other);
  Type type() const { return text_ || !any_ ? Type::kText : real_ ? Type::kReal : Type::kInt; }
  // Returns whether there was a value.
  bool any() const { return any_; }
  // Returns a value that is no number, if others are numbers, or "".
  const std::string& example() const { return numbers_ ? example_ : none_; }

  std::string Encode() const;
  // Errors: returns false if the bytes are no encoded finder.
  static bool Decode(std::string_view bytes, TypeFinder* finder);

 private:
  bool any_ = false, numbers_ = false, real_ = false, text_ = false;
  std::string example_, none_;  // example_: the first value that is no number, cut
};

}  // namespace mr::expr
