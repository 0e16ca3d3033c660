// Shares the master's thread between people: while others call, too, the calls of a subject that has used more than its
// share wait. Calls of others pass them by.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <map>
#include <string>

#include "common/base/time.h"

namespace mr::rpc {

// Thread: the KJ loop of its timer.
class CallPacer {
 public:
  // A quarter of the thread in the long run, and this much at once (guesses: four people who do nothing else can use a
  // master up, and a script's burst of some thousand calls passes unhindered).
  static constexpr double kShare = .25;
  static constexpr Duration kBurst = Millis(500);
  // Somebody calls, too, if the last call was so recent (guess: a page asks once per second).
  static constexpr Duration kPresent = Seconds(2);
  // Calls of one subject that wait; a guess: each holds its parameters.
  static constexpr size_t kMostWaiting = 1000;
  // The cost of a call before it is known (measured: a call to the master's thread and back takes 40 to 100 us).
  static constexpr Duration kCall = Micros(100);

  explicit CallPacer(kj::Timer& timer) : timer_(timer) {}

  // Returns how long the subject's next call must wait; 0 for none. Counts the call.
  Duration Take(const std::string& subject, Instant now);
  // Adds what a call cost beyond kCall.
  void Charge(const std::string& subject, Duration cost);
  // Waits for the turn of a call. Errors: OVERLOADED: too many calls of the subject wait already.
  kj::Promise<void> Wait(const std::string& subject, Duration wait);

 private:
  struct Seen {
    std::string subject;
    Instant at;
  };
  kj::Timer& timer_;
  // When all calls of a subject will be paid for. In the past: it has a reserve, of kBurst at most.
  std::map<std::string, Instant> paid_at_;
  std::map<std::string, size_t> waiting_;
  Seen last_, last_other_;  // the subject that called last, and the last call of another one
};

}  // namespace mr::rpc
