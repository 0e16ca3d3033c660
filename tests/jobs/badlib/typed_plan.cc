// Compiles as it is. Must not compile with one of the faults that a typed plan refuses: -DFAULT_name.
#include "paceline/typed_plan.h"

#include "paceline/library.h"

namespace {

#ifdef FAULT_combiner
using Combined = double;
#else
using Combined = int64_t;
#endif
class Count : public mr::LineMapper<std::string, int64_t>, public mr::SumCombiner<std::string, Combined> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, 1); }
};

#ifdef FAULT_value
using Summed = double;
#else
using Summed = int64_t;
#endif
#ifdef FAULT_key
using Key = int64_t;
#else
using Key = std::string;
#endif
class Total : public mr::Reducer<Key, Summed, mr::Text, mr::Text> {
 public:
  void Reduce(mr::KeyView<Key> key, mr::Values<Summed>& values, Out& out) { out.Emit(key, mr::Sum(values)); }
};

#ifdef FAULT_partitioner
using Partitioned = int64_t;
#else
using Partitioned = std::string;
#endif
class Spread : public mr::LineMapper<std::string, int64_t>, public mr::Partitioner<Partitioned> {
 public:
  void Map(std::string_view, Out&) {}
  uint32_t Partition(const mr::KeyView<Partitioned>&, uint32_t) const { return 0; }
};

#ifdef FAULT_named
using Long = double;
#else
using Long = mr::Text;
#endif
class Sieve : public mr::LineMapper<mr::Text, mr::Text> {
 public:
  using MorePorts = mr::Ports<mr::Records<mr::Text, Long>>;
  void Map(std::string_view line, Out& out) { out.Line(line); }
};

class Backwards : public mr::Reducer<std::string, int64_t, mr::Text, mr::Text>, public mr::Comparator<std::string> {
 public:
  void Reduce(std::string_view, mr::Values<int64_t>&, Out&) {}
  static int Compare(std::string_view a, std::string_view b) { return b.compare(a); }
};

class Ordered : public mr::SortedReducer<std::string, int64_t, std::string, mr::Text, mr::Text> {
 public:
  void Reduce(std::string_view, mr::SortedValues<std::string, int64_t, std::string>&, Out&) {}
};

class Looks : public mr::LineMapper<mr::Text, mr::Text>, public mr::SideInput<std::string, int64_t> {
 public:
  void Side(std::string_view, int64_t) {}
  void Map(std::string_view line, Out& out) { out.Line(line); }
};

}  // namespace

PACELINE_DEFINE_LIBRARY(library) {
  auto count = library.Operator<Count>("count");
  auto total = library.Operator<Total>("total");
  [[maybe_unused]] auto ordered = library.Operator<Ordered>("ordered");
  [[maybe_unused]] auto backwards = library.Operator<Backwards>("backwards");
  auto sums = library.Reduce<std::string, int64_t>("sums", [](std::string_view, auto&, auto&) {});
  auto spread = library.Operator<Spread>("spread");
  auto looks = library.Operator<Looks>("looks");
  auto sieve = library.Operator<Sieve>("sieve");
  auto pairs = library.MapLines<std::pair<std::string, int64_t>, std::string>("pairs", [](std::string_view, auto&) {});
  auto left = library.MapLines<std::string, int32_t>("left", [](std::string_view, auto&) {});
  auto join = library.Join<std::string, int32_t, int64_t>("join", [](std::string_view, auto&, auto&, auto&) {});
#ifdef FAULT_capture
  int n = 1;
  library.MapLines<std::string, int64_t>("bad", [n](std::string_view line, auto& out) { out.Emit(line, n); });
#endif
  library.AddJob("job", "", [=](mr::JobPlan& plan) {
    auto counted = plan.Map("count", count).ReadFiles();
    plan.Reduce("total", total, counted).WriteFiles();
    auto lefts = plan.Map("left", left).ReadFiles();
#ifdef FAULT_join
    plan.Join("join", join, counted, lefts).WriteFiles();
#else
    plan.Join("join", join, lefts, counted).WriteFiles();
#endif
#ifdef FAULT_side
    plan.Map("looks", looks).ReadFiles().SideInput(lefts).WriteFiles();
#else
    plan.Map("looks", looks).ReadFiles().SideInput(counted).WriteFiles();
#endif
    plan.Reduce("sums", sums, plan.Map("spread", spread).ReadFiles()).WriteFiles();
#ifdef FAULT_one_partitioner
    plan.Join("spread_join", join, lefts, plan.Map("spreads", spread).ReadFiles()).WriteFiles();
#endif
#ifdef FAULT_comparator
    plan.Reduce("backwards", backwards, counted).WriteFiles();
#endif
#ifdef FAULT_role
    plan.Map("role", total).ReadFiles().WriteFiles();
#endif
#ifdef FAULT_port
    plan.Reduce("port", total, counted.Output<1>()).WriteFiles();
#endif
#ifdef FAULT_text
    plan.Map("text", count).ReadFiles().WriteFiles();
#endif
    plan.Map("sieve", sieve).ReadFiles().WriteFiles().Named("long");
#ifdef FAULT_sorted
    plan.Reduce("sorted", ordered, plan.Map("pairs", pairs).ReadFiles()).WriteFiles();
#else
    plan.Map("pairs", pairs).ReadFiles().WriteFiles("record");
#endif
  });
}
