#include "tests/support/power_cut.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <mutex>

#include "common/base/rng.h"
#include "common/io/files.h"

namespace mr::test {
namespace {

constexpr uint64_t kRoot = 1;

uint64_t InodeOf(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Guards the log, since Acknowledge is called outside of the shim's lock.
std::mutex log_mutex;

}  // namespace

PowerCut::PowerCut(const std::string& root) : root_(root) {
  const uint64_t node = NewNode(InodeOf(root), true);
  start_.nodes[node].directory = true;
  Scan(root, node);
  recording_ = true;
  SetDiskObserver(this);
}

PowerCut::~PowerCut() { Stop(); }

void PowerCut::Stop() {
  if (!recording_) return;
  SetDiskObserver(nullptr);
  recording_ = false;
  disk_ = start_;
}

uint64_t PowerCut::NewNode(uint64_t inode, bool directory) {
  const uint64_t node = next_node_++;
  by_inode_[inode] = node;
  if (directory) names_[node];
  return node;
}

void PowerCut::Scan(const std::string& path, uint64_t node) {
  for (const auto& name : ListDirectory(path).value()) {
    const std::string child_path = path + "/" + name;
    const bool directory = std::filesystem::is_directory(child_path);
    const uint64_t child = NewNode(InodeOf(child_path), directory);
    names_[node][name] = start_.nodes[node].names[name] = child;
    start_.nodes[child].directory = directory;
    if (directory)
      Scan(child_path, child);
    else
      start_.nodes[child].bytes = ReadFile(child_path).value();
  }
}

std::pair<uint64_t, std::string> PowerCut::Place(const std::string& path) const {
  const std::string clean = std::filesystem::path(path).lexically_normal().string();
  if (!clean.starts_with(root_ + "/")) return {0, ""};
  uint64_t node = kRoot;
  std::string rest = clean.substr(root_.size() + 1);
  for (size_t slash; (slash = rest.find('/')) != std::string::npos; rest = rest.substr(slash + 1)) {
    const auto names = names_.find(node);
    if (names == names_.end() || !names->second.contains(rest.substr(0, slash))) return {0, ""};
    node = names->second.at(rest.substr(0, slash));
  }
  return {rest.empty() || !names_.contains(node) ? 0 : node, rest};
}

void PowerCut::Add(Op op) {
  std::lock_guard lock(log_mutex);
  log_.push_back(std::move(op));
}

void PowerCut::Acknowledge(uint64_t number) { Add({.kind = Op::kAcknowledge, .number = number}); }

void PowerCut::Created(uint64_t inode, const std::string& path, bool directory) {
  const auto [parent, name] = Place(path);
  if (parent == 0 && !path.empty()) return;  // an unnamed file may be linked below root later
  const uint64_t node = NewNode(inode, directory);
  Add({.kind = Op::kNew, .node = node, .directory = directory});
  if (parent == 0) return;
  names_[parent][name] = node;
  Add({.kind = Op::kName, .node = parent, .child = node, .bytes = name});
}

void PowerCut::Wrote(uint64_t inode, uint64_t offset, std::string_view bytes) {
  const auto it = by_inode_.find(inode);
  if (it == by_inode_.end()) return;
  Add({.kind = Op::kWrite, .node = it->second, .number = offset, .bytes = std::string(bytes)});
}

void PowerCut::Resized(uint64_t inode, uint64_t size) {
  const auto it = by_inode_.find(inode);
  if (it != by_inode_.end()) Add({.kind = Op::kResize, .node = it->second, .number = size});
}

void PowerCut::Linked(uint64_t inode, const std::string& path) {
  const auto [parent, name] = Place(path);
  const auto it = by_inode_.find(inode);
  if (parent == 0 || it == by_inode_.end()) return;
  names_[parent][name] = it->second;
  Add({.kind = Op::kName, .node = parent, .child = it->second, .bytes = name});
}

void PowerCut::Renamed(const std::string& from, const std::string& to) {
  const auto [a, name] = Place(from);
  const auto [b, new_name] = Place(to);
  if (a == 0 || b == 0 || !names_[a].contains(name)) {
    if (a != 0) Removed(from);  // it left
    return;
  }
  const uint64_t child = names_[a][name];
  names_[a].erase(name);
  names_[b][new_name] = child;
  Add({.kind = Op::kRename, .node = a, .child = child, .bytes = name, .to_node = b, .to = new_name});
}

void PowerCut::Removed(const std::string& path) {
  const auto [parent, name] = Place(path);
  if (parent == 0 || names_[parent].erase(name) == 0) return;
  Add({.kind = Op::kUnname, .node = parent, .bytes = name});
}

uint64_t PowerCut::SyncBegins() {
  std::lock_guard lock(log_mutex);
  return log_.size();
}

void PowerCut::Synced(uint64_t inode, uint64_t began) {
  const auto it = by_inode_.find(inode);
  if (it != by_inode_.end()) Add({.kind = Op::kSync, .node = it->second, .number = began});
}

void PowerCut::AllSynced(uint64_t began) { Add({.kind = Op::kSyncAll, .number = began}); }

void PowerCut::Apply(const Op& op, Node* node) const {
  switch (op.kind) {
    case Op::kWrite:
      if (node->bytes.size() < op.number + op.bytes.size()) node->bytes.resize(op.number + op.bytes.size());
      std::copy(op.bytes.begin(), op.bytes.end(), node->bytes.begin() + static_cast<long>(op.number));
      return;
    case Op::kResize: node->bytes.resize(op.number); return;
    case Op::kName: node->names[op.bytes] = op.child; return;
    case Op::kUnname: node->names.erase(op.bytes); return;
    default: return;
  }
}

void PowerCut::Advance(Disk* disk, size_t step) const {
  // A rename is one change of two directories: safe in both with the first sync of either.
  const auto rename = [&](size_t at) {
    const Op& op = log_[at];
    Node& from = disk->nodes[op.node];
    const auto it = from.names.find(op.bytes);
    if (it != from.names.end() && it->second == op.child) from.names.erase(it);
    disk->nodes[op.to_node].names[op.to] = op.child;
    for (const uint64_t n : {op.node, op.to_node}) std::erase(disk->nodes[n].pending, at);
  };
  for (; disk->step < step; ++disk->step) {
    const size_t at = disk->step;
    const Op& op = log_[at];
    switch (op.kind) {
      case Op::kNew: disk->nodes[op.node].directory = op.directory; break;
      case Op::kAcknowledge: disk->acknowledged.insert(op.number); break;
      case Op::kRename:
        disk->nodes[op.node].pending.push_back(at);
        if (op.to_node != op.node) disk->nodes[op.to_node].pending.push_back(at);
        break;
      case Op::kSync: {
        // In order, so that a rename finds names that were made before it.
        while (true) {
          auto& pending = disk->nodes[op.node].pending;
          if (pending.empty() || pending.front() >= op.number) break;
          const size_t first = pending.front();
          if (log_[first].kind == Op::kRename) {
            rename(first);
          } else {
            Apply(log_[first], &disk->nodes[op.node]);
            pending.erase(pending.begin());
          }
        }
        break;
      }
      case Op::kSyncAll: {
        std::set<size_t> covered;
        for (const auto& [id, node] : disk->nodes) {
          covered.insert(node.pending.begin(), std::ranges::lower_bound(node.pending, size_t{op.number}));
        }
        for (const size_t change : covered) {
          if (log_[change].kind == Op::kRename) {
            rename(change);
          } else {
            Node& node = disk->nodes[log_[change].node];
            Apply(log_[change], &node);
            std::erase(node.pending, change);
          }
        }
        break;
      }
      default: disk->nodes[op.node].pending.push_back(at);
    }
  }
}

std::string PowerCut::Describe(const Op& op) {
  static const char* const kNames[] = {"write", "resize",      "name",        "rename", "unname",
                                       "sync",  "sync of all", "acknowledge", "create"};
  return std::string(kNames[op.kind]) + " of file " + std::to_string(op.node) + " (" +
         (op.kind == Op::kWrite ? std::to_string(op.bytes.size()) + " bytes" : op.bytes) + ") " +
         std::to_string(op.number);
}

std::set<size_t> PowerCut::NamesAt(size_t step) {
  EXPECT_FALSE(recording_) << "Stop() first";
  if (disk_.step > step) disk_ = start_;
  Advance(&disk_, step);
  std::set<size_t> changes;
  for (const auto& [id, node] : disk_.nodes) {
    if (node.directory) changes.insert(node.pending.begin(), node.pending.end());
  }
  return changes;
}

size_t PowerCut::Variants(size_t step) {
  const std::set<size_t> changes = NamesAt(step);
  if (step == 0 || !changes.contains(step - 1)) return 0;
  return size_t{1} << std::min(kNewest, changes.size());
}

PowerCut::Image PowerCut::Make(size_t step, uint64_t seed, const std::string& into, std::optional<size_t> variant) {
  const std::set<size_t> changes = NamesAt(step);
  Rng rng(seed);
  Disk after;  // the state once power is back
  for (const auto& [id, node] : disk_.nodes) {
    Node& out = after.nodes[id];
    out.directory = node.directory;
    if (node.directory) {
      out.names = node.names;
      continue;
    }
    // The file has any size that it had since. Each page has the state after any of the writes.
    std::vector<std::string> states{node.bytes};
    Node growing{false, node.bytes, {}, {}};
    uint64_t largest = node.bytes.size();
    for (const size_t at : node.pending) {
      Apply(log_[at], &growing);
      largest = std::max<uint64_t>(largest, growing.bytes.size());
      states.push_back(growing.bytes);
    }
    if (states.size() == 1) {
      out.bytes = node.bytes;
      continue;
    }
    const uint64_t unit = rng.Below(2) == 0 ? 4096 : 512;
    out.bytes.resize(states[rng.Below(states.size())].size());
    for (uint64_t begin = 0; begin < out.bytes.size(); begin += unit) {
      const std::string& from = states[rng.Below(states.size())];
      const uint64_t end = std::min({begin + unit, uint64_t{out.bytes.size()}, uint64_t{from.size()}});
      if (begin < end)
        std::copy(from.begin() + static_cast<long>(begin), from.begin() + static_cast<long>(end),
                  out.bytes.begin() + static_cast<long>(begin));
    }
  }
  // Changes of names, in order. Each survives or not.
  size_t left = changes.size();
  for (const size_t at : changes) {
    const bool drawn = rng.Below(2) != 0;
    const size_t newer = --left;
    if (variant && newer < kNewest ? (*variant >> newer & 1) == 0 : !drawn) continue;
    const Op& op = log_[at];
    Node& node = after.nodes[op.node];
    if (op.kind != Op::kRename) {
      Apply(op, &node);
      continue;
    }
    const auto it = node.names.find(op.bytes);
    if (it != node.names.end() && it->second == op.child) node.names.erase(it);
    after.nodes[op.to_node].names[op.to] = op.child;
  }
  EXPECT_TRUE(RemoveTree(into).ok());
  const std::function<void(uint64_t, const std::string&)> write = [&](uint64_t id, const std::string& path) {
    const Node& node = after.nodes[id];
    if (!node.directory) {
      const auto fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC);
      EXPECT_TRUE(fd.ok() && PwriteAll(fd->get(), node.bytes, 0).ok()) << path;
      return;
    }
    EXPECT_TRUE(MakeDirectories(path).ok());
    for (const auto& [name, child] : node.names) write(child, path + "/" + name);
  };
  write(kRoot, into);
  return {disk_.acknowledged, step == 0 ? "nothing" : Describe(log_[step - 1])};
}

}  // namespace mr::test
