// Typed plans: a plan that connects operators by their handles, so that stages whose types disagree do not compile.
//
//   PACELINE_DEFINE_LIBRARY(library) {
//     auto count = library.Operator<CountWords>("words.count");
//     auto total = library.Operator<Total>("words.total");
//     library.AddJob("words", "counts words", [=](mr::JobPlan& plan) {
//       auto counted = plan.Map("count", count).ReadFiles();
//       plan.Reduce("total", total, counted).WriteFiles();
//     });
//   }
//
// A stage's shuffle ports follow from its readers: a port is sorted if a reader groups it, combined if the operator has
// a combiner, and partitioned by the operator's partitioner if it has one. Shuffle(options) sets them by hand.
//
// The compiler checks: the key and value types of each edge, of combiners, partitioners and side inputs; that an
// operator fits Map, Reduce or Join; that a SortedReducer has its partitioner; that all or none of the inputs of a
// Reduce or Join have one; that both sides of a shuffle have their Comparator; that lines of text are text, also those
// of Named(). If types disagree, the error names `Emits<operator, key, value>` and `Takes<operator, key, value>`. Types
// agree if they are equal, or integers of one size and sign, or text (std::string, mr::Text); mr::AnyBytes agrees with
// all. Lines, blocks and the inputs of a RawOperator are not checked. Stages that name operators by strings and typed
// stages may stand in one plan (TypedStage::untyped).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "paceline/adapter.h"
#include "paceline/handle.h"
#include "paceline/operator.h"
#include "paceline/plan.h"
#include "paceline/types.h"

