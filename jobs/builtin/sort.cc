// sort: sorts lines by bytes or fields (like LC_ALL=C sort), or fixed-length records by a key prefix (stable). A sample
// of each split gives quantiles, which every task of the partition stage receives by broadcast. Part i has keys below
// those of part i + 1, so the parts in order are sorted.
//
//   sample --many_to_one--> splitters --broadcast--> partition --all_to_all--> sort
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "jobs/builtin/builtin.h"
#include "jobs/builtin/sort_keys.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

// Guesses: 64 KiB of each split, with at most 400 keys. 64 bytes of a key are enough to separate ranges.
constexpr uint64_t kSampleBytes = 64u << 10;
constexpr size_t kKeysPerSplit = 400;
constexpr size_t kSampleKeyBytes = 64;
// Number of candidates sent to the partition stage (measured: 2,000 keys keep 100 parts within 10 %).
constexpr size_t kCandidates = 4096;
// Bytes per task of the last stage (guess: they fit into a task's memory without spill runs, and keep many slots busy).
constexpr uint64_t kSortTaskBytes = 96u << 20;

// Emits up to kKeysPerSplit keys, evenly spaced in its input.
template <class Base>
class SampleKeys : public Base {
 public:
  void End(typename Base::Out& out) {
    const size_t n = std::min(kKeysPerSplit, keys_.size());
    for (size_t i = 0; i < n; ++i) out.EmitRaw(keys_[i * keys_.size() / n], {});
  }

 protected:
  void AddRecord(std::string_view record) {
    if (!splitter_) splitter_.emplace(this->context().config());
    keys_.emplace_back(splitter_->Split(record, &scratch_).first.substr(0, kSampleKeyBytes));
  }

 private:
  std::optional<SortKeys> splitter_;
  std::string scratch_;
  std::vector<std::string> keys_;
};

class SampleLines : public SampleKeys<BlockMapper<std::string, std::string>> {
 public:
  void Map(const Block& block, Out&) {
    ForEachLine(block.text, [this](std::string_view line) { AddRecord(line); });
  }
};

class SampleRecords : public SampleKeys<LineMapper<std::string, std::string>> {
 public:
  void Map(std::string_view record, Out&) { AddRecord(record); }
};

// Sorts all samples and emits at most kCandidates of them. One task.
class PickSplitters : public Mapper<std::string, std::string, std::string, std::string> {
 public:
  void Map(std::string_view key, std::string_view, Out&) { keys_.emplace_back(key); }
  void End(Out& out) {
    std::sort(keys_.begin(), keys_.end());
    const size_t n = std::min(kCandidates, keys_.size());
    for (size_t i = 0; i < n; ++i) out.EmitRaw(keys_[i * keys_.size() / n], {});
  }

 private:
  std::vector<std::string> keys_;
};

// Emits records by key, with a partitioner that uses the quantiles.
template <class Base>
class ByRange : public Base, public SideInput<std::string, std::string>, public Partitioner<std::string> {
 public:
  void Side(std::string_view key, std::string_view) { candidates_.emplace_back(key); }

  uint32_t Partition(std::string_view key, uint32_t partitions) {
    if (borders_.empty() && partitions > 1) {
      for (uint32_t i = 1; i < partitions && !candidates_.empty(); ++i) {
        borders_.push_back(candidates_[uint64_t{i} * candidates_.size() / partitions]);
        prefixes_.push_back(Prefix(borders_.back()));
      }
    }
    // The first bytes decide nearly always; where they are equal, the whole keys do.
    const uint64_t prefix = Prefix(key);
    auto at = static_cast<size_t>(std::upper_bound(prefixes_.begin(), prefixes_.end(), prefix) - prefixes_.begin());
    while (at > 0 && prefixes_[at - 1] == prefix && key < borders_[at - 1]) --at;
    return static_cast<uint32_t>(at);
  }

 protected:
  void Sort(std::string_view record, typename Base::Out& out) {
    if (!splitter_) splitter_.emplace(this->context().config());
    const auto [key, value] = splitter_->Split(record, &scratch_);
    out.EmitRaw(key, value);
  }

