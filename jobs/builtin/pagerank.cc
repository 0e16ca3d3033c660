// pagerank: computes the importance of each node of a directed graph, in a number of rounds of
//   rank(n) = (1 - d) / N + d (sum over edges m -> n of rank(m) / degree(m) + D / N)
// D is the total rank of nodes without outgoing edges. Source: Page et al. 1998, with the rank of dangling nodes
// shared. Input lines are `from to`, output lines `node TAB rank`; all ranks add up to 1.
//
// One stage per round. Ranks are kept multiplied by N, so that no round needs N before its end:
//   edges -> round 0 -> round 1 -> ... -> write;  each round's (N, D) --many_to_one--> totals --broadcast--> the next
#include <charconv>
#include <cmath>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

// Values of a node: 'E' and a neighbour; 'N' (the node exists); 'A' and all neighbours, each after its length; 'C' and
// a double, the contribution of a neighbour.
class ReadEdges : public LineMapper<std::string, std::string> {
 public:
  void Map(std::string_view line, Out& out) {
    std::string_view ends[2];
    size_t n = 0;
    ForEachWord(line, [&](std::string_view word) {
      if (n < 2) ends[n] = word;
      ++n;
    });
    if (n == 0 || ends[0][0] == '#') return;  // comments, as in graph files
    if (n != 2)
      throw BadRecord("pagerank: a line has " + std::to_string(n) + " words, an edge is `from to`: '" +
                      std::string(line.substr(0, 80)) + "'");
    value_.assign("E").append(ends[1]);
    out.EmitRaw(ends[0], value_);
    out.EmitRaw(ends[1], "N");
  }

 private:
  std::string value_;
};

// (nodes, total rank of nodes without edges), of one task or of all.
using Totals = std::tuple<int64_t, double>;

class Round : public Reducer<std::string, std::string, std::string, std::string>, public SideInput<Nothing, Totals> {
 public:
  void Open() {
    const Config config = context().config();
    first_ = config.Bool("first");
    damping_ = static_cast<double>(config.Int("damping_ppm")) * 1e-6;
  }
  void Side(Nothing, const Totals& totals) { before_ = totals; }

  void Reduce(std::string_view node, Values<std::string>& values, Out& out) {
    Gather(values);
    const double rank = first_ ? 1 : Rank(damping_, got_, before_);
    ++nodes_;
    size_t degree = 0;
    ForEachNeighbour([&](std::string_view) { ++degree; });
    value_.assign("A").append(neighbours_);
    out.EmitRaw(node, value_);
    if (degree == 0) {
      dangling_ += rank;
      return;
    }
    value_.assign("C");
    ValueCodec<double>::Append(rank / static_cast<double>(degree), &value_);
    ForEachNeighbour([&](std::string_view to) { out.EmitRaw(to, value_); });
  }
  void End(Out& out) { out.Port<Nothing, Totals>(1).Emit(Nothing(), Totals(nodes_, dangling_)); }

  static double Rank(double damping, double got, const Totals& totals) {
    return 1 - damping + damping * (got + std::get<1>(totals) / static_cast<double>(std::get<0>(totals)));
  }

 protected:
  void Gather(Values<std::string>& values) {
    neighbours_.clear();
    got_ = 0;
    for (std::string_view value : values) {
      const std::string_view rest = value.substr(1);
      if (value[0] == 'E') ValueCodec<std::string>::AppendPart(rest, &neighbours_);
      if (value[0] == 'A') neighbours_.append(rest);
      if (value[0] == 'C') got_ += ValueCodec<double>::Decode(rest);
    }
  }

 private:
  template <class F>
  void ForEachNeighbour(F&& f) const {
    for (std::string_view rest = neighbours_; !rest.empty();) f(ValueCodec<std::string>::TakePart(&rest));
  }

  bool first_ = false;
  double damping_ = 0, got_ = 0, dangling_ = 0;
  int64_t nodes_ = 0;
  Totals before_;
  std::string neighbours_, value_;
};

