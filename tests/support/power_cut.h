// Simulates power cuts: records what a program writes below a directory, and makes copies of that directory as a disk
// may hold it when power fails at any moment. kill -9 cannot show a missing sync, because the page cache survives it.
//
// How to use it (tests/master/journal/power_cut_test.cc is an example):
//
//   PowerCut cut(root);               // what is below `root` now counts as durable; recording begins
//   ... run the code under test in this process; where it acknowledges number n: cut.Acknowledge(n);
//   cut.Stop();
//   for (size_t step = 0; step <= cut.steps(); ++step) {
//     const PowerCut::Image image = cut.Make(step, seed, copy);   // `copy` is emptied and filled
//     ... open `copy` with the code under test: all that image.acknowledged names must be there
//   }
//
// The model is what POSIX promises, which is less than any one file system does:
// - Bytes and size of a file: what was there when its last fsync or fdatasync began is safe. Of later writes each 4 KiB
//   page (in half of the cuts: each 512 byte sector) has, independently, the state behind any of them, in order.
// - Names: creating, renaming, linking and removing one is safe once its directory was synced (fsync of the file is not
//   enough). Of later changes any subset may be there. A rename is whole or absent. This holds for directories, too.
// - A sync covers what was written before it began. An unsynced file may be there with any size that it had.
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
  explicit PowerCut(const std::string& root);  // exists, absolute
  ~PowerCut() override;

  // From any thread, when the code under test says that `number` is safe.
  void Acknowledge(uint64_t number);
  // Ends the recording; the test must do so before it makes images.
  void Stop();
  // How many recorded calls there are.
  size_t steps() const { return log_.size(); }

  struct Image {
    std::set<uint64_t> acknowledged;  // before the cut
    std::string step;                 // the call behind which power failed, for messages
  };
  // Fills `into` (emptied first; outside of root) with what a disk may hold if power fails behind `step` calls.
  // seed: chooses which of the unsynced changes are there. variant: below Variants(step), chooses of the newest changes
  // of names instead. Requires: Stop().
  Image Make(size_t step, uint64_t seed, const std::string& into, std::optional<size_t> variant = {});
  // Cuts behind `step` calls that differ in the newest kNewest unsynced changes of names, where the last call made one
  // of them: a missing sync may show in one of these alone. 0 where it made none. Requires: Stop(). Cost: as Make().
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

 private:
  struct Op {
    enum Kind { kWrite, kResize, kName, kRename, kUnname, kSync, kAcknowledge, kNew } kind;
    uint64_t node = 0;       // file or directory that it is about; of names: the directory
    uint64_t child = 0;      // kName
    uint64_t number = 0;     // offset, size, the log's length when the sync began, acknowledged number
    std::string bytes;       // kWrite: content; kName, kUnname, kRename: name
    uint64_t to_node = 0;    // kRename
    std::string to;          // kRename
    bool directory = false;  // kNew
  };
  struct Node {
    bool directory = false;
    // The safe state, and the places in the log of later changes.
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
  // The directory's node and the name in it; node 0 where the path is not below root.
  std::pair<uint64_t, std::string> Place(const std::string& path) const;
  void Add(Op op);
  void Apply(const Op& op, Node* node) const;  // to what is safe
  void Advance(Disk* disk, size_t step) const;
  // Advances, and gives the unsynced changes of names.
  std::set<size_t> NamesAt(size_t step);
  static std::string Describe(const Op& op);

  const std::string root_;
  std::map<uint64_t, uint64_t> by_inode_;                      // open to changes, as the kernel numbers them
  std::map<uint64_t, std::map<std::string, uint64_t>> names_;  // as they are now
  uint64_t next_node_ = 1;
  bool recording_ = false;
  std::vector<Op> log_;
  Disk start_, disk_;
};

}  // namespace mr::test
