// Parses TOML into nodes. toml11 takes ten seconds to compile, so nothing else is here.
#include <toml.hpp>

#include <sstream>

#include "master/sim/studies/document.h"

namespace mr::sim {

namespace {

// Dates and times are none of the kinds; the reader refuses them as texts of another kind would be.
Node NodeOf(const toml::value& v) {
  Node node;
  node.line = static_cast<uint32_t>(v.location().line());
  if (v.is_boolean()) {
    node.kind = Node::Kind::kFlag;
    node.flag = v.as_boolean();
  } else if (v.is_integer() || v.is_floating()) {
    node.kind = Node::Kind::kNumber;
    node.number = v.is_integer() ? static_cast<double>(v.as_integer()) : v.as_floating();
  } else if (v.is_array()) {
    node.kind = Node::Kind::kArray;
    for (const toml::value& item : v.as_array()) node.items.push_back(NodeOf(item));
  } else if (v.is_table()) {
    for (const auto& [key, value] : v.as_table()) node.fields.emplace(key, NodeOf(value));
  } else {
    node.kind = Node::Kind::kText;
    if (v.is_string()) node.text = v.as_string().str;
  }
  return node;
}

}  // namespace

Result<Node> ParseToml(const std::string& text, const std::string& file) {
  try {
    std::istringstream in(text);
    return NodeOf(toml::parse(in, file));
  } catch (const toml::exception& e) {
    std::string what = e.what();
    what = what.substr(0, what.find('\n'));
    return InvalidArgument(file + ":" + std::to_string(e.location().line()) + ": not TOML: " + what);
  } catch (const std::exception& e) {
    return InvalidArgument(file + ": not TOML: " + e.what());
  }
}

}  // namespace mr::sim
