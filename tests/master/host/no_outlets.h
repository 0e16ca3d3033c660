// The way to the world of a master that has none: what it sends is dropped.
#pragma once

#include <functional>

#include "master/host/outlets.h"

namespace mr::test {

class NoOutlets final : public master::Outlets {
 public:
  void Apply(uint64_t, master::Message) override {}
  void CloseSession(uint64_t) override {}
  void PushStatus(uint64_t, master::Message) override {}
  void Probe(const Look&, std::function<void(master::Looked)>) override {}
  void InPool(std::function<void()>) override {}
};

}  // namespace mr::test
