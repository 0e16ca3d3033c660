// LocalJob runs a whole job of a library in this process, without a cluster: plan, splits, tasks, partitions,
// combiners, and grouped merges. Equal keys have the engine's order (input, upstream task, position). Splits and
// batches are small on purpose, so that errors at their borders show. Partitions differ from those of a cluster. With a
// seed (local_result.h) all choices that the engine leaves open are random; determinism.h tries many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/abi/csv_scan.h"
#include "paceline/json_text.h"
#include "paceline/testing/attempts.h"
#include "paceline/testing/json.h"
#include "paceline/testing/local_result.h"
#include "paceline/testing/part_text.h"
#include "paceline/testing/partition_check.h"
#include "paceline/testing/plan_sizes.h"
#include "paceline/testing/plan_use.h"
#include "paceline/testing/record_range.h"
#include "paceline/testing/shares.h"
#include "paceline/testing/shuffled.h"
#include "paceline/testing/side_files.h"
#include "paceline/testing/test_host.h"
#include "paceline/testing/variation.h"

namespace mr {

// A job with its inputs. Run may be called several times.
class LocalJob {
 public:
  // Requires: a library that outlives it.
  explicit LocalJob(const mr_library* library, LocalOptions options = {})
      : library_(library), options_(options), variation_(options.seed == 0 ? Variation() : Variation(options.seed)) {}

  // Adds a file of the job's --input option number `input`.
  LocalJob& Input(const std::string& name, std::string content, int input = 0) {
    files_.push_back({name, std::move(content), input});
    return *this;
  }
  // Adds a file that the job's arguments name.
  LocalJob& File(const std::string& name, std::string content) { return Input(name, std::move(content), -2); }

  // Adds a side file, like submit --files PATH#NAME.
  LocalJob& SideFile(const std::string& name, const std::string& content) {
    side_files_.Add(name, content);
    return *this;
  }
  // Sets the size that JobPlan::InputBytes() returns for `uri`. By default it is not known.
  LocalJob& InputBytes(const std::string& uri, uint64_t bytes) {
    sizes_.SetBytes(uri, bytes);
    return *this;
  }
  // Sets JobPlan::memory_bytes(), like submit --memory.
  LocalJob& Memory(uint64_t bytes) {
    sizes_.SetMemory(bytes);
    return *this;
  }
  // Sets the choices that the engine leaves open.
  LocalJob& SetVariation(const Variation& variation) {
    variation_ = variation;
    return *this;
  }
  // Sets LocalOptions::twice.
  LocalJob& RunTasksTwice(bool twice) {
    options_.twice = twice;
    return *this;
  }

  // Runs the job with these arguments. Errors: in the result.
  LocalResult Run(const std::string& job, const std::vector<std::string>& args = {}) {
    LocalResult result;
    result_ = &result;
    try {
      stages_.clear();
      placed_.Clear();
      bad_count_ = 0;
      const auto dice = variation_.Of(Vary::kSplits, 0);
      splits_per_task_ = options_.splits_per_task;
      reduces_ = options_.reduces;
      if (dice) {
        sdk::Dice roll = *dice;
        splits_per_task_ = static_cast<uint32_t>(roll.Around(options_.splits_per_task));
        reduces_ = static_cast<uint32_t>(roll.Around(options_.reduces));
      }
      const sdk::JsonValue plan = sdk::JsonReader::Parse(PlanText(job, args));
      for (const auto& stage : plan["stages"].items) AddStage(stage);
      DescribeStages(&result);
      for (size_t s = 0; s < stages_.size(); ++s) {
        FixTasks(s);
        result.tasks[stages_[s].name] = stages_[s].tasks;
        for (uint32_t t = 0; t < stages_[s].tasks; ++t) RunTask(s, t);
      }
      result.ok = true;
    } catch (const JobError& e) {
      result.error = (variation_.seed() == 0 ? "" : "seed " + std::to_string(variation_.seed()) + ": ") + e.what();
    }
    return result;
  }

