// triangles: counts the triangles of an undirected graph. Input lines are `a b`, separated by white space. Lines that
// begin with # or % are comments. Repeated edges and loops are ignored.
//
//   edges   --all_to_all-->  unique    each edge once, its ends in order
//   unique  --all_to_all-->  degrees   --many_to_one--> rank   nodes numbered by degree
//   unique  --one_to_one-->  orient  <--broadcast-- rank       each edge from lower to higher rank
//   orient  --all_to_all-->  wedges    for v in N(u): the members of N(u) above v
//   orient, wedges --all_to_all--> close   which of these are in N(v)
//   close   --many_to_one--> total
//
// Sorted by degree, no node has more than sqrt(2E) higher neighbours, so hubs cause no skew. Source: Schank and Wagner
// 2005, "forward". Each orient task holds the numbering in memory: a name and 20 bytes per node.
#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

using NodePair = std::tuple<std::string, std::string>;

class ReadEdges : public BlockMapper<NodePair, Nothing>, public Combiner<NodePair, Nothing> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachLine(block.text, [&](std::string_view line) {
      if (line.empty() || line[0] == '#' || line[0] == '%') return;
      std::string_view nodes[2];
      size_t n = 0;
      ForEachWord(line, [&](std::string_view word) {
        if (n < 2) nodes[n] = word;
        ++n;
      });
      if (n == 0) return;
      if (n == 1) {
        return context().SkipRecord("triangles: " + context().input_file() + ", byte " +
                                    std::to_string(block.offset + (line.data() - block.text.data())) +
                                    ": an edge has two nodes, the line has one");
      }
      if (nodes[0] == nodes[1]) return;
      if (nodes[1] < nodes[0]) std::swap(nodes[0], nodes[1]);
      out.Emit(std::tuple(nodes[0], nodes[1]), Nothing());
    });
  }
  Nothing Combine(const NodePair&, Values<Nothing>&) { return {}; }
};

// Port 0: the edge. Port 1: a count of one for each of its ends.
class UniqueEdges : public Reducer<NodePair, Nothing, NodePair, Nothing>, public SumCombiner<std::string, int64_t> {
 public:
  void Reduce(const NodePair& edge, Values<Nothing>&, Out& out) {
    out.Emit(edge, Nothing());
    if (!ends_) ends_.emplace(out.Port<std::string, int64_t>(1));
    ends_->Emit(std::get<0>(edge), 1);
    ends_->Emit(std::get<1>(edge), 1);
    ++edges_;
  }
  void End(Out&) { counter("graph", "edges") += edges_; }

 private:
  Counter& counter(std::string_view group, std::string_view name) { return context().counter(group, name); }
  std::optional<Emitter<std::string, int64_t>> ends_;
  int64_t edges_ = 0;
};

class AddDegrees : public Reducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Reduce(std::string_view node, Values<int64_t>& counts, Out& out) {
    int64_t degree = 0;
    for (int64_t n : counts) degree += n;
    out.Emit(node, degree);
  }
};

// Numbers the nodes by (degree, name), in one task.
class RankNodes : public Mapper<std::string, int64_t, std::string, uint32_t> {
 public:
  void Map(std::string_view node, int64_t degree, Out&) { nodes_.emplace_back(degree, node); }
  void End(Out& out) {
    std::sort(nodes_.begin(), nodes_.end());
    uint32_t rank = 0;
    for (const auto& [degree, node] : nodes_) out.Emit(node, rank++);
    context().counter("graph", "nodes") += static_cast<int64_t>(nodes_.size());
  }

 private:
  std::vector<std::pair<int64_t, std::string>> nodes_;
};

// Emits (lower, higher) rank of each edge to ports 0 and 1, for wedges and for close.
class OrientEdges : public Mapper<NodePair, Nothing, uint32_t, uint32_t>, public SideInput<std::string, uint32_t> {
 public:
  void Side(std::string_view node, uint32_t rank) { ranks_.emplace(node, rank); }
  void Map(const NodePair& edge, Nothing, Out& out) {
    if (!second_) second_.emplace(out.Port(1));
    const auto [low, high] = std::minmax({Rank(std::get<0>(edge)), Rank(std::get<1>(edge))});
    out.Emit(low, high);
    second_->Emit(low, high);
  }

