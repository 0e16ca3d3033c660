#include "worker/task/chunk_writer.h"

#include "common/io/ledger.h"

namespace mr::task {
namespace {
// The largest group that combine() can see whole, in bytes. A larger one is an error in the plan.
constexpr uint64_t kMaxGroupBytes = 1ull << 30;
}  // namespace

Status ChunkWriter::Add(std::string_view key, std::string_view value) {
  if (!options_.combine) return Write(key, value);
  if (to_fold_.Full()) {
    if (options_.any_subset || !options_.order.Equal(key, last_to_fold_)) {
      MR_RETURN_IF_ERROR(Fold());
    } else if (to_fold_.bytes() > kMaxGroupBytes) {
      return InvalidArgument("a group to combine is larger than 1 GiB; declare operator " + oper_->name() +
                             " associative, or submit without its combiner");
    }
  }
  to_fold_.Add(key, value);
  if (to_fold_.Full()) last_to_fold_.assign(key);
  return {};
}

Status ChunkWriter::Fold() {
  if (to_fold_.empty()) return {};
  fold_bytes_.clear();
  to_fold_.Finish(kSorted, &fold_bytes_);
  return CallOperator(*oper_, "combine", [this] {
    return oper_->table->combine(oper_->op, options_.port, {fold_bytes_.data(), fold_bytes_.size()},
                                 &ChunkWriter::EmitFolded, this);
  });
}

int ChunkWriter::EmitFolded(void* context, mr_bytes batch) {
  auto* self = static_cast<ChunkWriter*>(context);
  Operator& oper = *self->oper_;
  if (!oper.failure.ok()) return -1;
  BatchView view;
  if (const char* wrong = BatchView::Parse(batch.data, batch.size, &view)) {
    oper.failure = InvalidArgument("operator " + oper.name() + " combine() emitted a bad batch: " + wrong);
    return -1;
  }
  for (uint32_t i = 0; i < view.size(); ++i) {
    if (self->any_ && self->options_.order.Compare(view.key(i), self->last_key_) < 0) {
      oper.failure =
          InvalidArgument("COMBINE_UNSORTED: operator " + oper.name() + " combine() emitted a key after a larger one");
      return -1;
    }
    oper.failure = self->Write(view.key(i), view.value(i));
    if (!oper.failure.ok()) return -1;
  }
  return 0;
}

Status ChunkWriter::Write(std::string_view key, std::string_view value) {
  const bool alone = key.size() + value.size() > kOwnChunkBytes;
  if (builder_.Full() || (alone && !builder_.empty())) MR_RETURN_IF_ERROR(Flush());
  if (options_.sorted) {
    if (builder_.empty()) continues_ = any_ && key == last_key_;
    last_key_.assign(key);
  }
  any_ = true;
  builder_.Add(key, value);
  return alone ? Flush() : Status();
}

Status ChunkWriter::Flush() {
  if (builder_.empty()) return {};
  const uint32_t records = builder_.size();
  chunk_bytes_.clear();
  uint16_t flags = options_.sorted && !options_.order.custom() ? kSorted : 0;
  if (continues_) flags |= kContinuation;
  builder_.Finish(flags, &chunk_bytes_);
  Ledger::Count(Ledger::gather, 2 * chunk_bytes_.size());
  return out_(partition_, records, chunk_bytes_);
}

Status ChunkWriter::End() {
  MR_RETURN_IF_ERROR(Fold());
  MR_RETURN_IF_ERROR(Flush());
  any_ = continues_ = false;
  return {};
}

}  // namespace mr::task
