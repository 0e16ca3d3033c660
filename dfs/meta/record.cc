// Encodes and decodes records. Not in the header, because each file that includes it would compile the codec of every
// alternative.
#include "dfs/meta/record.h"

#include "common/base/fields.h"

namespace mr::dfs {

std::string Encode(const Record& record) {
  const auto* created = std::get_if<FileCreated>(&record);
  const bool owned = created != nullptr && created->owner != kNoOwner;
  return owned ? EncodeFields(record) + EncodeFields(created->owner) : EncodeFields(record);
}

bool Decode(std::string_view bytes, Record* record) {
  FieldReader reader(bytes);
  reader.Get(*record);
  auto* created = reader.ok() ? std::get_if<FileCreated>(record) : nullptr;
  if (created != nullptr && !reader.AtEnd()) reader.Get(created->owner);
  return reader.ok() && reader.AtEnd();
}

bool IsHard(const Record& record) {
  static const size_t last = Record(OutputCommitted{}).index();
  return record.index() <= last || std::holds_alternative<IdsRaised>(record) ||
         std::holds_alternative<InputsPinned>(record) || std::holds_alternative<InputsReleased>(record) ||
         std::holds_alternative<IdsInDoubt>(record) || std::holds_alternative<RuleSet>(record) ||
         std::holds_alternative<ReplicasPlaced>(record) || std::holds_alternative<WorkerForgotten>(record);
}

}  // namespace mr::dfs
