// mrctl fs cat, text, head and tail: prints files of the block store, and directories as their parts in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/stored_parts.h"

namespace mr::ctl {

// The texts that one command shows: on standard output at once for people, collected for a document. After a reader of
// standard output has left, such as head, nothing more is read, and that is no error.
class FsShow {
 public:
  FsShow(const Settings& settings, dfs::BlockingDfs& store) : settings_(settings), store_(store) {}

  // Shows a file, or all parts of a directory. Errors: kNotFound; kInvalidArgument: a directory without files; of the
  // block store and of standard output.
  Status Cat(const std::string& path);
  // Shows these parts.
  Status Cat(const std::vector<StoredPart>& parts);
  // Like Cat, and decompresses what is compressed by its name.
  Status Text(const std::string& path);
  // Show the first or last lines of a file, or of the parts of a directory as one text. lines: their number.
  Status Head(const std::string& path, uint64_t lines);
  Status Tail(const std::string& path, uint64_t lines);

  bool reader_left() const { return reader_left_; }
  const std::vector<FileText>& contents() const { return contents_; }

 private:
  // Returns the file, or the parts of the directory.
  Result<std::vector<StoredPart>> PartsOf(const std::string& path);
  Status CatPart(const StoredPart& part);
  Status TextOf(const StoredPart& part);
  // Prints for people; adds to the text of a document.
  Status Show(std::string_view piece, std::string* kept);
  void Keep(const std::string& path, std::string text);
  bool people() const { return settings_.form == OutputForm::kTable; }

  const Settings& settings_;
  dfs::BlockingDfs& store_;
  bool reader_left_ = false;
  std::vector<FileText> contents_;
};

}  // namespace mr::ctl
