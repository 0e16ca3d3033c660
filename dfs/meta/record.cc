// The codec of records. Here, and not in the header: each file that uses it would compile that of every alternative.
#include "dfs/meta/record.h"

#include "common/base/fields.h"

namespace mr::dfs {

std::string Encode(const Record& record) { return EncodeFields(record); }
bool Decode(std::string_view bytes, Record* record) { return DecodeFields(bytes, record); }

}  // namespace mr::dfs
