// Flows of bytes over shared links (disks, network interfaces, uplinks of racks), max-min fair.
//
// A flow moves at one rate; on link l it takes share_l times that rate (a reader of many hosts takes
// its own interface with share 1 and each rack's uplink with the part of its bytes from there), and
// never goes faster than its own limit. Rates are the max-min fair ones: no flow can go faster but
// by slowing down one that is not faster than itself (progressive filling; Bertsekas and Gallager,
// Data Networks, 6.5.2).
//
// Cost: a change recomputes the links that it is on and that are short of capacity, and from there as far
// as rates do change: in a busy cluster all disks hang together, and a change moves three flows of thousands.
// What comes out is bit for bit what filling all of it anew would give (flows.cc).
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/base/time.h"

namespace mr::sim {

class Flows {
 public:
  struct Use {
    uint32_t link = 0;
    double share = 1;
  };

  // capacity: bytes per second, > 0. Links are numbered from 0.
  uint32_t AddLink(double capacity);
  // bytes >= 0; limit: bytes per second, > 0; each link at most once. The rate is known after Settle.
  uint32_t Start(Instant now, double bytes, double limit, std::span<const Use> uses);
  void SetLimit(Instant now, uint32_t flow, double limit);
  // From now on; of a link whose flows are few, since each is looked at.
  void SetCapacity(Instant now, uint32_t link, double capacity);
  // Ends it; returns the bytes that it had left. Its number will be used again.
  double End(Instant now, uint32_t flow);
  double Left(Instant now, uint32_t flow) const;
  double rate(uint32_t flow) const { return flows_[flow].rate; }

  struct Due {
    uint32_t flow = 0, version = 0;
    Instant at;
  };
  // Recomputes what changed; appends each flow whose end has moved, and when it is now. An earlier
  // Due of the same flow, or of an ended one, has another version.
  void Settle(Instant now, std::vector<Due>* due);
  bool Current(uint32_t flow, uint32_t version) const { return flows_[flow].version == version; }

  // Flows that were looked at to know rates: what Settle costs, the same on any machine.
  uint64_t looks() const { return looks_; }

 private:
  static constexpr uint32_t kByLimit = ~0u;
  // When a flow stopped growing, in the order of the filling: at this level, by its own limit or because
  // this link was full.
  struct Stop {
    double level = 0;
    uint32_t link = kByLimit;
    bool operator==(const Stop&) const = default;
  };
  struct Flow {
    Instant at;                                       // when `left` was true
    double left = 0, rate = 0, asked = 0, limit = 0;  // limit: asked, bounded by its links
    Stop stop, next;                                  // next: of the filling under way
    uint32_t version = 0, mark = 0;
    bool fresh = false, fixed = false;
    std::vector<Use> uses;
    std::vector<uint32_t> places;  // in the links' lists
  };
  struct Member {
    uint32_t flow = 0, use = 0;
  };
  struct Link {
    double capacity = 0, demand = 0;  // demand: if all its flows went at their limits
    double room = 0, shares = 0;      // while filling
    uint32_t mark = 0;
    bool dirty = false;
    std::vector<Member> members;
    // Short of capacity, and not by the rounding of many additions.
    bool tight() const { return demand > capacity * (1 + 1e-9); }
  };
  // A flow stops at the latest then: limits before links, links by number, flows of a link in its order.
  struct Latest {
    double level = 0;
    uint32_t link = 0;   // + 1; 0: by its limit
    uint32_t place = 0;  // in the link's list; by a limit the flow
    uint32_t flow = 0;
    auto operator<=>(const Latest&) const = default;
  };
  using Level = std::pair<double, uint32_t>;  // of a link

  // No flow can go faster than its links alone would let it: with that said, a link with one such flow
  // is not short of anything.
  double Bounded(const Flow& flow, double limit) const;
  void Touch(uint32_t link);
  void Touch(const Flow& flow);
  void Take(uint32_t link);  // into the part, with all its flows
  bool Spread(bool all);
  Latest LatestOf(uint32_t flow) const;
  void Fill();
  void Fix(Flow& flow, double level, uint32_t link);
  double LevelOf(uint32_t link) const { return links_[link].room / links_[link].shares; }

  std::vector<Flow> flows_;
  std::vector<uint32_t> free_;
  std::vector<Link> links_;
  std::vector<uint32_t> dirty_links_, dirty_flows_;
  std::vector<uint32_t> part_, part_links_;  // of one Settle
  std::vector<Latest> latest_;               // a heap: of the flows of the part
  std::vector<Level> levels_;                // a heap: the level at which a link was full when last asked
  uint32_t mark_ = 0;
  uint64_t looks_ = 0;
};

}  // namespace mr::sim
