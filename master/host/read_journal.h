// Reads a journal into a master core: at a start, for a snapshot, and to check a directory at a desk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "master/core/master_core.h"
#include "master/host/spec_bytes.h"
#include "master/journal/directory.h"

namespace mr::master {

// Returns a record that was read, checked against the core; nothing where it is passed over (MasterCore::PassOver).
// Errors: kCorrupted: it cannot be read; kRejected: only another release can read it.
Result<std::optional<Record>> ReadRecord(const MasterCore& core, const journal::Record& read);

// Applies one record that was read. Errors: kCorrupted: it cannot be read, or this build comes to another outcome than
// the one that it has; kRejected: only another release can read it. The text names the record and the journal.
Status ApplyRead(MasterCore* core, const journal::Record& record, uint64_t offset);

// Reads the journal of core->config().directory, up to the end of the segment that ends at `until`, into a fresh core.
// Writes nothing. Errors: those of ReadDirectory and ApplyRead.
Result<journal::DirectoryRead> ReadJournal(MasterCore* core, uint64_t until = UINT64_MAX);

}  // namespace mr::master