namespace mr {

namespace sdk {

template <class T>
inline constexpr bool kIsText = std::is_same_v<T, Text> || std::is_same_v<T, std::string>;
template <class T>
inline constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class A, class B>
constexpr bool IntegersAgree() {
  if constexpr (kIsInteger<A> && kIsInteger<B>) {
    return sizeof(A) == sizeof(B) && std::is_signed_v<A> == std::is_signed_v<B>;
  } else {
    return false;
  }
}

// Whether records of one type may be read as the other. Parts of pairs, tuples and vectors are compared alike.
template <class A, class B>
struct Agree : std::bool_constant<std::is_same_v<A, B> || std::is_same_v<A, AnyBytes> || std::is_same_v<B, AnyBytes> ||
                                  (kIsText<A> && kIsText<B>) || IntegersAgree<A, B>()> {};
template <class A, class B, class C, class D>
struct Agree<std::pair<A, B>, std::pair<C, D>> : std::bool_constant<Agree<A, C>::value && Agree<B, D>::value> {};
template <class A, class B>
struct Agree<std::vector<A>, std::vector<B>> : Agree<A, B> {};
template <class... A, class... B>
requires(sizeof...(A) == sizeof...(B)) struct Agree<std::tuple<A...>, std::tuple<B...>>
    : std::bool_constant<(Agree<A, B>::value && ...)> {
};

// Whether the bytes of the type are no text, so that a file of lines cannot have them.
template <class T>
struct IsBinary : std::bool_constant<std::is_arithmetic_v<T> || std::is_enum_v<T>> {};
template <class... T>
struct IsBinary<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsBinary<std::pair<A, B>> : std::true_type {};
template <class T>
struct IsBinary<std::vector<T>> : std::true_type {};

// Never defined: they show operators and types in the compiler's messages.
template <class Operator, class Key, class Value>
struct Emits;
template <class Operator, class Key, class Value>
struct Takes;
template <class Operator, class Key, class Value>
struct Combines;

// One edge. Its instantiation fails where the types disagree.
template <class Writer, class Reader>
struct Edge;
template <class W, class KOut, class VOut, class R, class KIn, class VIn>
struct Edge<Emits<W, KOut, VOut>, Takes<R, KIn, VIn>> {
  static_assert(Agree<KOut, KIn>::value,
                "mr: these stages disagree about the KEY: the writer emits another type than the reader takes. Compare "
                "Emits<operator, key, value> with Takes<operator, key, value> in this message");
  static_assert(Agree<VOut, VIn>::value,
                "mr: these stages disagree about the VALUE: the writer emits another type than the reader takes. "
                "Compare Emits<operator, key, value> with Takes<operator, key, value> in this message");
};
template <class W, class KOut, class VOut, class K, class V>
struct Edge<Emits<W, KOut, VOut>, Combines<W, K, V>> {
  static_assert(Agree<KOut, K>::value && Agree<VOut, V>::value,
                "mr: the combiner takes other types than its operator emits. Compare Emits<operator, key, value> with "
                "Combines<operator, key, value> in this message");
};

// The records of port number kPort of an operator.
template <uint32_t kPort, class List>
struct PortAt {
  static_assert(kPort == ~0u,
                "mr: the operator declares no port of this number. Declare it: using MorePorts = mr::Ports<...>;");
};
template <class R, class... Rest>
struct PortAt<0, Ports<R, Rest...>> {
  using Type = R;
};
template <uint32_t kPort, class R, class... Rest>
requires(kPort > 0) struct PortAt<kPort, Ports<R, Rest...>> : PortAt<kPort - 1, Ports<Rest...>> {
};

template <class Op, uint32_t kPort>
struct RecordsOf {
  using Type = typename PortAt<kPort - 1, typename Op::MorePorts>::Type;
};
template <class Op, uint32_t kPort>
requires(kPort > 0 && !requires { typename Op::MorePorts; }) struct RecordsOf<Op, kPort> : PortAt<kPort, Ports<>> {
};
template <class Op>
struct RecordsOf<Op, 0> {
  using Type = Records<typename Op::KeyOut, typename Op::ValueOut>;
};

// Whether output port number `port`, from 1 on, has records that a file of lines cannot have. False for a port that the
// operator does not declare.
template <class... K, class... V>
constexpr bool IsBinaryPort(Ports<Records<K, V>...>, size_t port) {
  size_t at = 0;
  return ((++at == port && (IsBinary<K>::value || IsBinary<V>::value)) || ...);
}
template <class Op>
constexpr bool HasBinaryPort(size_t port) {
  if constexpr (requires { typename Op::MorePorts; }) {
    return IsBinaryPort(typename Op::MorePorts(), port);
  } else {
    return false;
  }
}

// Whether a file of lines can have the records of one of the ports after the first, as far as they are declared.
template <class... R>
constexpr bool HasTextPort(Ports<R...> ports) {
  for (size_t port = 1; port <= sizeof...(R); ++port) {
    if (!IsBinaryPort(ports, port)) return true;
  }
  return false;
}
template <class Op>
constexpr bool CanNameLines() {
  if constexpr (requires { typename Op::MorePorts; }) {
    return HasTextPort(typename Op::MorePorts());
  } else {
    return true;
  }
}

template <class Op, class R>
struct EmitsOf;
template <class Op, class K, class V>
struct EmitsOf<Op, Records<K, V>> {
  using Type = Emits<Op, K, V>;
};

// The records of an operator's input. kInput counts the sides of a Joiner; other operators have one type.
template <class Op, uint32_t kInput>
constexpr auto TakesOf() {
  if constexpr (Op::kKind == Kind::kRecord || Op::kKind == Kind::kGroup || Op::kKind == Kind::kHash) {
    return std::type_identity<Takes<Op, typename Op::KeyIn, typename Op::ValueIn>>();
  } else if constexpr (Op::kKind == Kind::kSorted) {
    return std::type_identity<
        Takes<Op, std::pair<typename Op::GroupKey, typename Op::OrderKey>, typename Op::ValueIn>>();
  } else if constexpr (Op::kKind == Kind::kJoin && kInput == 0) {
    return std::type_identity<Takes<Op, typename Op::KeyIn, typename Op::LeftIn>>();
  } else if constexpr (Op::kKind == Kind::kJoin) {
    return std::type_identity<Takes<Op, typename Op::KeyIn, typename Op::RightIn>>();
  } else {
    return std::type_identity<Takes<Op, AnyBytes, AnyBytes>>();
  }
}

// Whether an all-to-all edge from this port is spread by the operator's own partitioner.
template <class W, uint32_t kPort>
inline constexpr bool kOwnPartition = kPort == 0 && HasPartition<W>;

// Fails to compile unless all inputs of a stage have a partitioner of their own, or none. kOwn: one for each input.
template <bool... kOwn>
constexpr void CheckPartitioners() {
  constexpr size_t kCount = (size_t{kOwn} + ... + 0);
  static_assert(kCount == 0 || kCount == sizeof...(kOwn),
                "mr: all inputs of a Reduce or Join need the same partitioner, or none: else equal keys of two inputs "
                "go to different tasks. Derive each operator that the stage reads from the same mr::Partitioner");
}

// Fails to compile unless the port's records fit `Reader`, a Takes.
template <class W, uint32_t kPort, class Reader>
constexpr void CheckEdge() {
  using Writer = typename EmitsOf<W, typename RecordsOf<W, kPort>::Type>::Type;
  static_cast<void>(sizeof(Edge<Writer, Reader>));
  if constexpr (kPort == 0 && HasCombine<W>) {
    static_cast<void>(sizeof(Edge<Writer, Combines<W, typename W::CombineKey, typename W::CombineValue>>));
  }
  if constexpr (kOwnPartition<W, kPort>) {
    static_assert(Agree<typename W::PartitionKey, typename W::KeyOut>::value,
                  "mr: the partitioner takes another type of key than its operator emits");
  }
  if constexpr (kPort == 0 && HasCompare<W>) {
    static_assert(Agree<typename W::CompareKey, typename W::KeyOut>::value,
                  "mr: the Comparator takes another type of key than its operator emits");
  }
}

}  // namespace sdk

// One output port of a typed stage, for another stage to read. Made by TypedStage::Output.
template <class Op, uint32_t kPort>
class TypedPort {
 public:
  // Prefer TypedStage::Output.
  explicit TypedPort(JobPlan::Stage* stage) : stage_(stage) {}
  static constexpr bool kOwnPartition = sdk::kOwnPartition<Op, kPort>;
  // Returns the stage that writes the port.
  JobPlan::Stage& stage() const { return *stage_; }

