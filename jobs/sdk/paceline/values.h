// Groups of a sorted stream. Records with equal keys are adjacent. A group may continue in the next batch, which is
// pulled from the host when the operator reaches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "common/abi/batch.h"
#include "paceline/codec.h"
#include "paceline/context.h"
#include "paceline/error.h"

namespace mr {

namespace sdk {

// A cursor over one grouped stream. With a host it pulls batches. Without one (combine) the first batch is the only
// one.
class GroupReader {
 public:
  // Returns whether two keys belong to one group. Default: keys with equal bytes.
  using SameGroup = bool (*)(std::string_view a, std::string_view b);
  GroupReader(const mr_host* host, Context* context, SameGroup same = nullptr)
      : host_(host), context_(context), same_(same) {}

  // Starts at the first record of `in`.
  void Begin(const BatchView& in, uint32_t input) {
    view_ = in;
    input_ = input;
    at_ = 0;
    open_ = false;
  }

  // Moves to the next group and skips the rest of the current one. Returns false at the end of the input.
  bool NextGroup() {
    if (open_) {
      while (HasValue()) Advance();
    }
    open_ = false;
    if (at_ == view_.size() && !Pull()) return false;
    key_.assign(view_.key(at_));
    open_ = true;
    if (context_ != nullptr) context_->AtRecord(at_);
    return true;
  }

  // Key of the group's first record. Valid until NextGroup, also while batches are pulled.
  std::string_view key() const { return key_; }

  bool HasValue() {
    if (at_ == view_.size() && !Pull()) return false;
    return same_ == nullptr ? view_.key(at_) == key_ : same_(view_.key(at_), key_);
  }
  // The current record: its own key, value and input; Advance moves to the next. Requires: HasValue() for these four.
  std::string_view record_key() const { return view_.key(at_); }
  std::string_view value() const {
    if (context_ != nullptr) context_->AtRecord(at_);
    return view_.value(at_);
  }
  uint32_t input() const { return view_.flags() & kTagged ? view_.tag(at_) : input_; }
  // Position in the whole stream: equal if no record was passed over in between. Requires: HasValue() was called.
  struct Position {
    uint64_t batch;
    uint32_t record;
    bool operator==(const Position&) const = default;
  };
  Position position() const { return {batches_, at_}; }
  void Advance() {
    if (context_ != nullptr) context_->Taken(view_.key(at_).size() + view_.value(at_).size());
    ++at_;
  }

 private:
  bool Pull() {
    if (host_ == nullptr || ended_) return false;
    do {
      mr_batch in{};
      in.struct_size = sizeof in;
      const int got = host_->next_batch(host_->context, &in);
      if (got < 0) throw AttemptOver{};
      if (got == 0) {
        ended_ = true;
        return false;
      }
      if (const char* wrong = BatchView::Parse(in.data.data, in.data.size, &view_)) {
        throw JobError(std::string("the host delivered a damaged batch: ") + wrong);
      }
      if (context_ != nullptr) context_->SetBatch(in);
      input_ = in.input;
      at_ = 0;
      ++batches_;
    } while (view_.size() == 0);
    return true;
  }

  const mr_host* host_;
  Context* context_;
  SameGroup same_;
  BatchView view_;
  uint32_t at_ = 0, input_ = 0;
  uint64_t batches_ = 0;  // pulled ones
  bool open_ = false, ended_ = false;
  std::string key_;
};

// Refuses a second pass over the values of a group: it would lack those that the first pass has read.
class OnePass {
 public:
  // Errors: FinalError if values were read since the first call.
  void Begin(GroupReader* reader) {
    reader->HasValue();  // pulls the batch of the next value, so that position() is that of the value
    if (begun_ && reader->position() != begin_) [[unlikely]] {
      throw FinalError(
          "the values of a group can be read once, and a second loop over them begins here; do all work in one loop, "
          "keep one iterator, or keep what the second loop needs in a std::vector");
    }
    begun_ = true;
    begin_ = reader->position();
  }

 private:
  bool begun_ = false;
  GroupReader::Position begin_{};
};

}  // namespace sdk

// The values of one group, for one pass: for (auto v : values). A std::string_view is valid until the loop moves on.
// Values that are not read are skipped.
template <class V>
class Values {
 public:
  static constexpr uint32_t kAnyInput = ~uint32_t{0};  // values of all inputs

  // Made by the adapter of the operator.
  explicit Values(sdk::GroupReader* reader, uint32_t only_input = kAnyInput) : reader_(reader), only_(only_input) {}

  class Iterator {
   public:
    using value_type = ValueView<V>;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Values* values) : values_(values) {}
    ValueView<V> operator*() const { return ValueCodec<V>::Decode(values_->reader_->value()); }
    Iterator& operator++() {
      values_->reader_->Advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return values_->empty(); }

   private:
    Values* values_;
  };

  // Begins the pass, and ends it. Errors: FinalError if a pass has read values before.
  Iterator begin() {
    pass_.Begin(reader_);
    return Iterator(this);
  }
  // Returns the mark of the end, for loops.
  std::default_sentinel_t end() const { return {}; }
  // Returns whether no value is left.
  bool empty() const { return !reader_->HasValue() || (only_ != kAnyInput && reader_->input() != only_); }

 private:
  sdk::GroupReader* reader_;
  uint32_t only_;
  sdk::OnePass pass_;
};

// Returns the sum of the values of the group. Requires: a value type with +=; no value has been read.
template <class V>
V Sum(Values<V>& values) {
  V sum{};
  for (auto v : values) sum += v;
  return sum;
}

// The values of one group of a SortedReducer, each with the By that orders it, for one pass.
template <class K, class By, class V>
class SortedValues {
 public:
  // Made by the adapter of the operator.
  explicit SortedValues(sdk::GroupReader* reader) : reader_(reader) {}
  class Iterator {
   public:
    using value_type = std::pair<By, ValueView<V>>;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(SortedValues* values) : values_(values) {}
    value_type operator*() const {
      return {By(std::get<1>(KeyCodec<std::pair<K, By>>::Decode(values_->reader_->record_key()))),
              ValueCodec<V>::Decode(values_->reader_->value())};
    }
    Iterator& operator++() {
      values_->reader_->Advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return values_->empty(); }

   private:
    SortedValues* values_;
  };
  // Begins the pass, and ends it. Errors: FinalError if a pass has read values before.
  Iterator begin() {
    pass_.Begin(reader_);
    return Iterator(this);
  }
  // Returns the mark of the end, for loops.
  std::default_sentinel_t end() const { return {}; }

  // Returns whether no value is left.
  bool empty() const { return !reader_->HasValue(); }

 private:
  sdk::GroupReader* reader_;
  sdk::OnePass pass_;
};

}  // namespace mr
