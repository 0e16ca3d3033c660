// A proxy on loopback that forwards one connection after the other, and flips the lowest bit of one byte of each: a
// network that damages or a peer in the middle that changes what it cannot read.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "common/io/files.h"

namespace mr::test {

class FlippedWire {
 public:
  enum Direction { kToServer = 0, kToClient = 1 };
  // at: the byte of that direction, from 0.
  FlippedWire(uint16_t server_port, Direction direction, uint64_t at);
  ~FlippedWire();
  FlippedWire(const FlippedWire&) = delete;
  FlippedWire& operator=(const FlippedWire&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Returns whether a connection got as far as that byte.
  bool flipped() const { return flipped_; }

 private:
  void Carry();
  void Forward(const UniqueFd& client, const UniqueFd& server);

  const uint16_t server_port_;
  const Direction direction_;
  const uint64_t at_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stop_{false}, flipped_{false};
  std::thread thread_;
};

}  // namespace mr::test