 private:
  JobPlan::Stage* stage_;
};

// A stage of a typed plan: a handle, cheap to copy and valid as long as the plan. JobPlan::Map, Reduce and Join return
// it for an OperatorHandle. Its functions are those of JobPlan::Stage, with checks of the types at compile time.
template <class Op>
class TypedStage {
 public:
  // Prefer JobPlan::Map, Reduce and Join. Requires: the operator of the stage has class Op.
  explicit TypedStage(JobPlan::Stage* stage) : stage_(stage) { stage_->side_ = sdk::HasSide<Op>; }

  // Reads files of the job's --input option number `input` (Stage::ReadFiles).
  TypedStage ReadFiles(int input = JobPlan::Stage::kAllInputs, const FileOptions& options = {}) const {
    CheckReadsFiles();
    stage_->ReadFiles(input, options);
    return *this;
  }
  // Reads files that the job's own arguments name (Stage::ReadUris).
  TypedStage ReadUris(const std::vector<std::string>& uris, const FileOptions& options = {}) const {
    CheckReadsFiles();
    stage_->ReadUris(uris, options);
    return *this;
  }
  // Reads another stage's port 0, or an Output of it, over an edge that is not grouped.
  template <class From>
  TypedStage Read(Edge edge, const From& from) const {
    static_assert(kReadsRecords, "mr: this operator takes groups: name its inputs in JobPlan::Reduce or JobPlan::Join");
    return ReadPort<0>(edge, false, PortOf(from));
  }
  // Reads an all-to-all edge whose large partitions several tasks may share (Stage::ReadInParts).
  template <class W, uint32_t kPort>
  TypedStage ReadInParts(const TypedPort<W, kPort>& from) const {
    static_assert(kReadsRecords, "mr: this operator takes groups, which tasks cannot share");
    Connect<0>(Edge::kAllToAll, false, from);
    stage_->ReadInParts(from.stage(), kPort);
    return *this;
  }
  // Reads port 0 of a stage in parts.
  template <class W>
  TypedStage ReadInParts(const TypedStage<W>& from) const {
    return ReadInParts(PortOf(from));
  }
  // Reads the operator's side input over a broadcast edge. Requires: an operator with mr::SideInput; no
  // further input of the stage after it. Errors: JobPlan::Json throws PlanError for one.
  template <class From>
  TypedStage SideInput(const From& from) const {
    static_assert(sdk::HasSide<Op>, "mr: this operator has no side input: derive it from mr::SideInput<key, value>");
    if constexpr (sdk::HasSide<Op>) ConnectSide(PortOf(from));
    return *this;
  }

  // Returns output port number kPort, for another stage to read. Ports after the first need MorePorts (types.h).
  template <uint32_t kPort>
  TypedPort<Op, kPort> Output() const {
    static_cast<void>(sizeof(typename sdk::RecordsOf<Op, kPort>::Type));
    return TypedPort<Op, kPort>(stage_);
  }

