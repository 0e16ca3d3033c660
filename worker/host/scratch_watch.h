// Measures the scratch files of running attempts, so that one that fills the disk is ended. Has a thread of its own,
// because a directory may have a million files. Any thread.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace mr::worker {

// Returns the bytes on disk of all files below the directory, without other file systems. Stops above `most`.
uint64_t BytesBelow(const std::string& directory, uint64_t most);

class ScratchWatch {
 public:
  // most: bytes of an attempt; 0: nothing is watched, and there is no thread. over: called on the watch's thread, with
  // the attempt and what it uses at least. It may be called again until Remove.
  ScratchWatch(uint64_t most, std::function<void(uint64_t attempt, uint64_t bytes)> over);
  ~ScratchWatch();
  ScratchWatch(const ScratchWatch&) = delete;
  ScratchWatch& operator=(const ScratchWatch&) = delete;

  // Watches the directory, and the files that the process and those below it have open without a name.
  void Add(uint64_t attempt, const std::string& directory, pid_t root);
  void Remove(uint64_t attempt);
  uint64_t most() const { return most_; }

 private:
  struct Watched {
    std::string directory;
    pid_t root = 0;
  };
  void Run();

  const uint64_t most_;
  const std::function<void(uint64_t, uint64_t)> over_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::map<uint64_t, Watched> watched_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mr::worker
