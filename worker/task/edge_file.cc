#include "worker/task/edge_file.h"

#include <utility>

#include "common/abi/batch.h"
#include "worker/task/output.h"

namespace mr::task {

Result<bool> EdgeFile::Next(uint64_t, std::string* out) {
  const size_t had = out->size();
  while (out->size() == had) {
    std::string_view batch;
    MR_ASSIGN_OR_RETURN(const bool got, next_(&batch));
    if (!got) return false;
    BatchView view;
    if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) return Corrupted(name_ + ": " + wrong);
    out->reserve(had + view.key_bytes() + view.value_bytes() + 2 * size_t{view.size()});
    for (uint32_t i = 0; i < view.size(); ++i) {
      if (std::exchange(header_, false)) continue;
      const std::string_view key = view.key(i), value = view.value(i);
      if (!AppendAsFile(written_, key, value, out)) return WrongLength(written_, key.size() + value.size(), name_);
    }
  }
  bytes_ += out->size() - had;
  return true;
}

}  // namespace mr::task
