// Simulates power cuts: records what a program writes below a directory, and makes copies of that directory as a disk
// may hold it when power fails at any moment. kill -9 cannot show a missing sync, because the page cache survives it.
//
// How to use it (tests/master/journal/power_cut_test.cc is an example):
//
//   PowerCut cut(root);               // everything below `root` counts as durable; recording begins
//   ... run the code under test in this process; where it acknowledges number n: cut.Acknowledge(n);
//   cut.Stop();
//   for (size_t step = 0; step <= cut.steps(); ++step) {
//     const PowerCut::Image image = cut.Make(step, seed, copy);   // `copy` is emptied and filled
//     ... open `copy` with the code under test: all numbers of image.acknowledged must be there
//   }
//
// The model is the guarantee of POSIX, which is weaker than that of any one file system:
// - Bytes and size of a file: the state when its last fsync or fdatasync began is safe. After later writes each 4 KiB
//   page (in half of the cuts: each 512-byte sector) has, independently, the state after any of these writes.
// - Names: creating, renaming, linking or removing a name is safe once its directory was synced (fsync of the file is
//   not enough). Any subset of later changes may survive. A rename survives as a whole or not at all. This holds for
//   directories, too.
// - syncfs covers all files and directories below the root. A sync covers the writes before it began. An unsynced file
// may survive with any size that it had.
//
// Link `mr_disk_shim` (see disk_shim.h for what is interposed; writes through mmap or io_uring are not seen). One
// object at a time. Thread-safe while it records. Cost: each step is a call that changed something; Make() is linear
// in the steps, cheap when called with rising steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/disk_shim.h"

namespace mr::test {

class PowerCut final : public DiskObserver {
 public:
  explicit PowerCut(const std::string& root);  // an existing directory, absolute
  ~PowerCut() override;

  // Records that the code under test has acknowledged `number`. Thread: any.
  void Acknowledge(uint64_t number);
  // Ends the recording. Call it before Make().
  void Stop();
  // Returns the number of recorded calls.
  size_t steps() const { return log_.size(); }

  struct Image {
    std::set<uint64_t> acknowledged;  // before the cut
    std::string step;                 // the last call before the power failed, for messages
  };
  // Fills `into` (emptied first; outside of root) with a state that a disk may have if power fails after `step` calls.
  // seed: chooses the unsynced changes that survive. variant: a number below Variants(step) that chooses among the
  // newest changes of names instead. Requires: Stop().
  Image Make(size_t step, uint64_t seed, const std::string& into, std::optional<size_t> variant = {});
  // Returns the number of states after `step` calls that differ in the newest kNewest unsynced changes of names, since
  // a missing sync may show in only one of them. Returns 0 if the last call changed no name. Requires: Stop(). Cost:
  // that of Make().
  static constexpr size_t kNewest = 4;
  size_t Variants(size_t step);

  // DiskObserver.
  void Created(uint64_t inode, const std::string& path, bool directory) override;
  void Wrote(uint64_t inode, uint64_t offset, std::string_view bytes) override;
  void Resized(uint64_t inode, uint64_t size) override;
  void Linked(uint64_t inode, const std::string& path) override;
  void Renamed(const std::string& from, const std::string& to) override;
  void Removed(const std::string& path) override;
  uint64_t SyncBegins() override;
  void Synced(uint64_t inode, uint64_t began) override;
  void AllSynced(uint64_t began) override;

 private:
  struct Op {
    enum Kind { kWrite, kResize, kName, kRename, kUnname, kSync, kSyncAll, kAcknowledge, kNew } kind;
    uint64_t node = 0;       // the changed file or directory; for names: their directory
    uint64_t child = 0;      // kName
    uint64_t number = 0;     // offset, size, the log's length when the sync began, acknowledged number
    std::string bytes;       // kWrite: content; kName, kUnname, kRename: name
    uint64_t to_node = 0;    // kRename
    std::string to;          // kRename
    bool directory = false;  // kNew
  };
  struct Node {
    bool directory = false;
    // The safe state, and the indexes of later changes in the log.
    std::string bytes;
    std::map<std::string, uint64_t> names;
    std::vector<size_t> pending;
  };
  struct Disk {
    std::map<uint64_t, Node> nodes;
    std::set<uint64_t> acknowledged;
    size_t step = 0;
  };

  uint64_t NewNode(uint64_t inode, bool directory);
  void Scan(const std::string& path, uint64_t node);
  // Returns the node of the path's directory and the name in it; node 0 if the path is not below root.
  std::pair<uint64_t, std::string> Place(const std::string& path) const;
  void Add(Op op);
  void Apply(const Op& op, Node* node) const;  // to the safe state
  void Advance(Disk* disk, size_t step) const;
  // Advances to `step` and returns the unsynced changes of names.
  std::set<size_t> NamesAt(size_t step);
  static std::string Describe(const Op& op);

  const std::string root_;
  std::map<uint64_t, uint64_t> by_inode_;                      // node by inode number
  std::map<uint64_t, std::map<std::string, uint64_t>> names_;  // as they are now
  uint64_t next_node_ = 1;
  bool recording_ = false;
  std::vector<Op> log_;
  Disk start_, disk_;
};

}  // namespace mr::test
