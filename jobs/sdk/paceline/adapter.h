// Turns an operator class into an entry of the C table. Authors of operators need not read it. Each entry is noexcept;
// an exception of user code becomes host->fail().
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"
#include "paceline/context.h"
#include "paceline/emitter.h"
#include "paceline/hash_reduce.h"
#include "paceline/operator.h"
#include "paceline/place.h"
#include "paceline/types.h"
#include "paceline/values.h"

namespace mr::sdk {

template <class Op>
concept HasCombine = requires {
  typename Op::CombineKey;
};
template <class Op>
concept HasPartition = requires {
  typename Op::PartitionKey;
};
template <class Op>
concept HasCompare = requires {
  typename Op::CompareKey;
};
template <class Op>
concept HasSide = requires {
  typename Op::SideKey;
};
// Optional member of a raw operator that folds sorted batches: CombineBatch(port, view, out), with out(key, value).
template <class Op>
concept HasRawCombine = requires(Op op, const BatchView& view) {
  op.CombineBatch(uint32_t{}, view, [](std::string_view, std::string_view) {});
};

template <class Op>
concept HasFold = requires {
  typename Op::FoldKey;
};

// The tables of an operator that groups or combines by hash; nothing for others.
template <class Op>
struct HashTable {
  explicit HashTable(const mr_host*) {}
};
template <class Op>
requires(Op::kKind == Kind::kHash && !HasFold<Op>) struct HashTable<Op> {
  explicit HashTable(const mr_host*) {}
  HashReduce<typename Op::ValueIn> reduce{HashReduceBytes()};
};
template <class Op>
requires HasFold<Op>
struct HashTable<Op> {
  explicit HashTable(const mr_host* host) : combine(host) {}
  HashCombine<typename Op::FoldValue> combine;
};

template <class Op>
class Adapter {
  static_assert(!HasFold<Op> || Op::kKind != Kind::kHash, "Fold of a HashReducer would also be that of a HashCombiner");
  static_assert(!HasFold<Op> || !HasCombine<Op>, "an operator has one combiner: for sorted ports or for others");
  using Out = typename Op::Out;

  // Lets the base of the operator find its context. Open() resets it.
  struct Constructing {
    explicit Constructing(Context* context) { constructed_with = context; }
  };

  struct Instance {
    Instance(const mr_open_args& args, const mr_host* h)
        : host(h), context(args, h), outputs(h, args.ports), out(&outputs), groups(h, &context, SameGroup()), table(h) {
      if constexpr (HasFold<Op>) {
        static_assert(std::is_same_v<typename Op::FoldKey, typename Op::KeyOut> &&
                          std::is_same_v<typename Op::FoldValue, typename Op::ValueOut>,
                      "a HashCombiner folds the records that its operator emits to port 0");
        outputs.port(0).Divert([this](std::string_view batch) {
          table.combine.Add(batch, [this](auto& total, const auto& value) { op.Fold(total, value); });
        });
      }
    }
    const mr_host* host;
    Context context;
    Outputs outputs;
    Out out;
    GroupReader groups;
    HashTable<Op> table;
    Constructing constructing{&context};  // before `op`, whose constructor may use the context
    Op op;
    bool file_open = false;   // records of a file were delivered, and FileEnd is due
    uint32_t file_input = 0;  // the input of that file
  };

  // Returns the comparison of keys that decides groups; null: equality of bytes.
  static GroupReader::SameGroup SameGroup() {
    if constexpr (Op::kKind == Kind::kSorted) {
      // Compares the bytes of the first part. A part encodes its own end, so equal parts have equal bytes.
      return [](std::string_view a, std::string_view b) {
        std::string_view rest = b;
        KeyCodec<typename Op::GroupKey>::TakePart(&rest);
        const size_t n = b.size() - rest.size();
        return a.size() >= n && std::memcmp(a.data(), b.data(), n) == 0;
      };
    } else if constexpr (HasCompare<Op>) {
      return [](std::string_view a, std::string_view b) { return CompareKeys(a, b) == 0; };
    } else {
      return nullptr;
    }
  }