// The first round has no side input, so it has a class of its own.
class FirstRound : public Reducer<std::string, std::string, std::string, std::string> {
 public:
  void Open() {
    round_.BindContext(&context());
    round_.Open();
  }
  void Reduce(std::string_view node, Values<std::string>& values, Out& out) { round_.Reduce(node, values, out); }
  void End(Out& out) { round_.End(out); }

 private:
  Round round_;
};

class AddTotals : public Mapper<Nothing, Totals, Nothing, Totals> {
 public:
  void Map(Nothing, const Totals& part, Out&) {
    std::get<0>(all_) += std::get<0>(part);
    std::get<1>(all_) += std::get<1>(part);
  }
  void End(Out& out) { out.Emit(Nothing(), all_); }

 private:
  Totals all_;
};

class WriteRanks : public Reducer<std::string, std::string, Text, Text>, public SideInput<Nothing, Totals> {
 public:
  void Open() { damping_ = static_cast<double>(context().config().Int("damping_ppm")) * 1e-6; }
  void Side(Nothing, const Totals& totals) { totals_ = totals; }
  void Reduce(std::string_view node, Values<std::string>& values, Out& out) {
    double got = 0;
    for (std::string_view value : values) {
      if (value[0] == 'C') got += ValueCodec<double>::Decode(value.substr(1));
    }
    out.Emit(node, Round::Rank(damping_, got, totals_) / static_cast<double>(std::get<0>(totals_)));
  }

 private:
  double damping_ = 0;
  Totals totals_;
};

void PlanPageRank(const std::vector<std::string>& argv, JobPlan& plan) {
  int64_t rounds = 10;
  std::string damping = "0.85";
  Args args("pagerank");
  args.Add("--rounds", &rounds, 1, 100).Add("--damping", &damping).Parse(argv);
  double d = 0;
  const auto [end, error] = std::from_chars(damping.data(), damping.data() + damping.size(), d);
  if (error != std::errc() || end != damping.data() + damping.size() || !(d > 0 && d < 1)) {
    args.Refuse("--damping is a number above 0 and below 1, such as 0.85, not '" + damping + "'");
  }
  Config config;
  config.Set("damping_ppm", static_cast<int64_t>(std::llround(d * 1e6)));
  JobPlan::Stage* before = &plan.Map("edges", "pagerank.edges").ReadFiles().Shuffle();
  JobPlan::Stage* totals = nullptr;
  for (int64_t round = 0; round < rounds; ++round) {
    const std::string number = std::to_string(round);
    auto& stage = plan.Reduce("round" + number, round == 0 ? "pagerank.first_round" : "pagerank.round")
                      .Configure(Config(config).Set("first", round == 0))
                      .Group(*before);
    if (totals != nullptr) stage.Read(Edge::kBroadcast, *totals);
    stage.Shuffle().Shuffle({.sorted = false});
    totals = &plan.Map("totals" + number, "pagerank.totals")
                  .Tasks(1)
                  .Read(Edge::kManyToOne, stage, 1)
                  .Shuffle({.sorted = false});
    before = &stage;
  }
  plan.Reduce("write", "pagerank.write").Configure(config).Group(*before).Read(Edge::kBroadcast, *totals).WriteFiles();
}

}  // namespace

void AddPageRank(Library& library) {
  library.Add<ReadEdges>("pagerank.edges", kPure)
      .Add<FirstRound>("pagerank.first_round", kPure)
      .Add<Round>("pagerank.round", kPure)
      .Add<AddTotals>("pagerank.totals", kPure)
      .Add<WriteRanks>("pagerank.write", kPure)
      .AddJob<PlanPageRank>("pagerank",
                            "importance of each node of a directed graph; input lines `from to`\n"
                            "  --rounds N             number of rounds (default 10)\n"
                            "  --damping D            fraction of a rank that is passed on (default 0.85)");
}

}  // namespace mr::builtin
