// A journal's file as another release, or a crash, would have left it.
#pragma once

#include <functional>
#include <string>

#include "master/journal/format.h"

namespace mr::test {

struct StoredRecord {
  journal::Record record;
  std::string payload;
};

// The records of the file `from` (no seals), each passed through `change`, as the file `to`; which may be the same.
// change: false where the journal ends before this record.
void RewriteJournal(const std::string& from, const std::string& to, const std::function<bool(StoredRecord*)>& change);

}  // namespace mr::test
