// Encodes and decodes records. Not in the header, because each file that includes it would compile the codec of every
// alternative.
#include "dfs/meta/record.h"

#include "common/base/fields.h"

namespace mr::dfs {

std::string Encode(const Record& record) { return EncodeFields(record); }
bool Decode(std::string_view bytes, Record* record) { return DecodeFields(bytes, record); }

bool IsHard(const Record& record) {
  static const size_t last = Record(OutputCommitted{}).index();
  return record.index() <= last || std::holds_alternative<IdsRaised>(record) ||
         std::holds_alternative<InputsPinned>(record) || std::holds_alternative<InputsReleased>(record) ||
         std::holds_alternative<IdsInDoubt>(record);
}

}  // namespace mr::dfs