  // Adds the next shuffle port with these options, in place of those that follow from its readers. Errors: PlanError
  // after a typed stage has read a port of this one.
  TypedStage Shuffle(const ShuffleOptions& options) const {
    stage_->Shuffle(options);
    return *this;
  }
  // Writes lines of text to the job's output. The operator emits text: mr::Text, std::string or mr::Nothing.
  TypedStage WriteFiles() const {
    static_assert(!sdk::IsBinary<typename Op::KeyOut>::value && !sdk::IsBinary<typename Op::ValueOut>::value,
                  "mr: a file of lines would get the binary bytes of this operator's keys or values. Let it emit "
                  "mr::Text, or write another format: WriteFiles(\"record\")");
    stage_->WriteFiles();
    return *this;
  }
  // Writes files of a format (Stage::WriteFiles).
  TypedStage WriteFiles(const std::string& format) const {
    stage_->WriteFiles(format);
    return *this;
  }
  // Adds a further output file of lines per task (Stage::Named). Errors: PlanError if the operator declares binary keys
  // or values for this port; it does not compile if all declared ports after the first have them.
  TypedStage Named(const std::string& name) const {
    static_assert(sdk::CanNameLines<Op>(),
                  "mr: a file of lines would get the binary bytes of this operator's MorePorts. Declare mr::Text for "
                  "the port, or write another format: Named(\"name\", \"record\")");
    return Named(name, "text");
  }
  // Adds a further output file of a format per task. Errors: PlanError if the format is text and the operator declares
  // binary keys or values for this port.
  TypedStage Named(const std::string& name, const std::string& format) const {
    const size_t port = stage_->ports_.size();
    if (format.substr(0, format.find('.')) == "text" && sdk::HasBinaryPort<Op>(port)) {
      throw PlanError("stage '" + stage_->name() + "' would write the binary bytes of port " + std::to_string(port) +
                      " of its operator as lines of the output '" + name + "': declare mr::Text for this port in " +
                      "MorePorts, or write another format: Named(\"" + name + "\", \"record\")");
    }
    stage_->Named(name, format);
    return *this;
  }

  // Sets the number of tasks (Stage::Tasks).
  TypedStage Tasks(uint32_t tasks) const {
    stage_->Tasks(tasks);
    return *this;
  }
  // Sets the input bytes per task (Stage::TaskBytes).
  TypedStage TaskBytes(uint64_t bytes) const {
    stage_->TaskBytes(bytes);
    return *this;
  }
  // Sets the memory of an attempt, in bytes (Stage::Memory).
  TypedStage Memory(uint64_t bytes) const {
    stage_->Memory(bytes);
    return *this;
  }
  // Sets the config that the operator reads by context().config().
  TypedStage Configure(const Config& config) const {
    stage_->Configure(config);
    return *this;
  }
  // Returns the name of the stage.
  const std::string& name() const { return stage_->name(); }
  // Returns the same stage without its types, to connect it to stages that name operators by strings.
  JobPlan::Stage& untyped() const { return *stage_; }

 private:
  friend class JobPlan;
  static constexpr bool kReadsRecords = Op::kKind == sdk::Kind::kRecord || Op::kKind == sdk::Kind::kLine ||
                                        Op::kKind == sdk::Kind::kBlock || Op::kKind == sdk::Kind::kRaw;

  static constexpr void CheckReadsFiles() {
    static_assert(kReadsRecords, "mr: this operator takes groups, and files have none: read them by a Map stage");
  }

  template <class W>
  static TypedPort<W, 0> PortOf(const TypedStage<W>& from) {
    return from.template Output<0>();
  }
  template <class W, uint32_t kPort>
  static TypedPort<W, kPort> PortOf(const TypedPort<W, kPort>& from) {
    return from;
  }

  // Checks the types of an edge, and sets the options of its port that follow from this reader.
  template <uint32_t kInput, class W, uint32_t kPort>
  void Connect(Edge edge, bool grouped, const TypedPort<W, kPort>& from) const {
    sdk::CheckEdge<W, kPort, typename decltype(sdk::TakesOf<Op, kInput>())::type>();
    Derive<W, kPort>(edge, grouped, from.stage());
  }
  template <class W, uint32_t kPort>
  static void Derive(Edge edge, bool grouped, JobPlan::Stage& from) {
    const bool shuffled = edge == Edge::kAllToAll;
    ShuffleOptions options;
    options.combine = kPort == 0 && shuffled && sdk::HasCombine<W>;
    options.sorted = grouped || options.combine;
    options.custom_partition = shuffled && sdk::kOwnPartition<W, kPort>;
    from.NeedPort(kPort, options);
  }