  static int CompareKeys(std::string_view a, std::string_view b) {
    using K = KeyCodec<typename Op::CompareKey>;
    return Op::Compare(K::Decode(a), K::Decode(b));
  }

  template <class F>
  static int Run(const mr_host* host, F&& f) noexcept {
    return Guard(f, [host](const std::string& why) { FailBecause(host, why); });
  }

  static int Prepare(mr_bytes config, mr_sink error) noexcept {
    return Guard(
        [&] {
          if constexpr (requires { Op::Prepare(std::string_view()); }) Op::Prepare(View(config));
        },
        [&](const std::string& why) { error.write(error.context, Bytes(why)); });
  }

  static void* Open(const mr_open_args* args, const mr_host* host) noexcept {
    Instance* instance = nullptr;
    const int failed = Run(host, [&] {
      instance = new Instance(*args, host);  // NOLINT(bugprone-unhandled-exception-at-new): Run catches it
      if constexpr (requires { instance->op.Open(); }) instance->op.Open();
    });
    constructed_with = nullptr;
    if (failed == 0) return instance;
    delete instance;
    return nullptr;
  }

  static int Batch(void* op, const mr_batch* in) noexcept {
    auto* instance = static_cast<Instance*>(op);
    return Run(instance->host, [&] { Deliver(*instance, *in); });
  }

  static int InputEnd(void* op, uint32_t input) noexcept {
    auto* i = static_cast<Instance*>(op);
    return Run(i->host, [&] {
      if (i->file_open && i->file_input == input) EndFile(*i);
      if constexpr (requires { i->op.InputEnd(input, i->out); }) i->op.InputEnd(input, i->out);
    });
  }

  static int End(void* op) noexcept {
    auto* i = static_cast<Instance*>(op);
    return Run(i->host, [&] {
      if constexpr (Op::kKind == Kind::kHash) ReduceHashed(*i);
      if constexpr (requires { i->op.End(i->out); }) i->op.End(i->out);
      i->outputs.Flush();
      if constexpr (HasFold<Op>) i->table.combine.Finish();
      i->context.FlushCounters();
    });
  }

  static void Close(void* op) noexcept { delete static_cast<Instance*>(op); }

  static BatchView Parse(mr_bytes data) {
    BatchView view;
    if (const char* wrong = BatchView::Parse(data.data, data.size, &view)) {
      throw JobError(std::string("the host delivered a damaged batch: ") + wrong);
    }
    return view;
  }

  static void EndFile(Instance& i) {
    i.file_open = false;
    if constexpr (requires { i.op.FileEnd(i.out); }) i.op.FileEnd(i.out);
  }

  static void Deliver(Instance& i, const mr_batch& in) {
    const BatchView view = Parse(in.data);
    if (i.file_open && View(in.input_file) != i.context.input_file()) EndFile(i);
    i.context.SetBatch(in);
    if (in.input_file.size != 0) {
      i.file_open = true;
      i.file_input = in.input;
    }
    if constexpr (HasSide<Op>) {
      if (in.grouped == 0 && in.input + 1 == i.context.inputs()) {
        for (uint32_t r = 0; r < view.size(); ++r) {
          i.context.AtRecord(r);
          i.context.Taken(view.key(r).size() + view.value(r).size());
          const auto side = [&] {
            i.op.Side(KeyCodec<typename Op::SideKey>::Decode(view.key(r)),
                      ValueCodec<typename Op::SideValue>::Decode(view.value(r)));
          };
          AtPlace(i, side, [&] { return PlaceOf(i, view, r, in.offset); });
        }
        return;
      }
    }
    if constexpr (Op::kKind == Kind::kRaw) {
      i.op.Batch(in, view, i.out);
    } else if constexpr (Op::kKind == Kind::kHash) {
      FoldHashed(i, view, in.offset);
    } else if constexpr (Op::kKind == Kind::kGroup || Op::kKind == Kind::kSorted || Op::kKind == Kind::kJoin) {
      if (in.grouped == 0) {
        throw FinalError("this operator works on groups, but input " + std::to_string(in.input) +
                         " of its stage is not grouped; say so in the plan");
      }
      DeliverGroups(i, view, in.input);
    } else {
      DeliverRecords(i, view, in.offset);
    }
  }

