#include "worker/task/merge.h"

namespace mr::task {
namespace {
constexpr uint32_t kNone = 0xffffffff;  // a leaf after the last run
}

Status RunCursor::NextChunk() {
  while (chunk_ < run_->chunks.size()) {
    const Chunk& chunk = run_->chunks[chunk_++];
    const char* data = chunk.data;
    if (data == nullptr) {
      MR_ASSIGN_OR_RETURN(data, spill_->At(chunk.offset, chunk.size));
    }
    if (const char* wrong = BatchView::Parse(data, chunk.size, &view_)) {
      return Corrupted(std::string("cannot read a sorted run: ") + wrong);
    }
    if (view_.size() == 0) continue;
    at_ = 0;
    Load();
    return {};
  }
  at_end_ = true;
  return {};
}

Merger::Merger(const std::vector<const Run*>& runs, SpillFile* spill, KeyOrder order) : order_(order) {
  cursors_.reserve(runs.size());
  for (const Run* run : runs) cursors_.emplace_back(run, spill, order);
  while (leaves_ < cursors_.size()) leaves_ *= 2;
  losers_.assign(leaves_, {kLast, kNone});
}

Merger::Node Merger::NodeOf(uint32_t run) const {
  const RunCursor& cursor = cursors_[run];
  return {cursor.at_end() ? kLast : cursor.prefix(), run};
}

bool Merger::LessTail(uint32_t a, uint32_t b) const {
  if (a == kNone) return false;
  if (b == kNone) return true;
  const RunCursor& x = cursors_[a];
  const RunCursor& y = cursors_[b];
  if (x.at_end() || y.at_end()) return !x.at_end() || (y.at_end() && a < b);
  const int c = order_.Compare(x.key(), y.key());
  return c != 0 ? c < 0 : a < b;
}

Merger::Node Merger::Build(uint32_t node) {
  if (node >= leaves_) return node - leaves_ < cursors_.size() ? NodeOf(node - leaves_) : Node{kLast, kNone};
  const Node left = Build(2 * node), right = Build(2 * node + 1);
  const bool left_wins = Less(left, right);
  losers_[node] = left_wins ? right : left;
  return left_wins ? left : right;
}

Status Merger::Start() {
  for (RunCursor& c : cursors_) MR_RETURN_IF_ERROR(c.NextChunk());
  if (!cursors_.empty()) winner_ = Build(1).run;
  return {};
}

Status Merger::Next() {
  MR_RETURN_IF_ERROR(cursors_[winner_].Advance());
  Node best = NodeOf(winner_);
  for (uint32_t at = (winner_ + leaves_) / 2; at >= 1; at /= 2) {
    const Node loser = losers_[at];
    // Two choices of values compile to moves without a branch. No processor predicts which of the two runs wins.
    const bool wins = Less(loser, best);
    losers_[at] = wins ? best : loser;
    best = wins ? loser : best;
  }
  winner_ = best.run;
  return {};
}

}  // namespace mr::task