 private:
  uint32_t Rank(const std::string& node) const {
    const auto it = ranks_.find(node);
    if (it == ranks_.end()) throw JobError("triangles: node " + node + " was not ranked");
    return it->second;
  }
  std::unordered_map<std::string, uint32_t> ranks_;  // lookups only: its order does not matter
  std::optional<Out> second_;
};

class MakeWedges : public Reducer<uint32_t, uint32_t, uint32_t, std::vector<uint32_t>> {
 public:
  void Reduce(uint32_t, Values<uint32_t>& higher, Out& out) {
    neighbours_.clear();
    for (uint32_t v : higher) neighbours_.push_back(v);
    std::sort(neighbours_.begin(), neighbours_.end());
    for (size_t i = 0; i + 1 < neighbours_.size(); ++i) {
      out.Emit(neighbours_[i], std::vector<uint32_t>(neighbours_.begin() + i + 1, neighbours_.end()));
    }
  }

 private:
  std::vector<uint32_t> neighbours_;
};

class CloseWedges : public Joiner<uint32_t, uint32_t, std::vector<uint32_t>, Nothing, int64_t> {
 public:
  void Join(uint32_t, const std::vector<uint32_t>& higher, Values<std::vector<uint32_t>>& candidates, Out&) {
    if (higher.empty()) return;
    sorted_ = higher;
    std::sort(sorted_.begin(), sorted_.end());
    for (const auto& list : candidates) {
      auto at = sorted_.begin();
      for (uint32_t node : list) {
        while (at != sorted_.end() && *at < node) ++at;
        if (at == sorted_.end()) break;
        found_ += *at == node;
      }
    }
  }
  void End(Out& out) { out.Emit(Nothing(), found_); }

 private:
  std::vector<uint32_t> sorted_;
  int64_t found_ = 0;
};

class TotalTriangles : public Mapper<Nothing, int64_t, Text, Text> {
 public:
  void Map(Nothing, int64_t found, Out&) { total_ += found; }
  void End(Out& out) { out.Emit("triangles", total_); }

 private:
  int64_t total_ = 0;
};

void PlanTriangles(const std::vector<std::string>& argv, JobPlan& plan) {
  Args("triangles").Parse(argv);
  auto& edges = plan.Map("edges", "triangles.edges").ReadFiles().Shuffle({.combine = true});
  auto& unique =
      plan.Reduce("unique", "triangles.unique").Group(edges).Shuffle({.sorted = false}).Shuffle({.combine = true});
  auto& degrees = plan.Reduce("degrees", "triangles.degrees").Group(unique, 1).Shuffle({.sorted = false});
  auto& rank = plan.Map("rank", "triangles.rank").Tasks(1).Read(Edge::kManyToOne, degrees).Shuffle({.sorted = false});
  auto& orient = plan.Map("orient", "triangles.orient")
                     .Read(Edge::kOneToOne, unique, 0)
                     .Read(Edge::kBroadcast, rank)
                     .Shuffle()
                     .Shuffle();
  auto& wedges = plan.Reduce("wedges", "triangles.wedges").Group(orient, 0).Shuffle();
  auto& close = plan.Join("close", "triangles.close").Group(orient, 1).Group(wedges).Shuffle({.sorted = false});
  plan.Map("total", "triangles.total").Tasks(1).Read(Edge::kManyToOne, close).WriteFiles();
}

}  // namespace

void AddTriangles(Library& library) {
  library.Add<ReadEdges>("triangles.edges", kPure | MR_UNORDERED | MR_ASSOCIATIVE)
      .Add<UniqueEdges>("triangles.unique", kPure | MR_ASSOCIATIVE)
      .Add<AddDegrees>("triangles.degrees", kPure)
      .Add<RankNodes>("triangles.rank", kPure)
      .Add<OrientEdges>("triangles.orient", kPure)
      .Add<MakeWedges>("triangles.wedges", kPure)
      .Add<CloseWedges>("triangles.close", kPure)
      .Add<TotalTriangles>("triangles.total", kPure)
      .AddJob<PlanTriangles>("triangles", "count the triangles of an undirected graph, lines `a b`");
}

}  // namespace mr::builtin
