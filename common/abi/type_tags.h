// Reads the types of records from the operator table and compares them between stages. The SDK's LocalJob and mrctl use
// these functions, so both refuse the same jobs with the same words.
//
// A tag is a name ("i64", "u8", "f64", "bool", "str", "none") or a name with parts: "vec<i64>", "pair<str,i64>",
// "tuple<str,i64,f64>". "?" stands for a type that is not known, also as a part: "pair<str,?>". Names have none of
// the characters < > , ?.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/operator_table.h"

namespace mr {

inline constexpr const char* kUnknownType = "?";

struct RecordType {
  std::string key = kUnknownType, value = kUnknownType;
  bool operator==(const RecordType&) const = default;
  bool known() const { return key != kUnknownType || value != kUnknownType; }
};

// The types that an operator reads and writes. Empty lists: not known.
struct OperatorTypes {
  std::vector<RecordType> inputs;   // by input; the last one holds for all further ones
  std::vector<RecordType> ports;    // by output port; further ones are not known
  std::vector<RecordType> side;     // none, or the type of the last input, where that one is not grouped
  std::vector<RecordType> combine;  // none, or the type that combine() takes and emits

  bool empty() const { return inputs.empty() && ports.empty() && side.empty() && combine.empty(); }

  // Returns the type of input number `index` of `count` inputs.
  RecordType Input(uint32_t index, uint32_t count, bool grouped) const {
    if (!side.empty() && !grouped && index + 1 == count) return side[0];
    if (inputs.empty()) return {};
    return inputs[index < inputs.size() ? index : inputs.size() - 1];
  }
  RecordType Port(uint32_t port) const { return port < ports.size() ? ports[port] : RecordType(); }
};

namespace type_tags {

inline RecordType ReadType(const mr_record_type& type) {
  const auto text = [](const char* tag) { return std::string(tag == nullptr || *tag == '\0' ? kUnknownType : tag); };
  return {text(type.key), text(type.value)};
}

// Returns the length of the type at the start of the tag, up to the comma or bracket that ends it.
inline size_t TypeLength(std::string_view tag) {
  int depth = 0;
  for (size_t i = 0; i < tag.size(); ++i) {
    if (tag[i] == '<') ++depth;
    if ((tag[i] == ',' || tag[i] == '>') && depth == 0) return i;
    if (tag[i] == '>') --depth;
  }
  return tag.size();
}

}  // namespace type_tags

// Returns the types in a library's table. The library may be of any age.
inline OperatorTypes TypesOf(const mr_operator& op) {
  OperatorTypes types;
  if (!MR_HAS(&op, combine_type)) return types;
  for (uint32_t i = 0; op.input_types != nullptr && i < op.input_type_count; ++i) {
    types.inputs.push_back(type_tags::ReadType(op.input_types[i]));
  }
  for (uint32_t i = 0; op.port_types != nullptr && i < op.port_type_count; ++i) {
    types.ports.push_back(type_tags::ReadType(op.port_types[i]));
  }
  if (op.side_type != nullptr) types.side.push_back(type_tags::ReadType(*op.side_type));
  if (op.combine_type != nullptr) types.combine.push_back(type_tags::ReadType(*op.combine_type));
  return types;
}

// Returns whether records that are written as one type may be read as the other: equal but for unknown parts.
inline bool TypesAgree(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (a[0] == '?' || b[0] == '?') {
      a.remove_prefix(type_tags::TypeLength(a));
      b.remove_prefix(type_tags::TypeLength(b));
      continue;
    }
    if (a[0] != b[0]) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty();
}
inline bool TypesAgree(const RecordType& a, const RecordType& b) {
  return TypesAgree(a.key, b.key) && TypesAgree(a.value, b.value);
}

// Returns, for example, "(key str, value i64)".
inline std::string TypeText(const RecordType& type) {
  const auto text = [](const std::string& tag) { return tag == kUnknownType ? std::string("of unknown type") : tag; };
  return "(key " + text(type.key) + ", value " + text(type.value) + ")";
}

// One edge between two stages, for EdgeFault.
struct TypedEdge {
  std::string writer;  // names of stages
  OperatorTypes writes;
  uint32_t port = 0;
  bool combine = false;  // the writer's combine() works on this port
  std::string reader;
  OperatorTypes reads;
  uint32_t input = 0, inputs = 1;
  bool grouped = false;
};

// Returns the type error of an edge, with the names of both stages, or "" where the types agree or are not known.
inline std::string EdgeFault(const TypedEdge& e) {
  const RecordType takes = e.reads.Input(e.input, e.inputs, e.grouped), gives = e.writes.Port(e.port);
  const std::string writer = "stage '" + e.writer + "'", port = "port " + std::to_string(e.port);
  const std::string reader =
      "stage '" + e.reader + "' takes " + TypeText(takes) + " from it as input " + std::to_string(e.input);
  const std::string end = ": let both operators declare the same types";
  if (!TypesAgree(gives, takes)) return writer + " writes " + TypeText(gives) + " to " + port + ", but " + reader + end;
  if (!e.combine || e.writes.combine.empty()) return "";
  const RecordType& folds = e.writes.combine[0];
  if (!TypesAgree(folds, gives)) {
    return writer + " writes " + TypeText(gives) + " to " + port + " and combines it as " + TypeText(folds) + end;
  }
  if (!TypesAgree(folds, takes)) {
    return writer + " combines what it writes to " + port + " as " + TypeText(folds) + ", but " + reader + end;
  }
  return "";
}

}  // namespace mr