  // Runs f(). If it throws, place() is shown with the failure.
  template <class F, class Place>
  static auto AtPlace(Instance& i, F&& f, Place&& place) {
    try {
      return f();
    } catch (const AttemptOver&) {
      throw;
    } catch (...) {
      i.context.FailedIn(place());
      throw;
    }
  }

  // Decodes the key of the current group.
  template <class K>
  static auto GroupKeyOf(Instance& i) {
    const std::string_view bytes = i.groups.key();
    return AtPlace(
        i, [&] { return KeyCodec<K>::Decode(bytes); }, [&] { return "key '" + Shown(bytes) + "'"; });
  }

  // Runs f(), which maps or reduces one record or group. If f throws BadRecord, the records that it emitted are taken
  // back. place(): its place. bytes: its size; 0: not known.
  template <class F, class Place>
  static void Guarded(Instance& i, uint64_t bytes, F&& f, Place&& place) {
    i.outputs.Mark();
    try {
      f();
    } catch (const BadRecord& bad) {
      i.outputs.Rollback();
      const std::string where = place();
      i.context.FailedIn(where);  // the failure's place if there are too many
      i.context.SkipRecords(1, bytes, where + ": " + bad.what());
    } catch (const AttemptOver&) {
      throw;
    } catch (...) {
      i.context.FailedIn(place());
      throw;
    }
  }

  // Returns the place of record r of the current batch, which begins at `offset`. Prefers the host's knowledge.
  static std::string PlaceOf(const Instance& i, const BatchView& view, uint32_t r, uint64_t offset) {
    if (std::string place = i.context.RecordPlace(r); !place.empty()) return place;
    if (i.context.input_file().empty()) {
      return "record " + std::to_string(r) + " of a batch of input " + std::to_string(i.context.input()) +
             " from upstream task " + std::to_string(i.context.upstream_task());
    }
    // Each line is followed by its newline, so its offset is exact. For other formats the batch's offset is given.
    if constexpr (Op::kKind != Kind::kLine) {
      return "record " + std::to_string(r) + " after " + BytePlace(i.context.input_file(), offset);
    }
    for (uint32_t before = 0; before < r; ++before) offset += view.value(before).size() + 1;
    return BytePlace(i.context.input_file(), offset);
  }

  static void DeliverRecords(Instance& i, const BatchView& view, uint64_t offset) {
    for (uint32_t r = 0; r < view.size(); ++r) {
      const std::string_view key = view.key(r), value = view.value(r);
      i.context.AtRecord(r);
      if constexpr (Op::kKind == Kind::kBlock) {
        i.context.AtKey({});  // its lines are not those of the block before
        try {
          i.op.Map(mr::Block{value, offset}, i.out);
        } catch (const AttemptOver&) {
          throw;
        } catch (...) {
          // An operator that knows the line has already called FailedIn; the first call counts.
          i.context.FailedIn("a line in " + i.context.input_file() + ", bytes " + std::to_string(offset) + " to " +
                             std::to_string(offset + value.size()));
          throw;
        }
        offset += value.size();
        i.context.Taken(key.size() + value.size());
      } else {
        i.context.Taken(key.size() + value.size());
        const auto map = [&] {
          if constexpr (Op::kKind == Kind::kLine) {
            i.op.Map(value, i.out);
          } else {
            i.op.Map(KeyCodec<typename Op::KeyIn>::Decode(key), ValueCodec<typename Op::ValueIn>::Decode(value), i.out);
          }
        };
        Guarded(i, key.size() + value.size(), map, [&] { return PlaceOf(i, view, r, offset); });
      }
    }
  }

