// Encodes and decodes records. Not in the header, because each file that includes it would compile the codec of every
// alternative.
#include "dfs/meta/record.h"

#include "common/base/fields.h"

namespace mr::dfs {

std::string Encode(const Record& record) { return EncodeFields(record); }
bool Decode(std::string_view bytes, Record* record) { return DecodeFields(bytes, record); }

}  // namespace mr::dfs
