// Flows of bytes over shared links (disks, network interfaces, uplinks of racks), max-min fair.
//
// A flow moves at one rate; on link l it takes share_l times that rate (a reader of many hosts takes
// its own interface with share 1 and each rack's uplink with the part of its bytes from there), and
// never goes faster than its own limit. Rates are the max-min fair ones: no flow can go faster but
// by slowing down one that is not faster than itself (progressive filling; Bertsekas and Gallager,
// Data Networks, 6.5.2).
//
// Cost: a change recomputes the flows that it can reach over links which are short of capacity; a
// link whose flows could all go at their limits joins nothing.
#pragma once

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

 private:
  struct Flow {
    Instant at;  // when `left` was true
    double left = 0, rate = 0, asked = 0, limit = 0;  // limit: asked, bounded by its links
    uint32_t version = 0, mark = 0;
    bool fresh = false, fixed = false;
    double next_rate = 0;
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

  // No flow can go faster than its links alone would let it: with that said, a link with one such flow
  // is not short of anything.
  double Bounded(const Flow& flow, double limit) const;
  void Touch(uint32_t link);
  void Touch(const Flow& flow);
  void Gather(uint32_t link);
  void Fill();
  void Fix(Flow& flow, double rate);

  std::vector<Flow> flows_;
  std::vector<uint32_t> free_;
  std::vector<Link> links_;
  std::vector<uint32_t> dirty_links_, dirty_flows_;
  std::vector<uint32_t> part_, part_links_;             // of one Settle
  std::vector<std::pair<double, uint32_t>> by_limit_;   // the flows of the part
  std::vector<std::pair<double, uint32_t>> levels_;     // a heap: the level at which a link was full when last asked
  uint32_t mark_ = 0;
};

}  // namespace mr::sim