  static void DeliverGroups(Instance& i, const BatchView& view, uint32_t input) {
    i.groups.Begin(view, input);
    while (i.groups.NextGroup()) {
      if constexpr (Op::kKind == Kind::kSorted) {
        using K = typename Op::GroupKey;
        const auto key = GroupKeyOf<std::pair<K, typename Op::OrderKey>>(i);
        SortedValues<K, typename Op::OrderKey, typename Op::ValueIn> values(&i.groups);
        const KeyView<K> group(std::get<0>(key));
        Guarded(
            i, 0, [&] { i.op.Reduce(group, values, i.out); }, [&] { return KeyPlace(group, i.groups.key()); });
      } else {
        const auto key = GroupKeyOf<typename Op::KeyIn>(i);
        Guarded(
            i, 0, [&] { CallGroup(i, key); }, [&] { return KeyPlace(key, i.groups.key()); });
      }
    }
  }

  // Folds a batch into the table of a HashReducer.
  static void FoldHashed(Instance& i, const BatchView& view, uint64_t offset) {
    using V = typename Op::ValueIn;
    uint32_t at = 0;
    const auto fold = [&](V& total, ValueView<V> value, uint32_t record) {
      i.context.AtRecord(at = record);
      i.op.Fold(total, value);
    };
    AtPlace(
        i, [&] { i.table.reduce.Add(view, fold); }, [&] { return PlaceOf(i, view, at, offset); });
    i.context.Taken(uint64_t{view.key_bytes()} + view.value_bytes());
  }
  // Reduces what FoldHashed has folded.
  static void ReduceHashed(Instance& i) {
    using K = typename Op::KeyIn;
    using V = typename Op::ValueIn;
    const auto reduce = [&](std::string_view bytes, const V& total) {
      i.context.AtKey(bytes);
      const auto key = AtPlace(
          i, [&] { return KeyCodec<K>::Decode(bytes); }, [&] { return "key '" + Shown(bytes) + "'"; });
      Guarded(
          i, 0, [&] { i.op.Reduce(key, total, i.out); }, [&] { return KeyPlace(key, bytes); });
    };
    const Context::KeyScope scope(&i.context);
    i.table.reduce.Finish([&](V& total, ValueView<V> value) { i.op.Fold(total, value); }, reduce);
  }

  template <class Key>
  static void CallGroup(Instance& i, const Key& key) {
    if constexpr (Op::kKind == Kind::kGroup) {
      Values<typename Op::ValueIn> values(&i.groups);
      i.op.Reduce(key, values, i.out);
    } else {
      using L = typename Op::LeftIn;
      // Equal keys are ordered by input, so the left values come first.
      std::vector<L> left;
      for (auto v : Values<L>(&i.groups, 0)) left.push_back(L(v));
      Values<typename Op::RightIn> right(&i.groups, 1);
      i.op.Join(key, left, right, i.out);
    }
  }

  // Collects the output of combine() and sends full batches to `emit`.
  class CombineSink {
   public:
    CombineSink(mr_emit_fn emit, void* context) : emit_(emit), context_(context) {}
    void Add(std::string_view key, std::string_view value) {
      builder_.Add(key, value);
      if (builder_.Full()) Flush();
    }
    void Flush() {
      if (builder_.empty()) return;
      bytes_.clear();
      builder_.Finish(kSorted, &bytes_);
      if (emit_(context_, Bytes(bytes_)) != 0) throw AttemptOver{};
    }

   private:
    mr_emit_fn emit_;
    void* context_;
    BatchBuilder builder_;
    std::string bytes_;
  };