 private:
  std::optional<SortKeys> splitter_;
  std::string scratch_;
  // Returns the first 8 bytes as a number, padded with zeros: its order agrees with that of the keys.
  static uint64_t Prefix(std::string_view key) {
    uint64_t word = 0;
    std::memcpy(&word, key.data(), std::min<size_t>(key.size(), sizeof word));
    return __builtin_bswap64(word);
  }

  std::vector<std::string> candidates_, borders_;
  std::vector<uint64_t> prefixes_;  // of borders_
};

class PartitionLines : public ByRange<BlockMapper<std::string, std::string>> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachLine(block.text, [&](std::string_view line) { Sort(line, out); });
  }
};

class PartitionRecords : public ByRange<LineMapper<std::string, std::string>> {
 public:
  void Map(std::string_view record, Out& out) { Sort(record, out); }
};

// The same for records whose key is their beginning, a batch at a time: a tenth of the time of the job (measured).
class PartitionPlainRecords : public ByRange<RawOperator<std::string, std::string>> {
 public:
  void Open() { key_bytes_ = SortKeys(context().config()).options().key_bytes; }
  void Batch(const mr_batch&, const BatchView& view, Out& out) {
    for (uint32_t i = 0; i < view.size(); ++i) {
      const std::string_view record = view.value(i);
      out.EmitRaw(record.substr(0, key_bytes_), record.substr(key_bytes_));
    }
    context().Taken(view.key_bytes() + view.value_bytes());
  }

 private:
  uint64_t key_bytes_ = 0;
};

// Writes records whose key is their beginning, or lines that are their own keys.
class WritePlain : public RawOperator<Text, Text> {
 public:
  void Open() { lines_ = context().config().Bool("lines"); }
  void Batch(const mr_batch&, const BatchView& view, Out& out) {
    for (uint32_t i = 0; i < view.size(); ++i) {
      lines_ ? out.EmitRaw({}, view.key(i)) : out.EmitRaw(view.key(i), view.value(i));
    }
    context().Taken(view.key_bytes() + view.value_bytes());
  }

 private:
  bool lines_ = true;
};

// Writes each original record, sorted by key.
class WriteSorted : public Reducer<std::string, std::string, Text, Text> {
 public:
  void Open() {
    config_ = context().config();
    keys_.emplace(config_);
    lines_ = config_.Bool("lines");
  }
  void Reduce(std::string_view sort_key, Values<std::string>& values, Out& out) {
    const std::string_view key = keys_->Original(sort_key, &key_);
    for (std::string_view value : values) {
      if (keys_->options().keeps_record()) {
        lines_ ? out.Line(value) : out.EmitRaw({}, value);
        if (keys_->options().unique) return;
      } else if (!lines_) {
        out.EmitRaw(key, value);
      } else if (value.empty()) {
        out.Line(key);
      } else {
        line_.assign(key).append(value);
        out.Line(line_);
      }
    }
  }

 private:
  Config config_;
  std::optional<SortKeys> keys_;
  bool lines_ = true;
  std::string key_, line_;
};

// Returns N of "fixed:N", or 0 for text.
uint64_t RecordBytes(const Args& args, const std::string& format) {
  if (format == "text") return 0;
  uint64_t n = 0;
  if (format.rfind("fixed:", 0) == 0) {
    const char* end = format.data() + format.size();
    const auto parsed = std::from_chars(format.data() + 6, end, n);
    if (parsed.ec == std::errc() && parsed.ptr == end && n > 0) return n;
  }
  args.Refuse("--format " + format + " cannot be sorted; use text or fixed:N, such as fixed:100" +
              Suggest(format, {"text", "fixed:100"}));
}

}  // namespace

