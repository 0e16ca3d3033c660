// Flows of bytes over shared links (disks, network interfaces, uplinks of racks), max-min fair.
//
// A flow moves at one rate. On link l it takes share_l times that rate. A reader of many hosts takes its own interface
// with share 1, and each rack's uplink with the share of its bytes from there. It never exceeds its own limit. In
// max-min fair rates, a flow can go faster only by slowing down one that is not faster (progressive filling; Bertsekas
// and Gallager, Data Networks, 6.5.2).
//
// Cost: a change recomputes its own links that are short of capacity, and then only as far as rates change. In a busy
// cluster all disks are connected, and a change moves three flows of thousands. The result equals that of a full
// recomputation bit for bit (flows.cc).
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

  // capacity: bytes per second, > 0. Returns the link's number, from 0.
  uint32_t AddLink(double capacity);
  // Starts a flow. bytes >= 0; limit: bytes per second, > 0; each link at most once. Its rate is known after Settle.
  uint32_t Start(Instant now, double bytes, double limit, std::span<const Use> uses);
  void SetLimit(Instant now, uint32_t flow, double limit);
  // Changes a link's capacity from now on. Cost: O(flows of the link).
  void SetCapacity(Instant now, uint32_t link, double capacity);
  // Ends a flow and returns the bytes that it had left. Its number is used again.
  double End(Instant now, uint32_t flow);
  double Left(Instant now, uint32_t flow) const;
  double rate(uint32_t flow) const { return flows_[flow].rate; }

  struct Due {
    uint32_t flow = 0, version = 0;
    Instant at;
  };
  // Recomputes the rates. Appends each flow whose end has moved, with its new end. Earlier Dues of the same number have
  // another version.
  void Settle(Instant now, std::vector<Due>* due);
  bool Current(uint32_t flow, uint32_t version) const { return flows_[flow].version == version; }

  // Number of flows examined by Settle so far: a measure of its cost that is the same on any machine.
  uint64_t looks() const { return looks_; }

 private:
  static constexpr uint32_t kByLimit = ~0u;
  // The point of the filling at which a flow stopped growing: the level, and the full link, or kByLimit for its own
  // limit.
  struct Stop {
    double level = 0;
    uint32_t link = kByLimit;
    bool operator==(const Stop&) const = default;
  };
  struct Flow {
    Instant at;                                       // instant of `left`
    double left = 0, rate = 0, asked = 0, limit = 0;  // limit: asked, bounded by its links
    Stop stop, next;                                  // next: of the filling in progress
    uint32_t version = 0, mark = 0;
    bool fresh = false, fixed = false;
    std::vector<Use> uses;
    std::vector<uint32_t> places;  // indexes in the links' lists
  };
  struct Member {
    uint32_t flow = 0, use = 0;
  };
  struct Link {
    double capacity = 0, demand = 0;  // demand: sum of share times limit of its flows
    double room = 0, shares = 0;      // while filling
    uint32_t mark = 0;
    bool dirty = false;
    std::vector<Member> members;
    // Returns true if the link is short of capacity, beyond the rounding of many additions.
    bool tight() const { return demand > capacity * (1 + 1e-9); }
  };
  // The latest point at which a flow stops. Order: limits before links, links by number, then the order in the link's
  // list.
  struct Latest {
    double level = 0;
    uint32_t link = 0;   // + 1; 0: its own limit
    uint32_t place = 0;  // index in the link's list; for a limit, the flow
    uint32_t flow = 0;
    auto operator<=>(const Latest&) const = default;
  };
  using Level = std::pair<double, uint32_t>;  // level and number of a link

  // Caps a limit by the flow's links, since no flow is faster than its links alone allow. So a link with one flow is
  // never short of capacity.
  double Bounded(const Flow& flow, double limit) const;
  void Touch(uint32_t link);
  void Touch(const Flow& flow);
  void Take(uint32_t link);  // adds the link and all its flows to the part
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
  std::vector<Latest> latest_;               // heap over the flows of the part
  std::vector<Level> levels_;                // heap: the level at which a link was full when last computed
  uint32_t mark_ = 0;
  uint64_t looks_ = 0;
};

}  // namespace mr::sim