  template <uint32_t kInput, class W, uint32_t kPort>
  TypedStage ReadPort(Edge edge, bool grouped, const TypedPort<W, kPort>& from) const {
    Connect<kInput>(edge, grouped, from);
    stage_->Read(edge, from.stage(), kPort, grouped);
    return *this;
  }

  template <class W, uint32_t kPort>
  void ConnectSide(const TypedPort<W, kPort>& from) const {
    sdk::CheckEdge<W, kPort, sdk::Takes<Op, typename Op::SideKey, typename Op::SideValue>>();
    Derive<W, kPort>(Edge::kBroadcast, false, from.stage());
    stage_->Read(Edge::kBroadcast, from.stage(), kPort);
    stage_->side_ = false;
    if (stage_->side_at_ == 0) stage_->side_at_ = stage_->inputs_.size();
  }

  template <class From>
  static constexpr bool kOwnPartitionOf = decltype(PortOf(std::declval<const From&>()))::kOwnPartition;

  // Reads one input of a Reduce or Join stage.
  template <uint32_t kInput, class W, uint32_t kPort>
  void Group(const TypedPort<W, kPort>& from) const {
    static_assert(Op::kKind != sdk::Kind::kSorted || sdk::kOwnPartition<W, kPort>,
                  "mr: a SortedReducer needs all keys with one first part in one partition: derive the operator that "
                  "it reads from mr::ByFirst");
    static_assert(sdk::HasCompare<Op> == sdk::HasCompare<W>,
                  "mr: a Comparator belongs to both operators of a shuffle, the writer and the one that groups");
    if constexpr (sdk::HasCompare<Op> && sdk::HasCompare<W>) {
      static_assert(sdk::Agree<typename Op::CompareKey, typename W::CompareKey>::value,
                    "mr: the Comparators of a shuffle's writer and of its reader take different types of keys");
    }
    if constexpr (Op::kKind == sdk::Kind::kHash) {
      Connect<kInput>(Edge::kAllToAll, false, from);
      stage_->GroupByHash(from.stage(), kPort);
    } else {
      ReadPort<kInput>(Edge::kAllToAll, true, from);
    }
  }
  template <uint32_t kInput, class From>
  void GroupFrom(const From& from) const {
    Group<kInput>(PortOf(from));
  }

  JobPlan::Stage* stage_;
};

template <class Op>
TypedStage<Op> JobPlan::Map(const std::string& name, const OperatorHandle<Op>& op) {
  static_assert(TypedStage<Op>::kReadsRecords,
                "mr: JobPlan::Map takes a Mapper, LineMapper, BlockMapper or RawOperator; reducers go to "
                "JobPlan::Reduce, and a Joiner to JobPlan::Join");
  return TypedStage<Op>(&Add(Role::kMap, name, op.name()));
}

template <class Op, class... From>
TypedStage<Op> JobPlan::Reduce(const std::string& name, const OperatorHandle<Op>& op, const From&... from) {
  using sdk::Kind;
  static_assert(Op::kKind == Kind::kGroup || Op::kKind == Kind::kSorted || Op::kKind == Kind::kHash,
                "mr: JobPlan::Reduce takes a Reducer, HashReducer or SortedReducer; mappers go to JobPlan::Map, and a "
                "Joiner to JobPlan::Join");
  static_assert(sizeof...(From) > 0, "mr: a reduce stage needs an input: plan.Reduce(\"name\", operator, stage)");
  sdk::CheckPartitioners<TypedStage<Op>::template kOwnPartitionOf<From>...>();
  TypedStage<Op> stage(&Add(Role::kReduce, name, op.name()));
  (stage.template GroupFrom<0>(from), ...);
  return stage;
}

template <class Op, class Left, class Right>
TypedStage<Op> JobPlan::Join(const std::string& name, const OperatorHandle<Op>& op, const Left& left,
                             const Right& right) {
  static_assert(Op::kKind == sdk::Kind::kJoin,
                "mr: JobPlan::Join takes a Joiner; reducers go to JobPlan::Reduce, mappers to JobPlan::Map");
  sdk::CheckPartitioners<TypedStage<Op>::template kOwnPartitionOf<Left>,
                         TypedStage<Op>::template kOwnPartitionOf<Right>>();
  TypedStage<Op> stage(&Add(Role::kJoin, name, op.name()));
  stage.template GroupFrom<0>(left);
  stage.template GroupFrom<1>(right);
  return stage;
}

}  // namespace mr