  // Returns the plan document. Errors: JobError with the job's refusal.
  std::string PlanText(const std::string& name, const std::vector<std::string>& args) const {
    for (uint32_t i = 0; i < library_->job_count; ++i) {
      const mr_job& job = *library_->jobs[i];
      if (name == job.name) return sizes_.Plan(job, args);
    }
    throw JobError("the library has no job '" + name + "'");
  }

 private:
  struct TestFile {
    std::string name, content;
    int input;
  };
  struct Split {
    const TestFile* file;
    uint64_t offset, length;
  };
  struct StageInput {
    bool files = false, grouped = false, splits = false;
    std::string format, kind;
    uint64_t sample_bytes = 0;
    size_t from = 0;
    uint32_t port = 0;
  };
  struct Port {
    bool files = false, sorted = false, combine = false, custom = false;
    std::string format, name;
  };
  struct Stage {
    std::string name, config;
    const mr_operator* op = nullptr;
    uint32_t tasks = 0;
    std::vector<sdk::Share> shares;  // by task; empty: no shared partitions
    std::vector<StageInput> inputs;
    std::vector<Port> ports;
    std::vector<std::pair<uint32_t, Split>> splits;  // input, split; splits_per_task_ of them make a task
    std::vector<uint32_t> partitions;                // per port
    // [task][port][partition]
    std::vector<std::vector<std::vector<TestRecords>>> out;
  };

  void DescribeStages(LocalResult* result) const {
    for (const Stage& stage : stages_) {
      LocalStage& out = result->stages.emplace_back();
      out.name = stage.name;
      out.op = stage.op->name;
      out.flags = stage.op->flags;
      for (const StageInput& input : stage.inputs) {
        out.reads_files |= input.files;
        if (input.files) continue;
        std::string& readers = result->stages[input.from].readers;
        readers += (readers.empty() ? "" : ", ") + out.op;
      }
    }
  }

  const mr_operator* FindOperator(const std::string& name) const {
    for (uint32_t i = 0; i < library_->operator_count; ++i) {
      if (name == library_->operators[i]->name) return library_->operators[i];
    }
    throw JobError("the library has no operator '" + name + "'");
  }

