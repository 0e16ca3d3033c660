#include "master/sim/studies/document.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/base/text.h"

namespace mr::sim {

namespace {

std::string Shown(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

}  // namespace

void FirstError::At(uint32_t line, const std::string& what) {
  if (status.ok()) status = InvalidArgument(file + ":" + std::to_string(line) + ": " + what);
}

Fields::Fields(const Node& table, std::string what, FirstError* error)
    : table_(table), what_(std::move(what)), error_(error) {
  if (table.kind != Node::Kind::kTable) Wrong("must be a table");
}

void Fields::Wrong(std::string_view key, const std::string& why) {
  const auto it = table_.fields.find(key);
  error_->At(it == table_.fields.end() ? table_.line : it->second.line, what_ + ": " + std::string(key) + " " + why);
}

const Node* Fields::Any(std::string_view key) {
  known_.push_back(key);
  const auto it = table_.fields.find(key);
  return it == table_.fields.end() ? nullptr : &it->second;
}

const Node* Fields::Take(std::string_view key, Node::Kind kind, const char* kind_name) {
  const Node* node = Any(key);
  if (node == nullptr || node->kind == kind) return node;
  Wrong(key, std::string("must be ") + kind_name);
  return nullptr;
}

bool Fields::InRange(const Node& node, std::string_view key, double lowest, double highest, bool whole) {
  const bool right = node.kind == Node::Kind::kNumber && node.number >= lowest && node.number <= highest &&
                     (!whole || node.number == std::floor(node.number));
  if (!right) {
    error_->At(node.line, what_ + ": " + std::string(key) + " must be " + (whole ? "a whole number" : "a number") +
                              " from " + Shown(lowest) + " to " + Shown(highest));
  }
  return right;
}

void Fields::Text(std::string_view key, std::string* value) {
  const Node* node = Take(key, Node::Kind::kText, "a string");
  if (node != nullptr) *value = node->text;
}

void Fields::Texts(std::string_view key, std::vector<std::string>* values) {
  const Node* node = Take(key, Node::Kind::kArray, "an array of strings");
  if (node == nullptr) return;
  values->clear();
  for (const Node& item : node->items) {
    if (item.kind != Node::Kind::kText) return Wrong(key, "must be an array of strings");
    values->push_back(item.text);
  }
}

void Fields::Flag(std::string_view key, bool* value) {
  const Node* node = Take(key, Node::Kind::kFlag, "true or false");
  if (node != nullptr) *value = node->flag;
}

void Fields::Number(std::string_view key, double* value, double lowest, double highest) {
  const Node* node = Any(key);
  if (node != nullptr && InRange(*node, key, lowest, highest, false)) *value = node->number;
}

void Fields::Numbers(std::string_view key, std::vector<double>* values, double lowest, double highest) {
  const Node* node = Take(key, Node::Kind::kArray, "an array of numbers");
  if (node == nullptr) return;
  values->clear();
  for (const Node& item : node->items) {
    if (!InRange(item, key, lowest, highest, false)) return;
    values->push_back(item.number);
  }
}

void Fields::Whole(std::string_view key, uint32_t* value, uint32_t lowest, uint32_t highest) {
  const Node* node = Any(key);
  if (node != nullptr && InRange(*node, key, lowest, highest, true)) *value = static_cast<uint32_t>(node->number);
}

void Fields::Wholes(std::string_view key, std::vector<uint32_t>* values, uint32_t lowest, uint32_t highest) {
  const Node* node = Take(key, Node::Kind::kArray, "an array of whole numbers");
  if (node == nullptr) return;
  values->clear();
  for (const Node& item : node->items) {
    if (!InRange(item, key, lowest, highest, true)) return;
    values->push_back(static_cast<uint32_t>(item.number));
  }
}

size_t Fields::Choice(std::string_view key, const std::vector<std::string_view>& names, size_t otherwise) {
  const Node* node = Take(key, Node::Kind::kText, "a string");
  if (node == nullptr) return otherwise;
  const auto it = std::find(names.begin(), names.end(), node->text);
  if (it != names.end()) return static_cast<size_t>(it - names.begin());
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  Wrong(key, "is '" + node->text + "'" + DidYouMean(node->text, names) + "; it must be one of: " + all);
  return otherwise;
}

std::vector<const Node*> Fields::Tables(std::string_view key) {
  std::vector<const Node*> tables;
  const Node* node = Take(key, Node::Kind::kArray, "an array of tables");
  if (node == nullptr) return tables;
  for (const Node& item : node->items) {
    if (item.kind != Node::Kind::kTable) {
      Wrong(key, "must be an array of tables");
      return {};
    }
    tables.push_back(&item);
  }
  return tables;
}

void Fields::Require(std::string_view key) {
  if (!Has(key)) Wrong("has no '" + std::string(key) + "'");
}

void Fields::Exclude(std::string_view a, std::string_view b) {
  if (Has(a) && Has(b)) Wrong(b, "and '" + std::string(a) + "' exclude each other");
}

void Fields::Done() {
  for (const auto& [key, value] : table_.fields) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    error_->At(value.line, what_ + ": unknown key '" + key + "'" + DidYouMean(key, known_));
  }
}

}  // namespace mr::sim