void PlanSort(const std::vector<std::string>& argv, JobPlan& plan) {
  std::string format = "text";
  SortOptions options;
  std::vector<std::string> fields;
  int64_t key_bytes = -1;
  Args args("sort");
  args.Add("--format", &format).Add("-r", &options.reverse).Add("--reverse", &options.reverse);
  args.Add("-n", &options.numeric).Add("--numeric", &options.numeric).Add("-k", &fields).Add("--key", &fields);
  args.Add("-t", &options.separator).Add("--field-separator", &options.separator);
  args.Add("-s", &options.stable)
      .Add("--stable", &options.stable)
      .Add("-u", &options.unique)
      .Add("--unique", &options.unique);
  args.Add("--key-bytes", &key_bytes, 1, 1 << 20).Parse(argv);
  const uint64_t record = RecordBytes(args, format);
  const bool lines = record == 0;
  if (options.separator == "\\t") options.separator = "\t";
  if (options.separator.size() > 1)
    args.Refuse("-t '" + options.separator + "' is not one byte; give one as ',', or \\t for a tab");
  for (const std::string& field : fields) options.fields.push_back(ParseSortField(args, field));
  if (!lines && options.keeps_record()) args.Refuse("-k, -n and -u are for lines, not for --format " + format);
  if (key_bytes > 0 && options.keeps_record()) args.Refuse("--key-bytes and -k, -n or -u exclude each other");
  if (options.stable && !options.keeps_record())
    args.Refuse("-s needs a key, -k FIELD or -n: without one, lines with equal keys are identical");
  if (key_bytes < 0) key_bytes = lines ? 0 : 10;  // for records: the key of the sort benchmarks
  if (!lines && static_cast<uint64_t>(key_bytes) > record) {
    args.Refuse("--key-bytes " + std::to_string(key_bytes) + " is more than a record of " + format + " has");
  }
  options.key_bytes = static_cast<uint64_t>(key_bytes);
  const Config config = options.Encode().Set("lines", lines);
  auto& sample = plan.Map("sample", lines ? "sort.sample_lines" : "sort.sample_records")
                     .Configure(config)
                     .ReadFiles(JobPlan::Stage::kAllInputs, {.format = format, .sample_bytes = kSampleBytes})
                     .Shuffle({.sorted = false});
  auto& splitters =
      plan.Map("splitters", "sort.splitters").Tasks(1).Read(Edge::kManyToOne, sample).Shuffle({.sorted = false});
  // Neither a copy of the record nor a key that has to be decoded.
  const bool plain = !options.keeps_record() && !options.reverse;
  const char* const records = plain ? "sort.plain_records" : "sort.records";
  auto& partition = plan.Map("partition", lines ? "sort.lines" : records)
                        .Configure(config)
                        .ReadFiles(JobPlan::Stage::kAllInputs, {.format = format})
                        .Read(Edge::kBroadcast, splitters)
                        .Shuffle({.custom_partition = true});
  plan.Reduce("sort", plain && (!lines || key_bytes == 0) ? "sort.write_plain" : "sort.write")
      .Configure(config)
      .TaskBytes(kSortTaskBytes)
      .Group(partition)
      .WriteFiles(format);
}

void AddSort(Library& library) {
  library.Add<SampleLines>("sort.sample_lines", kPure)
      .Add<SampleRecords>("sort.sample_records", kPure)
      .Add<PickSplitters>("sort.splitters", kPure)
      .Add<PartitionLines>("sort.lines", kPure)
      .Add<PartitionRecords>("sort.records", kPure)
      .Add<PartitionPlainRecords>("sort.plain_records", kPure)
      .Add<WriteSorted>("sort.write", kPure)
      .Add<WritePlain>("sort.write_plain", kPure)
      .AddJob<PlanSort>(
          "sort",
          "sort lines by bytes or by fields, or records of a fixed length by their first bytes\n"
          "  --format text|fixed:N  sort lines (text, the default) or records of N bytes\n"
          "  --key-bytes N          compare the first N bytes only; equal ones keep their order\n"
          "                         (default: the whole line; 10 for fixed:N)\n"
          "  -r, --reverse          sort in descending order\n"
          "  -k, --key F[,G][nr]    sort by fields F to G (without G: to the end of the line); n: as numbers, r: in\n"
          "                         descending order; may be repeated, the first key counts most\n"
          "  -t, --field-separator C  separator of fields (default: runs of blanks)\n"
          "  -n, --numeric          compare as numbers, for keys without options of their own\n"
          "  -s, --stable           keep the order of the input for lines with equal keys\n"
          "  -u, --unique           print only the first line of each key");
}

}  // namespace mr::builtin
