// The headers of the parts of a job's output. A table job begins each part-* file with the same header, and writes that
// fact into _SUCCESS. Whoever prints or merges the parts keeps the first header and leaves the others out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/csv_dialect.h"
#include "common/base/status.h"

namespace mr::ctl {

// Returns the dialect of the header of each part, from the text of _SUCCESS, or nothing if the parts have none.
std::optional<CsvDialect> HeaderInSuccess(std::string_view success);

// Returns whether a file of an output directory is a part that may have a header.
bool IsMainPart(std::string_view name);

// Finds where the rows of the parts of one directory begin.
class PartHeaders {
 public:
  // Returns the first `bytes` bytes of a part, or all if it has fewer.
  using Head = std::function<Result<std::string>(uint64_t bytes)>;

  // success: the text of _SUCCESS, or "" without one.
  explicit PartHeaders(std::string_view success) : dialect_(HeaderInSuccess(success)) {}

  // Returns the number of bytes to leave out at the start of the next part: 0 for the first one, and where no part has
  // a header. Errors: those of `head`, and kCorrupted if the part does not begin with a whole record.
  Result<uint64_t> BytesToSkip(const std::string& name, const Head& head);

 private:
  std::optional<CsvDialect> dialect_;
  bool kept_ = false;  // the header of an earlier part
};

}  // namespace mr::ctl
