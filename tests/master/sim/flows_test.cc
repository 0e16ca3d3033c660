// Max-min fair rates against examples worked by hand.
#include "master/sim/engine/flows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/base/rng.h"

namespace mr::sim {
namespace {

struct Net {
  Flows flows;
  std::vector<Flows::Due> due;
  uint32_t Start(double bytes, double limit, std::vector<Flows::Use> uses, Instant now = {}) {
    return flows.Start(now, bytes, limit, uses);
  }
  double Rate(uint32_t flow, Instant now = {}) {
    flows.Settle(now, &due);
    return flows.rate(flow);
  }
};

TEST(FlowsTest, FlowAloneGoesAtItsLimitOrItsLinks) {
  Net n;
  const uint32_t link = n.flows.AddLink(100);
  const uint32_t a = n.Start(1000, 40, {{link}});
  EXPECT_DOUBLE_EQ(n.Rate(a), 40);
  n.flows.End({}, a);
  const uint32_t b = n.Start(1000, 400, {{link}});
  EXPECT_DOUBLE_EQ(n.Rate(b), 100);
}

TEST(FlowsTest, WhatASlowFlowLeavesGoesToTheOthers) {
  Net n;
  const uint32_t link = n.flows.AddLink(100);
  const uint32_t slow = n.Start(1, 10, {{link}}), b = n.Start(1, 1e9, {{link}}), c = n.Start(1, 1e9, {{link}});
  EXPECT_DOUBLE_EQ(n.Rate(slow), 10);
  EXPECT_DOUBLE_EQ(n.Rate(b), 45);
  EXPECT_DOUBLE_EQ(n.Rate(c), 45);
}

// Links of 10 and 4; flow 1 takes both, 2 the first, 3 the second. The second link gives 2 and 2, so flow 2 has 8.
TEST(FlowsTest, ParkingLot) {
  Net n;
  const uint32_t wide = n.flows.AddLink(10), narrow = n.flows.AddLink(4);
  const uint32_t both = n.Start(1, 1e9, {{wide}, {narrow}}), first = n.Start(1, 1e9, {{wide}}),
                 second = n.Start(1, 1e9, {{narrow}});
  EXPECT_DOUBLE_EQ(n.Rate(both), 2);
  EXPECT_DOUBLE_EQ(n.Rate(second), 2);
  EXPECT_DOUBLE_EQ(n.Rate(first), 8);
}

// A quarter of a reader's bytes crosses the uplink of 10. Two such readers go at 20 each.
TEST(FlowsTest, ShareOfALinkIsWhatCounts) {
  Net n;
  const uint32_t uplink = n.flows.AddLink(10), x = n.flows.AddLink(100), y = n.flows.AddLink(100);
  const uint32_t a = n.Start(1, 1e9, {{x}, {uplink, .25}}), b = n.Start(1, 1e9, {{y}, {uplink, .25}});
  EXPECT_DOUBLE_EQ(n.Rate(a), 20);
  EXPECT_DOUBLE_EQ(n.Rate(b), 20);
}

// 100 bytes each on a link of 10. The first goes alone for 5 s (50 left), then both at 5: the first ends at 15 s. The
// other has 50 left then and ends at 20 s.
TEST(FlowsTest, EndsMoveWhenRatesDo) {
  Net n;
  const uint32_t link = n.flows.AddLink(10);
  const uint32_t a = n.Start(100, 1e9, {{link}});
  n.flows.Settle({}, &n.due);
  EXPECT_EQ(n.due.back().at, Instant{} + Seconds(10));
  const uint32_t first_version = n.due.back().version;
  const Instant five = Instant{} + Seconds(5), fifteen = Instant{} + Seconds(15);
  n.due.clear();
  const uint32_t b = n.Start(100, 1e9, {{link}}, five);
  n.flows.Settle(five, &n.due);
  ASSERT_EQ(n.due.size(), 2u);
  EXPECT_FALSE(n.flows.Current(a, first_version));
  for (const Flows::Due& d : n.due) EXPECT_EQ(d.at, five + Seconds(d.flow == a ? 10 : 20));
  EXPECT_NEAR(n.flows.End(fifteen, a), 0, 1e-6);
  n.due.clear();
  n.flows.Settle(fifteen, &n.due);
  ASSERT_EQ(n.due.size(), 1u);
  EXPECT_EQ(n.due[0].flow, b);
  EXPECT_EQ(n.due[0].at, Instant{} + Seconds(20));
}

TEST(FlowsTest, SlowedFlowGivesWayAndTakesBack) {
  Net n;
  const uint32_t link = n.flows.AddLink(10);
  const uint32_t a = n.Start(100, 8, {{link}}), b = n.Start(100, 8, {{link}});
  EXPECT_DOUBLE_EQ(n.Rate(a), 5);
  n.flows.SetLimit({}, a, 1);
  EXPECT_DOUBLE_EQ(n.Rate(b), 8);
  n.flows.SetLimit({}, a, 8);
  EXPECT_DOUBLE_EQ(n.Rate(b), 5);
}

// 100 bytes at 10, on a link that gives 5 from 1 s on and 20 from 3 s on: 10 and 10 have moved, 80 are left.
TEST(FlowsTest, CapacityChangesWhileFlowsMove) {
  Net n;
  const uint32_t link = n.flows.AddLink(10);
  const uint32_t a = n.Start(100, 1e9, {{link}});
  EXPECT_DOUBLE_EQ(n.Rate(a), 10);
  n.flows.SetCapacity(Instant{} + Seconds(1), link, 5);
  EXPECT_DOUBLE_EQ(n.Rate(a, Instant{} + Seconds(1)), 5);
  n.flows.SetCapacity(Instant{} + Seconds(3), link, 20);
  EXPECT_DOUBLE_EQ(n.Rate(a, Instant{} + Seconds(3)), 20);
  EXPECT_NEAR(n.flows.Left(Instant{} + Seconds(3), a), 80, 1e-9);
  const uint32_t b = n.Start(100, 4, {{link}}, Instant{} + Seconds(3));
  n.flows.SetCapacity(Instant{} + Seconds(3), link, 6);
  EXPECT_DOUBLE_EQ(n.Rate(a, Instant{} + Seconds(3)), 3);
  EXPECT_DOUBLE_EQ(n.Rate(b, Instant{} + Seconds(3)), 3);
}

// State kept from change to change gives the same rates as a fresh computation.
TEST(FlowsTest, ChangesLeadToTheSameRatesAsAFreshStart) {
  Rng rng(7);
  Net n;
  std::vector<double> capacity;
  for (int l = 0; l < 12; ++l) {
    capacity.push_back(1 + 99 * rng.Uniform());
    n.flows.AddLink(capacity.back());
  }
  struct Live {
    uint32_t id;
    double limit;
    std::vector<Flows::Use> uses;
  };
  std::vector<Live> live;
  for (int round = 0; round < 400; ++round) {
    if (live.size() > 15 || (!live.empty() && rng.Uniform() < .4)) {
      const size_t i = rng.Below(live.size());
      n.flows.End({}, live[i].id);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      Live f{0, 1 + 60 * rng.Uniform(), {}};
      for (uint32_t l = 0; l < 12; ++l) {
        if (rng.Uniform() < .2) f.uses.push_back({l, rng.Uniform() < .5 ? 1 : .1 + .9 * rng.Uniform()});
      }
      f.id = n.Start(1e6, f.limit, f.uses);
      live.push_back(f);
    }
    n.flows.Settle({}, &n.due);
    Net fresh;
    for (const double c : capacity) fresh.flows.AddLink(c);
    std::vector<uint32_t> ids;
    for (const Live& f : live) ids.push_back(fresh.Start(1e6, f.limit, f.uses));
    for (size_t i = 0; i < live.size(); ++i) {
      ASSERT_NEAR(n.flows.rate(live[i].id), fresh.Rate(ids[i]), 1e-6) << "round " << round;
    }
  }
}

// Each disk has three readers, and one more flow takes bytes from it to the next disk, so all are connected. A change
// examines only flows nearby, and the result is that of filling all of them.
TEST(FlowsTest, ChangeLooksNoFurtherThanRatesMove) {
  constexpr uint32_t kLinks = 2'000;
  Rng rng(3);
  Net n, fresh;
  for (uint32_t l = 0; l < kLinks; ++l) {
    const double capacity = 50 + 100 * rng.Uniform();
    n.flows.AddLink(capacity);
    fresh.flows.AddLink(capacity);
  }
  std::vector<std::vector<Flows::Use>> uses;
  for (uint32_t l = 0; l < kLinks; ++l) {
    for (int i = 0; i < 3; ++i) uses.push_back({{l}});
    uses.push_back({{l}, {(l + 1) % kLinks}});
  }
  std::vector<uint32_t> ids;
  for (const auto& u : uses) ids.push_back(n.Start(1e6, 100, u));
  n.flows.Settle({}, &n.due);
  const uint64_t before = n.flows.looks();
  for (int i = 0; i < 200; ++i) {
    const size_t at = rng.Below(uses.size());
    n.flows.End({}, ids[at]);
    n.flows.Settle({}, &n.due);
    ids[at] = n.Start(1e6, 100, uses[at]);
    n.flows.Settle({}, &n.due);
  }
  EXPECT_LT(n.flows.looks() - before, 400 * 60);
  std::vector<uint32_t> anew;
  for (const auto& u : uses) anew.push_back(fresh.Start(1e6, 100, u));
  fresh.flows.Settle({}, &fresh.due);
  for (size_t i = 0; i < uses.size(); ++i) ASSERT_NEAR(n.flows.rate(ids[i]), fresh.flows.rate(anew[i]), 1e-9) << i;
}

// Each link of a row is shared with the next, and a gain of one is a loss of the other. So all rates move with the
// first. Each is examined a few times, not once per link before it.
TEST(FlowsTest, ChangeThatMovesAllRatesIsNoSquare) {
  constexpr uint32_t kLinks = 500;
  Net n;
  for (uint32_t l = 0; l < kLinks; ++l) n.flows.AddLink(10 + 6 * l);
  for (uint32_t l = 0; l + 1 < kLinks; ++l) n.Start(1e6, 1e9, {{l}, {l + 1}});
  const uint32_t first = n.Start(1e6, 1, {{0}});
  n.flows.Settle({}, &n.due);
  n.due.clear();
  const uint64_t before = n.flows.looks();
  n.flows.SetLimit({}, first, 4);
  n.flows.Settle({}, &n.due);
  EXPECT_EQ(n.due.size(), kLinks);
  EXPECT_LT(n.flows.looks() - before, 10 * kLinks);
}

}  // namespace
}  // namespace mr::sim
