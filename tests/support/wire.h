// A network between two processes that a test holds in its hands: a proxy on loopback that carries
// connections to a port, can be cut (both ends stay open and dumb), and can be slow.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <string>
#include <thread>

#include "common/base/time.h"
#include "common/io/files.h"

namespace mr::test {

class Wire {
 public:
  // Listens at host:port (0: any). bytes_per_second: of both directions and all connections together;
  // 0: as fast as it goes. Its own thread carries.
  explicit Wire(const std::string& host = "127.0.0.1", uint16_t port = 0, double bytes_per_second = 0);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  std::string address() const { return host_ + ":" + std::to_string(port_); }
  // Where new connections lead to, at 127.0.0.1.
  void LeadTo(uint16_t port) { target_ = port; }
  void Cut() { cut_ = true; }
  // Replaces bytes_per_second of the constructor.
  void Limit(double bytes_per_second) { bytes_per_second_ = bytes_per_second; }
  // New connections are carried; those of before are not.
  void Mend() { cut_ = false; }

 private:
  struct Line {
    UniqueFd ends[2];
    bool dumb = false;
  };

  void Carry();
  void Accept();
  void Pass(Line* line, int from);

  const std::string host_;
  std::atomic<double> bytes_per_second_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<uint16_t> target_{0};
  std::atomic<bool> cut_{false}, stop_{false};
  std::list<Line> lines_;  // of the thread
  Instant free_at_;        // of the thread: when the wire has room again
  std::thread thread_;
};

}  // namespace mr::test
