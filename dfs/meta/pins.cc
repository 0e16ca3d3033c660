// Pins: the files that jobs read stay readable until their jobs end, whatever happens to their paths.
#include <algorithm>

#include "dfs/meta/state.h"

namespace mr::dfs {

void State::AddPin(uint64_t pin, std::vector<uint64_t> files) {
  for (const uint64_t file : files) ++pinned[file];
  pins.Put(pin, {std::move(files)});
  next_pin = std::max(next_pin, pin + 1);
}

void State::ReleasePin(uint64_t pin, std::vector<Effect>* effects) {
  const Pin* found = pins.Find(pin);
  if (found == nullptr) return;
  const std::vector<uint64_t> files = found->files;
  pins.Erase(pin);
  for (const uint64_t file : files) {
    const auto count = pinned.find(file);
    if (--count->second > 0) continue;
    pinned.erase(count);
    if (nodes.Find(file)->parent == 0) DropNode(file, effects);
  }
}

Namespace::Prepared Namespace::PreparePin(const Stamp& stamp, std::vector<uint64_t> files) const {
  const State& s = impl_->state;
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  for (const uint64_t file : files) {
    const Node* node = s.nodes.Find(file);
    if (node == nullptr || node->directory) return NotFound("there is no file with id " + std::to_string(file));
  }
  return std::optional<Record>(InputsPinned{stamp, s.next_pin, std::move(files)});
}

Namespace::Prepared Namespace::PrepareRelease(uint64_t pin) const {
  if (!impl_->state.pins.Has(pin)) return std::optional<Record>();
  return std::optional<Record>(InputsReleased{pin});
}

std::vector<uint64_t> Namespace::Pins() const {
  std::vector<uint64_t> all;
  for (const auto& [id, pin] : impl_->state.pins.all()) all.push_back(id);
  return all;
}

}  // namespace mr::dfs
