// Types of an operator's keys and values, for the C table (common/abi/type_tags.h). They follow from its base classes
// (operator.h). An operator may declare its further output ports:
//
//   class Split : public mr::LineMapper<std::string, int64_t> {
//    public:
//     using MorePorts = mr::Ports<mr::Records<int64_t, std::string>>;  // port 1; port 0 is (std::string, int64_t)
//
// Undeclared ports match every type, and so do inputs that an operator parses itself (lines, blocks, RawOperator).
// mr::AnyBytes also matches every type; use it for records that the operator encodes itself (EmitRaw).
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "common/abi/operator_table.h"
#include "common/abi/type_tags.h"
#include "paceline/codec.h"
#include "paceline/emitter.h"

namespace mr {

// The key and value type of one port, and a list of ports from port 1 on.
template <class K, class V>
struct Records {};
template <class... R>
struct Ports {};

namespace sdk {

// Returns the tag of a type. Text has the tag of a string, which its bytes are.
template <template <class> class Codec, class T>
std::string TypeTag() {
  if constexpr (std::is_same_v<T, Text>) {
    return "str";
  } else {
    return TagOf<Codec<T>>();
  }
}

// The types of one operator class. Lives as long as the process, like the table that points to it.
class TypeTable {
 public:
  template <class K, class V>
  void AddInput() {
    inputs_.push_back(Keep<K, V>());
  }
  template <class K, class V>
  void AddPort() {
    ports_.push_back(Keep<K, V>());
  }
  template <class... K, class... V>
  void AddPorts(Ports<Records<K, V>...>) {
    (AddPort<K, V>(), ...);
  }
  template <class K, class V>
  void SetSide() {
    side_ = Keep<K, V>();
    has_side_ = true;
  }
  template <class K, class V>
  void SetCombine() {
    combine_ = Keep<K, V>();
    has_combine_ = true;
  }

  void Fill(mr_operator* table) const {
    table->input_types = inputs_.data();
    table->input_type_count = static_cast<uint32_t>(inputs_.size());
    table->port_types = ports_.data();
    table->port_type_count = static_cast<uint32_t>(ports_.size());
    if (has_side_) table->side_type = &side_;
    if (has_combine_) table->combine_type = &combine_;
  }

 private:
  template <class K, class V>
  static mr_record_type Keep() {
    static const std::string key = TypeTag<KeyCodec, K>(), value = TypeTag<ValueCodec, V>();
    return {key.c_str(), value.c_str()};
  }

  std::vector<mr_record_type> inputs_, ports_;
  mr_record_type side_{}, combine_{};
  bool has_side_ = false, has_combine_ = false;
};

}  // namespace sdk
}  // namespace mr
