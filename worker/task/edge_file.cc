#include "worker/task/edge_file.h"

#include <utility>

#include "common/abi/batch.h"
#include "worker/task/output.h"

namespace mr::task {

Result<bool> EdgeFile::Next(uint64_t, ByteBuffer* out) {
  file_.clear();
  while (file_.empty()) {
    std::string_view batch;
    MR_ASSIGN_OR_RETURN(const bool got, next_(&batch));
    if (!got) return false;
    BatchView view;
    if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) return Corrupted(name_ + ": " + wrong);
    file_.reserve(view.key_bytes() + view.value_bytes() + 2 * size_t{view.size()});
    for (uint32_t i = 0; i < view.size(); ++i) {
      if (std::exchange(header_, false)) continue;
      const std::string_view key = view.key(i), value = view.value(i);
      if (!AppendAsFile(written_, key, value, &file_)) return WrongLength(written_, key.size() + value.size(), name_);
    }
  }
  out->Append(file_);
  bytes_ += file_.size();
  return true;
}

}  // namespace mr::task