  static int Combine(void* op, uint32_t port, mr_bytes sorted, mr_emit_fn emit, void* context) noexcept {
    auto* i = static_cast<Instance*>(op);
    return Run(i->host, [&] {
      const BatchView view = Parse(sorted);
      CombineSink sink(emit, context);
      if constexpr (HasRawCombine<Op>) {
        i->op.CombineBatch(port, view, [&](std::string_view k, std::string_view v) { sink.Add(k, v); });
      } else if constexpr (HasCombine<Op>) {
        using V = typename Op::CombineValue;
        GroupReader groups(nullptr, nullptr, SameGroup());
        groups.Begin(view, 0);
        std::string scratch;
        const Context::KeyScope scope(&i->context);
        while (groups.NextGroup()) {
          i->context.AtKey(groups.key());
          Values<V> values(&groups);
          const V folded = i->op.Combine(KeyCodec<typename Op::CombineKey>::Decode(groups.key()), values);
          sink.Add(groups.key(), Encoded<ValueCodec<V>>(folded, &scratch));
        }
      }
      sink.Flush();
      i->context.FlushCounters();  // the host combines after end(), too
    });
  }

  static int Partition(void* op, uint32_t, mr_bytes batch, uint32_t partitions, uint32_t* out) noexcept {
    auto* i = static_cast<Instance*>(op);
    return Run(i->host, [&] {
      const BatchView view = Parse(batch);
      if constexpr (HasPartition<Op>) {
        for (uint32_t r = 0; r < view.size(); ++r) {
          out[r] = i->op.Partition(KeyCodec<typename Op::PartitionKey>::Decode(view.key(r)), partitions);
        }
      }
    });
  }

  // If Op::Compare throws, this returns "equal": the ABI cannot report an error here. The operator fails at its next
  // call.
  static int Compare(void* op, mr_bytes a, mr_bytes b) noexcept {
    int order = 0;
    Run(static_cast<Instance*>(op)->host, [&] { order = CompareKeys(View(a), View(b)); });
    return order;
  }

  static const TypeTable& Types() {
    static const TypeTable* const types = [] {
      auto* made = new TypeTable;
      if constexpr (Op::kKind == Kind::kRecord || Op::kKind == Kind::kGroup || Op::kKind == Kind::kHash) {
        made->template AddInput<typename Op::KeyIn, typename Op::ValueIn>();
      } else if constexpr (Op::kKind == Kind::kSorted) {
        made->template AddInput<std::pair<typename Op::GroupKey, typename Op::OrderKey>, typename Op::ValueIn>();
      } else if constexpr (Op::kKind == Kind::kJoin) {
        made->template AddInput<typename Op::KeyIn, typename Op::LeftIn>();
        made->template AddInput<typename Op::KeyIn, typename Op::RightIn>();
      }
      made->template AddPort<typename Op::KeyOut, typename Op::ValueOut>();
      if constexpr (requires { typename Op::MorePorts; }) made->AddPorts(typename Op::MorePorts());
      if constexpr (HasSide<Op>) made->template SetSide<typename Op::SideKey, typename Op::SideValue>();
      if constexpr (HasCombine<Op>) made->template SetCombine<typename Op::CombineKey, typename Op::CombineValue>();
      return made;
    }();
    return *types;
  }

 public:
  static mr_operator Table(const char* name, uint32_t flags) {
    mr_operator table{};
    table.struct_size = sizeof table;
    table.flags = flags | (Op::kKind == Kind::kBlock ? MR_RAW_BLOCKS : 0);
    table.name = name;
    table.prepare = &Prepare;
    table.open = &Open;
    table.batch = &Batch;
    table.input_end = &InputEnd;
    table.end = &End;
    table.close = &Close;
    if constexpr (HasCombine<Op> || HasRawCombine<Op>) table.combine = &Combine;
    if constexpr (HasPartition<Op>) table.partition = &Partition;
    if constexpr (HasCompare<Op>) table.compare = &Compare;
    Types().Fill(&table);
    if (Op::kKind == Kind::kGroup || Op::kKind == Kind::kJoin || Op::kKind == Kind::kSorted) {
      table.needs |= MR_NEEDS_GROUPS;
    }
    if (Op::kKind == Kind::kSorted) table.needs |= MR_NEEDS_PARTITION;
    return table;
  }
};

}  // namespace mr::sdk