  size_t FindStage(const std::string& name) const {
    for (size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].name == name) return i;
    }
    throw JobError("an edge comes from '" + name + "', which is no earlier stage");
  }

  void AddStage(const sdk::JsonValue& json) {
    Stage stage;
    stage.name = json["name"].text;
    stage.op = FindOperator(json["operator"].text);
    stage.config = sdk::FromBase64(json["config"].text);
    stage.tasks = static_cast<uint32_t>(json.UintOr("tasks", 0));
    for (const auto& p : json["ports"].items) {
      Port port;
      if (p.Has("files")) {
        port.files = true;
        port.format = p["files"]["format"].text;
        if (p["files"].Has("name")) port.name = p["files"]["name"].text;
      } else {
        port.sorted = p["shuffle"]["sorted"].boolean;
        port.combine = p["shuffle"]["combine"].boolean;
        port.custom = p["shuffle"]["partition"].text == "custom";
      }
      sdk::CheckPortUse(stage.name, *stage.op, stage.ports.size(), port.combine, port.custom);
      stage.ports.push_back(port);
    }
    stage.partitions.assign(stage.ports.size(), 1);
    std::vector<InputUse> uses;
    for (const auto& i : json["inputs"].items) uses.push_back(AddInput(&stage, i, json["inputs"].items.size()));
    sdk::CheckPartitions(uses);
    SetTasks(&stage);
    std::string error;
    const mr_sink sink{&error, [](void* to, mr_bytes part) { static_cast<std::string*>(to)->append(sdk::View(part)); }};
    if (stage.op->prepare(sdk::Bytes(stage.config), sink) != 0) throw JobError(error);
    stages_.push_back(std::move(stage));
  }

  InputUse AddInput(Stage* stage, const sdk::JsonValue& json, size_t json_inputs) {
    StageInput input;
    const Stage* from = nullptr;
    if (json.Has("files")) {
      const auto& files = json["files"];
      input.files = true;
      input.format = files["format"].text;
      input.sample_bytes = files.UintOr("sample_bytes", 0);
      AddSplits(stage, files, static_cast<uint32_t>(stage->inputs.size()));
    } else {
      const auto& edge = json["edge"];
      input.kind = edge["kind"].text;
      input.grouped = edge["grouped"].boolean;
      input.from = FindStage(edge["from"].text);
      input.port = static_cast<uint32_t>(edge.UintOr("port", 0));
      input.splits = edge.Has("splits") && edge["splits"].boolean;
      from = &stages_[input.from];
    }
    InputUse use{stage->name, "", {}, stage->tasks, static_cast<uint32_t>(stage->inputs.size())};
    use.inputs = static_cast<uint32_t>(json_inputs);
    use.grouped = input.grouped;
    use.all_to_all = input.kind == "all_to_all";
    use.port = input.port;
    const Port port = from != nullptr && input.port < from->ports.size() ? from->ports[input.port] : Port();
    if (from != nullptr) use.writer = from->name;
    use.custom_partition = port.custom;
    stage->inputs.push_back(input);
    return sdk::CheckInputUse(use, *stage->op, from != nullptr ? from->op : nullptr, port.combine);
  }

  void AddSplits(Stage* stage, const sdk::JsonValue& json, uint32_t input) {
    const uint64_t step = std::min(json.UintOr("max_split_bytes", options_.split_bytes), options_.split_bytes);
    bool found = false;
    for (const TestFile& file : files_) {
      bool wanted = false;
      if (json.Has("uris")) {
        for (const auto& uri : json["uris"].items) wanted |= uri.text == file.name;
      } else {
        const auto number = static_cast<int>(json["input"].number);
        wanted = file.input >= 0 && (number < 0 || number == file.input);
      }
      if (!wanted) continue;
      found = true;
      uint64_t at = 0;
      // The same for all stages: operators may rely on two stages with the same splits.
      std::optional<sdk::Dice> dice = variation_.Of(Vary::kSplits, 0, static_cast<uint64_t>(&file - files_.data()) + 1);
      do {
        const uint64_t length = std::min<uint64_t>(dice ? dice->Around(step) : step, file.content.size() - at);
        stage->splits.push_back({input, {&file, at, length}});
        at += length;
      } while (at < file.content.size());
    }
    if (!found) throw JobError("stage '" + stage->name + "' reads files that the test has not given");
  }

  void SetTasks(Stage* stage) {
    bool open = false;
    const size_t per_task = splits_per_task_;
    if (!stage->splits.empty()) stage->tasks = static_cast<uint32_t>((stage->splits.size() + per_task - 1) / per_task);
    for (const StageInput& input : stage->inputs) {
      if (input.kind == "one_to_one") {
        if (!stage->splits.empty()) throw JobError("a stage reads splits and a one_to_one edge");
        stage->tasks = stages_[input.from].tasks;
      }
      open |= input.kind == "all_to_all";
    }
    if (stage->tasks == 0) stage->tasks = open ? reduces_ : 1;
    for (const StageInput& input : stage->inputs) {
      if (input.kind == "all_to_all") stages_[input.from].partitions[input.port] = stage->tasks;
    }
  }

  // Fixes the number of tasks when the inputs exist: tasks may share partitions.
  void FixTasks(size_t s) {
    Stage& stage = stages_[s];
    std::vector<std::pair<uint32_t, uint32_t>> parts;
    for (uint32_t i = 0; i < stage.inputs.size(); ++i) {
      const StageInput& input = stage.inputs[i];
      if (input.kind == "one_to_one") stage.tasks = stages_[input.from].tasks;
      if (input.splits) parts.push_back({i, stages_[input.from].tasks});
    }
    const auto dice = variation_.Of(Vary::kShares, s);
    if (!dice || parts.empty() || HasFixedReader(s)) return;
    stage.shares = sdk::RollShares(*dice, stage.tasks, parts);
    stage.tasks = static_cast<uint32_t>(stage.shares.size());
  }
  // Whether a stage reads this one one-to-one beside an all-to-all edge, which needs a task per partition.
  bool HasFixedReader(size_t s) const {
    return std::any_of(stages_.begin(), stages_.end(), [s](const Stage& reader) {
      bool one_to_one = false, all_to_all = false;
      for (const StageInput& input : reader.inputs) {
        one_to_one |= input.kind == "one_to_one" && input.from == s;
        all_to_all |= input.kind == "all_to_all";
      }
      return one_to_one && all_to_all;
    });
  }

  void FeedSplit(const Stage& stage, const StageInput& input, const Split& split, uint32_t index, sdk::TestTask* task) {
    if (input.format.rfind("fixed:", 0) == 0) return FeedFixed(input, split, index, task);
    if (input.format == "record") return FeedContainer(input, split, index, task);
    if (input.format == "raw") {
      if (split.length == 0) return;
      const std::string bytes = split.file->content.substr(split.offset, split.length);
      return task->Batch({sdk::TestTask::Pack({{"", bytes}}, 0), index, 0, 0, split.offset, split.file->name});
    }
    const std::optional<CsvDialect> csv = ParseCsvFormat(input.format);
    const auto [offset, to] = sdk::RecordRange(split.file->content, split.offset, split.length, csv);
    const std::string_view text = std::string_view(split.file->content).substr(offset, to - offset);
    size_t at = 0;
    std::optional<sdk::Dice> dice = variation_.Of(Vary::kBatches, IndexOf(stage), split.offset + 1);
    while (at < text.size()) {
      const uint64_t block_bytes = dice ? dice->Around(options_.block_bytes) : options_.block_bytes;
      const size_t end =
          at + sdk::RecordBehind(text.substr(at), std::min<uint64_t>(block_bytes, text.size() - at), csv);
      const std::string_view block = text.substr(at, end - at);
      TestRecords records;
      std::vector<uint64_t> places;
      const auto add = [&](std::string_view key, std::string_view value) {
        const char* const begin = key.data() != nullptr ? key.data() : value.data();
        places.push_back(static_cast<uint64_t>(begin - split.file->content.data()));
        records.push_back({std::string(key), std::string(value)});
      };
      if (stage.op->flags & MR_RAW_BLOCKS) {
        records.push_back({"", std::string(block)});
      } else if (csv) {
        ForEachCsvRecord(WithoutByteOrderMark(block), *csv, [&](const CsvRecord& record) {
          const std::string place =
              split.file->name + ", byte " + std::to_string(record.text.data() - split.file->content.data());
          if (record.bad)
            return task->SkipBad(CsvLines(record.with_end), record.with_end.size(), place + ": broken csv");
          add({}, record.text);
        });
      } else {
        sdk::ForEachTextRecord(block, input.format == "kv", add);
      }
      task->Batch({sdk::TestTask::Pack(records, 0), index, 0, 0, offset + at, split.file->name, std::move(places)});
      at = end;
      if (input.sample_bytes != 0 && at >= input.sample_bytes) break;
    }
  }

  void FeedContainer(const StageInput& input, const Split& split, uint32_t index, sdk::TestTask* task) {
    if (split.offset != 0) return;  // the split at 0 has the whole container
    for (const auto& [at, records] : sdk::ContainedBatches(split.file->content, input.sample_bytes))
      task->Batch({sdk::TestTask::Pack(records, 0), index, 0, 0, at, split.file->name});
  }

  void FeedFixed(const StageInput& input, const Split& split, uint32_t index, sdk::TestTask* task) {
    const uint64_t n = std::stoull(input.format.substr(6));
    const std::string& content = split.file->content;
    if (content.size() % n != 0) throw JobError(split.file->name + ": no whole number of records");
    TestRecords records;
    std::vector<uint64_t> places;
    const uint64_t first = (split.offset + n - 1) / n * n;
    uint64_t at = first;
    for (; at < split.offset + split.length; at += n) {
      if (input.sample_bytes != 0 && at - first >= input.sample_bytes) break;
      records.push_back({"", content.substr(at, n)});
      places.push_back(at);
    }
    if (records.empty()) return;
    task->Batch({sdk::TestTask::Pack(records, 0), index, 0, 0, first, split.file->name, std::move(places)});
  }

  // Calls f(upstream task, records) for the records of an edge that task t reads.
  template <class F>
  void ForEachSlice(const Stage& stage, const StageInput& input, uint32_t t, F&& f) const {
    const Stage& from = stages_[input.from];
    const bool shared = input.kind == "all_to_all" && !stage.shares.empty();
    const sdk::Share share = shared ? stage.shares[t] : sdk::Share{t, true, 0, 0, 0};
    for (uint32_t u = 0; u < from.tasks; ++u) {
      if (!share.whole && &input == &stage.inputs[share.input] && (u < share.begin || u >= share.end)) continue;
      if (input.kind == "one_to_one" && u != t) continue;
      if (input.kind == "many_to_one" &&
          (u < uint64_t{from.tasks} * t / stage.tasks || u >= uint64_t{from.tasks} * (t + 1) / stage.tasks)) {
        continue;
      }
      const auto& partitions = from.out[u][input.port];
      f(u, partitions[input.kind == "all_to_all" ? share.partition : 0]);
    }
  }

  void FeedEdge(const Stage& stage, uint32_t index, uint32_t t, sdk::TestTask* task) {
    ForEachSlice(stage, stage.inputs[index], t, [&](uint32_t u, const TestRecords& records) {
      std::optional<sdk::Dice> dice = variation_.Of(Vary::kBatches, IndexOf(stage), uint64_t{t} << 32 | u);
      size_t end = 0;
      for (size_t i = 0; i < records.size(); i = end) {
        end = std::min<size_t>(i + (dice ? dice->Around(options_.batch_records) : options_.batch_records),
                               records.size());
        const TestRecords some(records.begin() + i, records.begin() + end);
        task->Batch({sdk::TestTask::Pack(some, 0), index, 0, u, 0});
      }
    });
  }

  void FeedGroups(const Stage& stage, uint32_t t, sdk::TestTask* task) {
    struct Tagged {
      TestRecord record;
      uint8_t input;
    };
    std::vector<Tagged> all;  // in the order (input, upstream task, position)
    uint32_t first = 0, grouped = 0;
    for (uint32_t i = 0; i < stage.inputs.size(); ++i) {
      if (!stage.inputs[i].grouped) continue;
      if (grouped++ == 0) first = i;
      ForEachSlice(stage, stage.inputs[i], t, [&](uint32_t, const TestRecords& records) {
        for (const auto& r : records) all.push_back({r, static_cast<uint8_t>(i)});
      });
    }
    std::stable_sort(all.begin(), all.end(), [task](const Tagged& a, const Tagged& b) {
      return task->Compare(a.record.key, b.record.key) < 0;
    });
    std::vector<sdk::TestBatch> batches;
    BatchBuilder builder;
    std::optional<sdk::Dice> dice = variation_.Of(Vary::kBatches, IndexOf(stage), t);
    uint64_t wanted = options_.batch_records;
    for (size_t i = 0; i < all.size(); ++i) {
      if (grouped > 1) {
        builder.AddTagged(all[i].record.key, all[i].record.value, all[i].input);
      } else {
        builder.Add(all[i].record.key, all[i].record.value);
      }
      if (builder.size() == 1 && dice) wanted = dice->Around(options_.batch_records);
      if (builder.size() < wanted && i + 1 < all.size()) continue;
      const size_t begin = i + 1 - builder.size();
      const bool goes_on = begin > 0 && task->Compare(all[begin - 1].record.key, all[begin].record.key) == 0;
      sdk::TestBatch batch;
      batch.input = first;
      batch.grouped = 1;
      builder.Finish(kSorted | (goes_on ? kContinuation : 0), &batch.bytes);
      batches.push_back(std::move(batch));
    }
    task->Grouped(std::move(batches));
  }

  size_t IndexOf(const Stage& stage) const { return static_cast<size_t>(&stage - stages_.data()); }

  void RunTask(size_t s, uint32_t t) {
    Stage& stage = stages_[s];
    try {
      const auto task = RunAttempt(stage, t, 0);
      const uint32_t flags = stage.op->flags;
      if (options_.twice && (flags & MR_DETERMINISTIC) != 0 && (flags & MR_SIDE_EFFECTS) == 0) {
        sdk::CompareAttempts(*stage.op, stage.name, t, static_cast<uint32_t>(stage.ports.size()), &task->host(),
                             &RunAttempt(stage, t, 1)->host());
      }
      auto& bad = result_->bad_records;
      bad.insert(bad.end(), task->host().bad_records().begin(), task->host().bad_records().end());
      bad_count_ += task->host().bad_record_count();
      if (bad_count_ > options_.max_bad_records) {
        throw JobError("the job has " + std::to_string(bad_count_) + " bad records and may have " +
                       std::to_string(options_.max_bad_records) + ", the last one " + bad.back());
      }
      for (const auto& [name, n] : task->host().counters()) result_->counters[name] += n;
      Store(stage, t, task.get());
    } catch (const JobError&) {
      result_->failed_operator = stage.op->name;
      result_->failed_stage = stage.name;
      throw;
    }
  }

  std::unique_ptr<sdk::TestTask> RunAttempt(const Stage& stage, uint32_t t, uint32_t attempt) {
    const bool split = !stage.splits.empty();
    mr_open_args args{};
    args.struct_size = sizeof args;
    args.config = sdk::Bytes(stage.config);
    args.stage = static_cast<uint32_t>(IndexOf(stage));
    args.attempt = attempt;
    args.task = t;
    args.tasks = stage.tasks;
    args.inputs = static_cast<uint32_t>(stage.inputs.size());
    args.ports = static_cast<uint32_t>(stage.ports.size());
    args.partitions = stage.partitions.data();
    args.job_id = sdk::Bytes("job_1_0001");
    args.attempt_id = sdk::Bytes(attempt == 0 ? "attempt" : "attempt_again");
    args.stage_name = sdk::Bytes(stage.name);
    args.files_directory = sdk::Bytes(side_files_.directory());
    args.submitted_unix_ms = options_.submitted_unix_ms;
    if (split) args.input_file = sdk::Bytes(stage.splits[t * splits_per_task_].second.file->name);
    auto task = std::make_unique<sdk::TestTask>(*stage.op, args, options_.max_bad_records);
    try {
      FeedAll(stage, t, task.get());
      task->End();
    } catch (const JobError&) {
      result_->failed_record = task->host().failed_in();
      throw;
    }
    return task;
  }

  void FeedAll(const Stage& stage, uint32_t t, sdk::TestTask* task) {
    const auto inputs = static_cast<uint32_t>(stage.inputs.size());
    for (uint32_t i = 0; i < inputs; ++i) {
      if (stage.inputs[i].kind != "broadcast") continue;
      FeedEdge(stage, i, t, task);
      task->InputEnd(i);
    }
    bool groups = false;
    for (uint32_t i = 0; i < inputs; ++i) {
      const StageInput& input = stage.inputs[i];
      groups |= input.grouped;
      if (input.grouped || input.kind == "broadcast") continue;
      if (!input.files) FeedEdge(stage, i, t, task);
      const size_t end = std::min<size_t>((size_t{t} + 1) * splits_per_task_, stage.splits.size());
      for (size_t s = size_t{t} * splits_per_task_; input.files && s < end; ++s) {
        if (stage.splits[s].first == i) FeedSplit(stage, input, stage.splits[s].second, i, task);
      }
      task->InputEnd(i);
    }
    if (!groups) return;
    FeedGroups(stage, t, task);
    for (uint32_t i = 0; i < inputs; ++i) {
      if (stage.inputs[i].grouped) task->InputEnd(i);
    }
  }

  void Store(Stage& stage, uint32_t t, sdk::TestTask* task) {
    auto& out = stage.out.emplace_back(stage.ports.size());
    for (uint32_t p = 0; p < stage.ports.size(); ++p) {
      const Port& port = stage.ports[p];
      TestRecords& records = task->host().emitted(p);
      if (port.files) {
        const std::string text = sdk::PartText(port.format, records);
        if (port.name.empty() && ParseCsvFormat(port.format)) {
          result_->header = sdk::HeaderText(stage.op->name, records, result_->header);
        }
        (port.name.empty() ? result_->parts : result_->named[port.name]).push_back(text);
        continue;
      }
      if (stage.op->flags & MR_UNORDERED) {
        if (auto dice = variation_.Of(Vary::kOrder, IndexOf(stage), uint64_t{t} << 8 | p)) dice->Shuffle(&records);
      }
      const uint32_t n = stage.partitions[p];
      auto& partitions = out[p];
      partitions.resize(n);
      std::vector<uint32_t> place(records.size());
      if (port.custom) {
        if (stage.op->partition == nullptr) throw JobError("the operator has no Partition()");
        place = task->Partition(p, records, n);
      }
      for (size_t i = 0; i < records.size(); ++i) {
        const uint32_t to = port.custom ? place[i] : sdk::PartitionHash(records[i].key) % n;
        if (port.custom) placed_.Check({*stage.op, stage.name, IndexOf(stage), p, n}, records[i].key, to);
        partitions[to].push_back(std::move(records[i]));
      }
      std::optional<sdk::Dice> dice = variation_.Of(Vary::kCombiner, IndexOf(stage), uint64_t{t} << 8 | p);
      for (auto& partition : partitions) Finish(stage, p, &partition, task, dice ? &*dice : nullptr);
    }
  }

  void Finish(const Stage& stage, uint32_t p, TestRecords* records, sdk::TestTask* task, sdk::Dice* dice) {
    if (!stage.ports[p].sorted) return;
    std::stable_sort(records->begin(), records->end(),
                     [task](const TestRecord& a, const TestRecord& b) { return task->Compare(a.key, b.key) < 0; });
    if (!stage.ports[p].combine) return;
    if (stage.op->combine == nullptr) throw JobError("the operator has no Combine()");
    // An associative combiner must accept any subset of a group, any number of times.
    const bool any = (stage.op->flags & MR_ASSOCIATIVE) != 0;
    const uint64_t times = dice != nullptr && any ? dice->Below(4) : 1;
    for (uint64_t i = 0; i < times; ++i) {
      *records = sdk::Combined(p, *records, any ? uint64_t{options_.batch_records} * 2 : records->size(),
                               any ? dice : nullptr, task);
    }
  }

  const mr_library* library_;
  LocalOptions options_;
  std::vector<TestFile> files_;
  sdk::TestSideFiles side_files_;
  sdk::PlanSizes sizes_;
  std::vector<Stage> stages_;
  LocalResult* result_ = nullptr;
  Variation variation_;
  uint32_t splits_per_task_ = 1, reduces_ = 1;  // in this run
  uint64_t bad_count_ = 0;                      // in this run
  sdk::PartitionCheck placed_;                  // in this run
};

}  // namespace mr
