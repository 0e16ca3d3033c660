#include "tests/master/host/rewrite_journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "common/io/files.h"

namespace mr::test {

void RewriteJournal(const std::string& from, const std::string& to, const std::function<bool(StoredRecord*)>& change) {
  std::vector<StoredRecord> all;
  const auto fd = OpenFile(from, O_RDONLY);
  ASSERT_TRUE(fd.ok()) << fd.status().ToString();
  const auto read = journal::ReadJournal(fd->get(), from, [&](const journal::Record& r, uint64_t) {
    all.push_back({r, std::string(r.payload)});
    return Status::Ok();
  });
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  std::string bytes = journal::EncodeHeader(read->header);
  journal::ChainEnd end;
  ASSERT_TRUE(journal::DecodeHeader(bytes, &end.hash).ok());
  uint64_t sequence = 0;
  for (StoredRecord& stored : all) {
    if (!change(&stored)) break;
    stored.record.payload = stored.payload;
    stored.record.sequence = ++sequence;
    stored.record.durable = std::min(stored.record.durable, sequence - 1);
    journal::EncodeRecord(stored.record, &end, &bytes);
  }
  ASSERT_TRUE(WriteFileDurably(to, bytes).ok());
  // It knows of the records that are not there now.
  std::filesystem::remove(std::filesystem::path(to).parent_path().parent_path() / "journal_witness");
}

}  // namespace mr::test
