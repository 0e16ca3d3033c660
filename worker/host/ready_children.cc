#include "worker/host/ready_children.h"

#include <algorithm>
#include <utility>

#include "common/io/clock.h"

namespace mr::worker {
namespace {
// How long no child must have been taken before new ones are made (guess): longer than a small job runs, so that their
// start takes no time of its tasks.
constexpr Duration kQuiet = Millis(20);
}  // namespace

ReadyChildren::ReadyChildren(Loop* loop, size_t most, std::function<Result<std::shared_ptr<Child>>()> make)
    : loop_(loop), most_(most), make_(std::move(make)) {}

std::shared_ptr<Child> ReadyChildren::Take() {
  while (!waiting_.empty()) {
    std::shared_ptr<Child> child = std::move(waiting_.back()->child);
    child->SetHandler(nullptr);
    waiting_.pop_back();
    taken_ = Now();
    FillWhenQuiet();
    if (!child->exited()) return child;
  }
  return nullptr;
}

void ReadyChildren::Fill() {
  if (filling_ || waiting_.size() >= most_) return;
  filling_ = true;
  loop_->Post([this] { FillOne(); });
}

void ReadyChildren::FillOne() {
  filling_ = false;
  if (waiting_.size() >= most_) return;
  auto child = make_();
  if (!child.ok()) return;  // the task that needs a child reports the reason
  auto waiting = std::make_unique<Waiting>();
  waiting->owner = this;
  waiting->child = *std::move(child);
  waiting->child->SetHandler(waiting.get());
  waiting_.push_back(std::move(waiting));
  Fill();
}

void ReadyChildren::FillWhenQuiet() {
  if (std::exchange(armed_, true)) return;
  loop_->At(taken_ + kQuiet, [this] {
    armed_ = false;
    if (Now() - taken_ < kQuiet) return FillWhenQuiet();
    Fill();
  });
}

void ReadyChildren::Close() {
  most_ = 0;
  waiting_.clear();  // children end with their owners
}

void ReadyChildren::Waiting::OnExit(Helper::Exit) {
  const std::shared_ptr<Child> keep = child;  // it is the caller
  keep->SetHandler(nullptr);
  std::erase_if(owner->waiting_, [this](const auto& w) { return w.get() == this; });
}

}  // namespace mr::worker
