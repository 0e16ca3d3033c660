// Translates structs to and from Cap'n Proto messages. One listing of a struct's fields serves both directions.
//
//   template <class W>
//   void Walk(W& w, Is<Slice> auto& s) {
//     MR_WIRE(w, s.input, Input);
//     MR_WIRE(w, s.partition_begin, PartitionBegin);
//   }
//
// A WireReader takes the fields of this list from a message, a WireWriter puts them into one. Fields may be scalars,
// enums, strings (Text or Data), ids of one number, structs with a listing, and vectors of these. Durations and limits
// need a wrapper: InMicros, Cut, AtMost, CutLines. A listing stands in namespace mr::rpc, in the one file that uses it.
#pragma once

#include <capnp/list.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/model/output.h"

namespace mr::rpc {

// Lists one field. `name` is the field's name in the schema, with a capital first letter as in its accessors.
#define MR_WIRE(w, field, name)                                                               \
  (w).Field((field), [](auto& m) { return m.get##name(); },                                   \
            [](auto& m, auto&& value) { m.set##name(std::forward<decltype(value)>(value)); }, \
            [](auto& m, auto... size) { return m.init##name(size...); })

// The same for a std::optional of a struct: nothing where the message has a null pointer.
#define MR_WIRE_OPTIONAL(w, field, name)                                                              \
  (w).Optional((field), [](auto& m) { return m.has##name(); }, [](auto& m) { return m.get##name(); }, \
               [](auto& m, auto... size) { return m.init##name(size...); })

// A field in a union: `selected` equals `value` where the message has this one. Requires: each value that is written
// has a case.
#define MR_WIRE_CASE(w, selected, value, field, name)                                                                 \
  (w).Case((selected), (value), (field), [](auto& m) { return m.is##name(); }, [](auto& m) { return m.get##name(); }, \
           [](auto& m, auto&& v) { m.set##name(std::forward<decltype(v)>(v)); },                                      \
           [](auto& m, auto... size) { return m.init##name(size...); })

// A field in a union whose fields are the alternatives of a std::variant. `field` is an expression for the part of the
// alternative `v` that is sent: all of it (v), or its only member (v.why).
#define MR_WIRE_KIND(w, variant, type, field, name)                                                  \
  (w).Kind((variant), std::type_identity<type>{}, [](auto& v) -> decltype(auto) { return (field); }, \
           [](auto& m) { return m.is##name(); }, [](auto& m) { return m.get##name(); },              \
           [](auto& m, auto&& value) { m.set##name(std::forward<decltype(value)>(value)); },         \
           [](auto& m, auto... size) { return m.init##name(size...); })

template <class T, class S>
concept Is = std::is_same_v<std::remove_const_t<T>, S>;

// A wire field in microseconds, for a Duration (cut) or a double in seconds (rounded). Negative values are sent as 0.
// Numbers that exceed a Duration are read as the largest number of whole microseconds.
template <class D>
struct Microseconds {
  D& duration;
};
template <class D>
Microseconds<D> InMicros(D& duration) {
  return {duration};
}

// The same in milliseconds, for a Duration.
template <class D>
struct Milliseconds {
  D& duration;
};
template <class D>
Milliseconds<D> InMillis(D& duration) {
  return {duration};
}

// A string that is a null pointer on the wire if it is empty.
template <class S>
struct NullText {
  S& text;
};
template <class S>
NullText<S> OrNull(S& text) {
  return {text};
}

// A text for people. It is cut to kCutBytes when it is sent, so that it does not fill a message.
inline constexpr size_t kCutBytes = 4096;
template <class S>
struct CutText {
  S& text;
};
template <class S>
CutText<S> Cut(S& text) {
  return {text};
}

// A list or a string with a limit: elements or bytes beyond the limit are not read. The sender does not cut it.
template <class L>
struct Limited {
  L& list;
  size_t most;
};
template <class L>
Limited<L> AtMost(size_t most, L& list) {
  return {list, most};
}

// A list of texts for people: at most `most` are read, and each text is cut when it is sent.
template <class L>
struct LimitedLines {
  L& lines;
  size_t most;
};
template <class L>
LimitedLines<L> CutLines(size_t most, L& lines) {
  return {lines, most};
}

// A replica, or a list of them, whose messages do not name the stage of its output.
template <class P>
struct OfStage {
  StageId stage;
  P& replicas;
};
template <class P>
OfStage<P> InStage(StageId stage, P& replicas) {
  return {stage, replicas};
}

// Selects EnumFromWire and EnumToWire, which stand beside the listings: an enum of a schema brings no namespace.
template <class T>
struct EnumOf {};

// A worker and its incarnation, which the wire has as one WorkerRef.
template <class I, class N>
struct WorkerRefParts {
  I& id;
  N& incarnation;
};
template <class I, class N>
WorkerRefParts<I, N> AsWorkerRef(I& id, N& incarnation) {
  return {id, incarnation};
}

// Some fields of a struct, as a struct of their own on the wire: L::Walk lists them.
template <class L, class T>
struct Part {
  T& whole;
};
template <class L, class T>
Part<L, T> As(T& whole) {
  return {whole};
}
template <class W, class L, class T>
void Walk(W& w, const Part<L, T>& part) {
  L::Walk(w, part.whole);
}

namespace walk_internal {
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept OneNumberId = std::is_same_v<T, WorkerId> || std::is_same_v<T, BlockId>;
template <class B>
using ReaderOf = typename B::Builds::Reader;
}  // namespace walk_internal

// Reads fields from a Cap'n Proto reader.
template <class R>
class WireReader {
 public:
  // most_text: bytes of a string that are read; the rest is dropped.
  WireReader(R in, size_t most_text) : in_(in), most_text_(most_text) {}

  template <class T, class Get, class Set, class Init>
  void Field(T&& field, Get get, Set, Init) {
    Take(get(in_), field);
  }
  template <class T, class Has, class Get, class Init>
  void Optional(std::optional<T>& field, Has has, Get get, Init) {
    field.reset();
    if (has(in_)) Take(get(in_), field.emplace());
  }
  template <class E, class T, class Which, class Get, class Set, class Init>
  void Case(E& selected, E value, T&& field, Which which, Get get, Set, Init) {
    if (!which(in_)) return;
    selected = value;
    known_ = true;
    Take(get(in_), field);
  }
  template <class Variant, class T, class Pick, class Which, class Get, class Set, class Init>
  void Kind(Variant& variant, std::type_identity<T>, Pick pick, Which which, Get get, Set, Init) {
    if (!which(in_)) return;
    auto&& field = pick(variant.template emplace<T>());
    Take(get(in_), field);
  }
  // Called after the cases of a union. Sets `unknown` if the message has a field that only a later release knows.
  void Unmatched(bool& unknown) { unknown = !known_; }

 private:
  template <walk_internal::Number V, walk_internal::Number T>
  void Take(V value, T& out) {
    out = static_cast<T>(value);
  }
  template <class V, class T>
  requires std::is_enum_v<T>
  void Take(V value, T& out) { out = EnumFromWire(EnumOf<T>{}, value); }
  template <class T>
  void Take(capnp::Void, T&) {}
  template <class V>
  void Take(V value, WorkerId& out) {
    out.value = value;
  }
  template <class V>
  void Take(V value, BlockId& out) {
    out.value = value;
  }
  template <class V>
  void Take(V value, Microseconds<Duration>& out) {
    out.duration = Micros(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX / 1000)));
  }
  template <class V>
  void Take(V value, Milliseconds<Duration>& out) {
    out.duration = Millis(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX / 1'000'000)));
  }
  template <class V>
  void Take(V value, NullText<std::string>& out) {
    Take(value, out.text);
  }
  template <class V>
  void Take(V value, std::string& out) {
    out.assign(reinterpret_cast<const char*>(value.begin()), std::min(value.size(), most_text_));
  }
  template <class V>
  void Take(V value, Microseconds<double>& out) {
    out.duration = static_cast<double>(value) * 1e-6;
  }
  template <class V>
  void Take(V value, CutText<std::string>& out) {
    Take(value, out.text);
  }
  template <class V>
  void Take(V value, Limited<std::string>& out) {
    out.list.assign(reinterpret_cast<const char*>(value.begin()), std::min<size_t>(value.size(), out.most));
  }
  template <class V>
  void Take(V lines, LimitedLines<std::vector<std::string>>& out) {
    TakeList(lines, std::min<size_t>(lines.size(), out.most), out.lines);
  }
  template <class V, class T>
  void Take(V list, std::vector<T>& out) {
    TakeList(list, list.size(), out);
  }
  template <class V, class T>
  void Take(V list, Limited<std::vector<T>>& out) {
    TakeList(list, std::min<size_t>(list.size(), out.most), out.list);
  }
  template <class V, class T>
  void TakeList(V list, size_t size, std::vector<T>& out) {
    out.resize(size);
    for (uint32_t i = 0; i < size; ++i) Take(list[i], out[i]);
  }
  template <class V>
  void Take(V value, WorkerRefParts<WorkerId, Incarnation>& out) {
    out.id.value = value.getId();
    out.incarnation = value.getIncarnation();
  }
  template <class V>
  void Take(V value, OfStage<std::shared_ptr<const ReplicaLocation>>& out) {
    TakeInStage(value, out.stage, out.replicas);
  }
  template <class V>
  void Take(V list, OfStage<std::vector<std::shared_ptr<const ReplicaLocation>>>& out) {
    out.replicas.resize(list.size());
    for (uint32_t i = 0; i < list.size(); ++i) TakeInStage(list[i], out.stage, out.replicas[i]);
  }
  template <class V>
  void TakeInStage(V value, StageId stage, std::shared_ptr<const ReplicaLocation>& out) {
    auto fresh = std::make_shared<ReplicaLocation>();
    Take(value, *fresh);
    fresh->output.task.job = stage.job;
    fresh->output.task.stage = stage.stage;
    out = std::move(fresh);
  }
  template <class V, class T>
  requires requires(V v) { typename V::Reads; }
  void Take(V value, T& out) {
    WireReader<V> nested(value, most_text_);
    Walk(nested, out);
  }

  R in_;
  size_t most_text_;
  bool known_ = false;
};

template <class T, class B>
void WriteWire(const T& value, B out);

// Writes fields to a Cap'n Proto builder.
template <class B>
class WireWriter {
 public:
  explicit WireWriter(B out) : out_(out) {}

  template <class T, class Get, class Set, class Init>
  void Field(const T& field, Get get, Set set, Init init) {
    using Reader = walk_internal::ReaderOf<B>;
    using Value = decltype(get(std::declval<Reader&>()));
    Put<Value>(field, set, init);
  }
  template <class T, class Has, class Get, class Init>
  void Optional(const std::optional<T>& field, Has, Get, Init init) {
    if (field) WriteWire(*field, init(out_));
  }
  template <class E, class T, class Which, class Get, class Set, class Init>
  void Case(const E& selected, E value, const T& field, Which, Get get, Set set, Init init) {
    if (selected == value) Field(field, get, set, init);
  }
  template <class Variant, class T, class Pick, class Which, class Get, class Set, class Init>
  void Kind(const Variant& variant, std::type_identity<T>, Pick pick, Which, Get get, Set set, Init init) {
    const T* alternative = std::get_if<T>(&variant);
    if (alternative != nullptr) Field(pick(*alternative), get, set, init);
  }
  void Unmatched(bool) {}

 private:
  // Value: what a reader of the field returns.
  template <class Value, class T, class Set, class Init>
  void Put(const T& field, Set set, Init init) {
    if constexpr (std::is_same_v<Value, capnp::Void>) {
      set(out_, capnp::VOID);
    } else if constexpr (walk_internal::Number<T>) {
      set(out_, static_cast<Value>(field));
    } else if constexpr (std::is_enum_v<T>) {
      set(out_, EnumToWire(EnumOf<T>{}, field));
    } else if constexpr (walk_internal::OneNumberId<T>) {
      set(out_, field.value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      set(out_, AsValue<Value>(field));
    } else {
      PutPart<Value>(field, set, init);
    }
  }
  template <class Value, class D, class Set, class Init>
  void PutPart(const Microseconds<D>& field, Set set, Init) {
    if constexpr (std::is_same_v<std::remove_const_t<D>, double>) {
      set(out_, static_cast<Value>(std::llround(std::max(field.duration, 0.0) * 1e6)));
    } else {
      set(out_, static_cast<Value>(std::max<int64_t>(field.duration.ns, 0) / 1000));
    }
  }
  template <class Value, class D, class Set, class Init>
  void PutPart(const Milliseconds<D>& field, Set set, Init) {
    set(out_, static_cast<Value>(std::max<int64_t>(field.duration.ns, 0) / 1'000'000));
  }
  template <class Value, class S, class Set, class Init>
  void PutPart(const NullText<S>& field, Set set, Init) {
    if (!field.text.empty()) set(out_, AsValue<Value>(field.text));
  }
  template <class Value, class S, class Set, class Init>
  void PutPart(const CutText<S>& field, Set set, Init) {
    if (field.text.size() <= kCutBytes) return set(out_, AsValue<Value>(field.text));
    const std::string cut = field.text.substr(0, kCutBytes);
    set(out_, AsValue<Value>(cut));
  }
  template <class Value, class P, class Set, class Init>
  void PutPart(const OfStage<P>& field, Set set, Init init) {
    PutPart<Value>(field.replicas, set, init);
  }
  template <class Value, class L, class Set, class Init>
  void PutPart(const Limited<L>& field, Set set, Init init) {
    Put<Value>(field.list, set, init);
  }
  template <class Value, class L, class Set, class Init>
  void PutPart(const LimitedLines<L>& field, Set set, Init init) {
    std::vector<std::string> cut;
    for (const std::string& line : field.lines) cut.push_back(line.substr(0, kCutBytes));
    PutPart<Value>(cut, set, init);
  }
  template <class Value, class I, class N, class Set, class Init>
  void PutPart(const WorkerRefParts<I, N>& field, Set, Init init) {
    auto part = init(out_);
    part.setId(field.id.value);
    part.setIncarnation(field.incarnation);
  }
  template <class Value, class T, class Set, class Init>
  void PutPart(const std::vector<T>& field, Set, Init init) {
    auto list = init(out_, static_cast<unsigned>(field.size()));
    for (unsigned i = 0; i < field.size(); ++i) {
      if constexpr (walk_internal::Number<T>) {
        list.set(i, field[i]);
      } else if constexpr (walk_internal::OneNumberId<T>) {
        list.set(i, field[i].value);
      } else if constexpr (std::is_same_v<T, std::string>) {
        list.set(i, AsValue<decltype(list[i].asReader())>(field[i]));
      } else {
        PutElement(field[i], list[i]);
      }
    }
  }
  template <class T, class E>
  void PutElement(const T& value, E element) {
    WireWriter<E> nested(element);
    Walk(nested, value);
  }
  template <class T, class E>
  void PutElement(const std::shared_ptr<const T>& value, E element) {
    PutElement(*value, element);
  }
  template <class Value, class T, class Set, class Init>
  void PutPart(const std::shared_ptr<const T>& field, Set set, Init init) {
    Put<Value>(*field, set, init);
  }
  template <class Value, class T, class Set, class Init>
  requires requires { typename Value::Reads; }
  void PutPart(const T& field, Set, Init init) {
    auto part = init(out_);
    WireWriter<decltype(part)> nested(part);
    Walk(nested, field);
  }

  template <class Value>
  static Value AsValue(const std::string& s) {
    if constexpr (std::is_same_v<Value, capnp::Text::Reader>) {
      return {s.c_str(), s.size()};
    } else {
      return {reinterpret_cast<const capnp::byte*>(s.data()), s.size()};
    }
  }

  B out_;
};

// Returns the struct that a message contains. most_text: bytes of each string that are read.
template <class T, class R>
T ReadWire(R in, size_t most_text = SIZE_MAX) {
  T out;
  WireReader<R> reader(in, most_text);
  Walk(reader, out);
  return out;
}

template <class T, class B>
void WriteWire(const T& value, B out) {
  WireWriter<B> writer(out);
  Walk(writer, value);
}

// ---- Listings that several schemas use -----------------------------------------------------------

template <class W>
void Walk(W& w, Is<mr::JobId> auto& id) {
  MR_WIRE(w, id.epoch, Epoch);
  MR_WIRE(w, id.seq, Seq);
}

template <class W>
void Walk(W& w, Is<mr::TaskId> auto& id) {
  MR_WIRE(w, id.job, Job);
  MR_WIRE(w, id.stage, Stage);
  MR_WIRE(w, id.task, Task);
}

template <class W>
void Walk(W& w, Is<mr::AttemptId> auto& id) {
  MR_WIRE(w, id.task, Task);
  MR_WIRE(w, id.number, Number);
}

template <class W>
void Walk(W& w, Is<Digest128> auto& digest) {
  MR_WIRE(w, digest.low, Low);
  MR_WIRE(w, digest.high, High);
}

template <class W>
void Walk(W& w, Is<mr::CounterValue> auto& counter) {
  MR_WIRE(w, Cut(counter.group), Group);
  MR_WIRE(w, Cut(counter.name), Name);
  MR_WIRE(w, counter.value, Value);
}

}  // namespace mr::rpc
