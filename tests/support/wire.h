// A network link between two processes that a test controls: a proxy on loopback that forwards connections to a port.
// It can be cut (connections stay open but carry nothing) and slowed down.
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
  // Listens at host:port (0: any free port) and forwards on a thread of its own. bytes_per_second: limit of both
  // directions and all connections together; 0: no limit.
  explicit Wire(const std::string& host = "127.0.0.1", uint16_t port = 0, double bytes_per_second = 0);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  std::string address() const { return host_ + ":" + std::to_string(port_); }
  // Sets the port on 127.0.0.1 to which new connections are forwarded.
  void LeadTo(uint16_t port) { target_ = port; }
  void Cut() { cut_ = true; }
  // Changes the limit; see the constructor.
  void Limit(double bytes_per_second) { bytes_per_second_ = bytes_per_second; }
  // Ends the cut for new connections. Connections from before stay cut.
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
  Instant free_at_;        // of the thread: when the limit allows the next bytes
  std::thread thread_;
};

}  // namespace mr::test
