// Guards the form of what later releases must read: records, promises, images of snapshots and checksum files of
// blocks. Compares two things with stored_shapes.txt: the field types of the structs that ShapesOfStored lists, and the
// bytes of a snapshot of one job. No two numbers or texts of that job are equal. So the bytes also show an exchange of
// two fields or tails of one form.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/fields.h"
#include "dfs/block/sidecar.h"
#include "dfs/meta/record.h"
#include "dfs/meta/snapshot.h"
#include "master/core/image.h"
#include "master/core/job_image.h"
#include "master/core/records.h"
#include "master/core/skew.h"
#include "tests/master/core/fold.h"

namespace mr::master {
namespace {

constexpr const char* kRule =
    "Another release reads these bytes, and a stored struct has no length: any change of its fields makes journals and "
    "snapshots unreadable. Undo the change. Write the new field behind the struct and read it only if bytes are left "
    "(common/base/fields.h, \"How to add a stored field\").";
constexpr const char* kFile = "tests/master/core/stored_shapes.txt";

template <class T>
std::string TypeName() {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status),
                                                    std::free);
  std::string text(name.get());
  for (size_t at = text.find("mr::"); at != std::string::npos; at = text.find("mr::")) text.erase(at, 4);
  return text;
}

// Collects a line for each struct and variant, by its name: the types of its fields, or of its alternatives.
class Shapes {
 public:
  // Returns the type's name in a line, and adds the lines of structs in it.
  template <class T>
  std::string Add() {
    using namespace fields_internal;
    if constexpr (std::is_same_v<T, bool>) {
      return "bool";
    } else if constexpr (std::is_enum_v<T>) {
      return TypeName<T>() + ":" + Add<std::underlying_type_t<T>>();
    } else if constexpr (std::is_arithmetic_v<T>) {
      return (std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "string";
    } else if constexpr (IsVector<T>::value) {
      return "[" + Add<typename T::value_type>() + "]";
    } else if constexpr (IsOptional<T>::value) {
      return Add<typename T::value_type>() + "?";
    } else if constexpr (IsVariant<T>::value) {
      return "(" + Alternatives(static_cast<T*>(nullptr), [](const auto&) { return true; }) + ")";
    } else if constexpr (HasParts<T>) {
      return TypeName<T>();
    } else {
      const std::string name = TypeName<T>();
      if (lines_.emplace(name, "").second) {
        std::string fields;
        T::Fields([&](auto... member) { ((fields += (fields.empty() ? "" : ", ") + OfMember(member)), ...); });
        lines_[name] = fields;
      }
      return name;
    }
  }

  // Adds a line for a variant whose place in the list is stored. Only alternatives that `stored` accepts have lines of
  // their own.
  template <class V, class F>
  void AddVariant(const std::string& name, const F& stored) {
    lines_[name] = Alternatives(static_cast<V*>(nullptr), stored);
  }

  const std::map<std::string, std::string>& lines() const { return lines_; }

 private:
  template <class S, class M>
  std::string OfMember(M S::*) {
    // Lists of kinds have lines of their own.
    if constexpr (std::is_same_v<M, sched::Event>) {
      return "Event";
    } else if constexpr (std::is_same_v<M, std::optional<std::vector<sched::Decision>>>) {
      return "[Decision]?";
    } else {
      return Add<M>();
    }
  }
  template <class... T, class F>
  std::string Alternatives(std::variant<T...>*, const F& stored) {
    std::string names;
    const auto add = [&](const auto& alternative) {
      using A = std::decay_t<decltype(alternative)>;
      names += (names.empty() ? "" : ", ") + (stored(alternative) ? Add<A>() : TypeName<A>());
    };
    (add(T()), ...);
    return names;
  }

  std::map<std::string, std::string> lines_;
};

std::map<std::string, std::string> ShapesOfStored() {
  Shapes shapes;
  // Records of the journal. An event of any kind is a hard record once it has a promise (Driver::Append).
  shapes.AddVariant<sched::Event>("Event", [](const auto&) { return true; });
  shapes.AddVariant<sched::Decision>("Decision", [](const auto& d) { return IsPromise(d); });
  shapes.AddVariant<dfs::Record>("dfs::Record", [](const auto& r) { return dfs::IsHard(r); });
  shapes.Add<EventRecord>();
  shapes.Add<EpochStarted>();
  shapes.Add<WorkerNamed>();
  shapes.Add<WorkerDrained>();
  shapes.Add<WorkerExcluded>();
  shapes.Add<WorkerForgotten>();
  shapes.Add<WorkerWrongOutputs>();
  shapes.Add<JournalLoss>();
  shapes.Add<JobPublished>();
  // Extras of events.
  shapes.Add<SubmitExtra>();
  shapes.Add<PlannedInputs>();
  shapes.Add<FinishedExtra>();
  shapes.Add<HotKey>();
  shapes.Add<FailedExtra>();
  shapes.Add<WorkerExtra>();
  // Images of snapshots. The scheduler's is read by the same kSchedulerVersion only.
  shapes.Add<SnapshotHead>();
  shapes.Add<HeadTails>();
  shapes.Add<SkewTable::Entry>();
  shapes.Add<TableHead>();
  shapes.Add<ReplicasTail>();
  shapes.Add<JobImage>();
  shapes.Add<CloneTail>();
  shapes.Add<LentTail>();
  shapes.Add<CloneCounts>();
  shapes.Add<Steering>();
  shapes.Add<DeadlineTail>();
  shapes.Add<Skew>();
  shapes.Add<WhyText>();
  shapes.Add<dfs::HardState>();
  shapes.Add<dfs::PinsTail>();
  shapes.Add<dfs::LostIds>();
  shapes.Add<dfs::OwnersTail>();
  shapes.Add<dfs::PlacedTail>();
  // Checksum files of blocks, on the workers' disks.
  shapes.Add<dfs::Sidecar>();
  return shapes.lines();
}

std::string Hex(const std::string& bytes) {
  std::string hex;
  char digits[3];
  for (const char c : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
    hex += digits;
  }
  return hex;
}

std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// A master keeps a spec in its wire form, which grows by the rules of Cap'n Proto. Here its bytes are a fixed word.
Result<JobSpec> FixedSpec(std::string_view) {
  JobSpec spec;
  spec.utility.resize(1);
  spec.stages.resize(2);
  for (StageSpec& stage : spec.stages) {
    stage.inputs.resize(1);
    stage.ports.resize(1);
  }
  return spec;
}

// Gives each field the next number. A list gets one element.
class Numbers {
 public:
  template <class T>
  T Filled() {
    T value;
    Fill(&value);
    return value;
  }
  template <class T>
  void Fill(T* value) {
    using namespace fields_internal;
    if constexpr (std::is_same_v<T, bool>) {
      *value = true;
    } else if constexpr (std::is_enum_v<T>) {
      *value = static_cast<T>(1);
    } else if constexpr (std::is_arithmetic_v<T>) {
      *value = static_cast<T>(++last_);
    } else if constexpr (std::is_same_v<T, std::string>) {
      *value = "text " + std::to_string(++last_);
    } else if constexpr (std::is_same_v<T, RareText>) {
      *value = Filled<std::string>();
    } else if constexpr (std::is_same_v<T, PackedReason>) {
      *value = Filled<sched::Reason>();
    } else if constexpr (IsVector<T>::value) {
      value->resize(1);
      Fill(&value->front());
    } else if constexpr (HasParts<T>) {
      std::apply([&](auto&... part) { (Fill(&part), ...); }, Parts(*value));
    } else {
      T::Fields([&](auto... member) { (Fill(&(value->*member)), ...); });
    }
  }

 private:
  int last_ = 100;
};

void FillImage(Numbers* numbers, JobView* job) {
  numbers->Fill(&job->wall_ms);
  numbers->Fill(&job->totals);
  numbers->Fill(&job->error);
  numbers->Fill(&job->publish_error);
  numbers->Fill(&job->submitted);
  numbers->Fill(&job->ended);
  job->rolled_back = true;
  StageView& stage = job->stages[0];
  numbers->Fill(&stage.committed);
  numbers->Fill(&stage.output_bytes);
  numbers->Fill(&stage.output_records);
  stage.tasks.resize(1);
  TaskView& task = stage.tasks[0];
  task.committed = true;
  numbers->Fill(&task.generation);
  numbers->Fill(&task.winner);
  numbers->Fill(&task.worker);
  numbers->Fill(&task.manifest);
  FinishedExtra output;
  numbers->Fill(&output);
  task.output = StoredOutput(output);
  ReplicaView& replica = task.replicas.emplace_back();
  numbers->Fill(&replica.replica);
  numbers->Fill(&replica.manifest);
  numbers->Fill(&output);
  replica.extra = StoredOutput(output);
  JobNotes& notes = job->notes;
  numbers->Fill(&notes.last_failure);
  numbers->Fill(&notes.stages[0].failed);
  numbers->Fill(&notes.stages[0].taken_bytes);
  numbers->Fill(&notes.stages[0].first_launch);
  numbers->Fill(&notes.stages[0].last_commit);
  numbers->Fill(&notes.stages[0].refused[0]);
  AttemptNote& attempt = notes.attempts[{{job->id, 0, 0}, 1}];
  numbers->Fill(&attempt.reason);
  numbers->Fill(&attempt.message);
  numbers->Fill(&attempt.record);
  numbers->Fill(&attempt.stderr_tail);
  numbers->Fill(&attempt.sequence);
  attempt.verdict = Verdict::kWinner;
  WhyLine& line = notes.why_job.emplace_back();
  numbers->Fill(&line.at);
  numbers->Fill(&line.attempt);
  numbers->Fill(&line.worker);
  numbers->Fill(&line.reason);
}

// A new tail needs a value here.
void FillTails(Numbers* numbers, JobView* job) {
  JobNotes& notes = job->notes;
  for (sched::CauseCount& count : notes.causes) numbers->Fill(&count);
  numbers->Fill(&notes.why_job.back().text);
  numbers->Fill(&notes.clones);
  CloneTail::Read read;
  numbers->Fill(&read);
  notes.reads[{read.reader, read.replica.output.task}] = read.replica;
  numbers->Fill(&notes.warnings[1]);
  numbers->Fill(&notes.lent);
  numbers->Fill(&notes.steering);
  numbers->Fill(&job->spec.priority);
  numbers->Fill(&job->spec.deadline);
  numbers->Fill(&job->plan.pin);
  numbers->Fill(&job->plan.view);
  numbers->Fill(&job->plan.files);
  job->plan.stages[0].splits[0].file = 0;
  numbers->Fill(&notes.skew);
}

void FillTotals(Numbers* numbers, JobTotals* totals) {
  numbers->Fill(&totals->attempts);
  numbers->Fill(&totals->replicas);
  for (sched::CauseCount& count : totals->causes) numbers->Fill(&count);
  numbers->Fill(&totals->clones);
  numbers->Fill(&totals->lent);
}

// Submits one job of two stages and fills in all that a snapshot keeps of it.
void AddFullJob(Jobs* jobs) {
  SubmitExtra extra = test::TwoStages(1, 2, 3);
  extra.spec = "spec";
  extra.owner = "anna";
  EventRecord record{{{}, sched::JobSubmitted{{1, 1}, "j", "", 0, {}, 0, {}, {}}}, EncodeSubmit(extra)};
  record.spec = std::make_shared<const JobSpec>(*FixedSpec(extra.spec));
  jobs->Apply(record, {}, {}, 7);
  Numbers numbers;
  FillTotals(&numbers, const_cast<JobTotals*>(&jobs->totals()));
  JobView* job = jobs->Find(JobId{1, 1});
  ASSERT_NE(job, nullptr);
  FillImage(&numbers, job);
  FillTails(&numbers, job);
}

std::vector<std::string> SavedParts(const Jobs& jobs) {
  std::vector<std::string> parts;
  jobs.Save([&](std::string part) { parts.push_back(std::move(part)); });
  return parts;
}

struct Tail {
  std::string name, bytes;
};

// Returns the tails of the job's image in their order. A new tail goes to the end.
std::vector<Tail> TailsOf(const JobView& job) {
  const JobNotes& notes = job.notes;
  std::vector<Tail> tails = {{"causes", ""}};
  for (size_t i = 0; i < kFirstCauses; ++i) tails[0].bytes += EncodeFields(notes.causes[i]);
  const std::string text = notes.why_job.empty() ? "" : notes.why_job[0].text;
  tails.push_back({"texts", EncodeFields(text.empty() ? std::vector<WhyText>() : std::vector<WhyText>{{0, text}})});
  CloneTail clones{notes.clones, {}, {}};
  for (const auto& [key, replica] : notes.reads) clones.reads.push_back({key.first, replica});
  for (const auto& [stage, warning] : notes.warnings) clones.warnings.push_back({stage, warning});
  tails.push_back({"clones", EncodeFields(clones)});
  tails.push_back({"lent", EncodeFields(LentTail(notes.lent, notes.causes))});
  tails.push_back({"steering", EncodeFields(notes.steering)});
  tails.push_back({"deadline", EncodeFields(DeadlineTail{job.spec.priority, job.spec.deadline})});
  tails.push_back({"utility", EncodeFields(UtilityTail{!job.spec.utility.empty()})});
  tails.push_back({"inputs", EncodeFields(InputsOf(job.plan))});
  tails.push_back({"skew", EncodeFields(notes.skew)});
  tails.push_back({"owner", EncodeFields(job.owner)});
  return tails;
}

// Lines "name: shape"; "#" begins a comment.
std::map<std::string, std::string> ReadGolden() {
  std::map<std::string, std::string> golden;
  std::ifstream in(std::string(MR_SOURCE_DIR) + "/" + kFile);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("#") || colon == std::string::npos) continue;
    golden[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return golden;
}

TEST(StoredShapesTest, NoStructThatAnotherReleaseReadsChanges) {
  std::map<std::string, std::string> golden = ReadGolden();
  ASSERT_FALSE(golden.empty()) << kFile << " cannot be read";
  for (const auto& [name, shape] : ShapesOfStored()) {
    const auto it = golden.find(name);
    if (it == golden.end()) {
      ADD_FAILURE() << name << " is a new stored struct. Add this line to " << kFile << ":\n" << name << ": " << shape;
      continue;
    }
    const bool list_of_kinds = name == "Event" || name == "Decision" || name == "dfs::Record";
    if (list_of_kinds && shape.starts_with(it->second + ", ")) {
      ADD_FAILURE() << name << " has a new kind at its end. Replace its line in " << kFile << ":\n"
                    << name << ": " << shape;
    } else {
      EXPECT_EQ(it->second, shape) << name << " is a stored struct, and its fields changed. " << kRule;
    }
    golden.erase(it);
  }
  for (const auto& [name, shape] : golden) {
    if (name.starts_with("bytes ")) continue;
    ADD_FAILURE() << name << " is no longer stored. Older journals and snapshots have it, and must be read.";
  }
}

TEST(StoredShapesTest, TheImageOfJobsIsTheOneOfEarlierReleases) {
  const std::map<std::string, std::string> golden = ReadGolden();
  Jobs jobs;
  ASSERT_NO_FATAL_FAILURE(AddFullJob(&jobs));
  const std::vector<std::string> parts = SavedParts(jobs);
  ASSERT_EQ(parts.size(), 2u);
  Jobs again;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name = "bytes of part " + std::to_string(i) + " of Jobs::Save";
    const std::string hex = Hex(parts[i]);
    const auto it = golden.find(name);
    if (it == golden.end()) {
      ADD_FAILURE() << "Add this line to " << kFile << ":\n" << name << ": " << hex;
      continue;
    }
    if (hex.size() > it->second.size() && hex.starts_with(it->second)) {
      const std::string tail = hex.substr(it->second.size());
      ADD_FAILURE() << name
                    << " has a new tail. Give it a value other than 0 in FillTails or FillTotals, and add it to "
                    << "TailsOf. Then append these bytes to the line in " << kFile << ":\n"
                    << tail;
    } else {
      EXPECT_EQ(it->second, hex) << name << ". " << kRule;
    }
    const Status read = again.RestorePart(Bytes(it->second), FixedSpec);
    ASSERT_TRUE(read.ok()) << name << ": older bytes cannot be read. " << read.ToString() << ". " << kRule;
  }
  EXPECT_TRUE(SavedParts(again) == parts) << "Jobs::RestorePart does not restore all that Jobs::Save wrote. " << kRule;
}

// The order of the tails is no struct's. Each earlier release wrote fewer of them.
TEST(StoredShapesTest, AJobsImageIsReadWithAnyNumberOfItsTails) {
  Jobs jobs;
  ASSERT_NO_FATAL_FAILURE(AddFullJob(&jobs));
  const std::vector<std::string> parts = SavedParts(jobs);
  ASSERT_EQ(parts.size(), 2u);
  const std::vector<Tail> tails = TailsOf(*jobs.Find(JobId{1, 1}));
  std::string image = parts[1];
  for (size_t kept = tails.size(); kept-- > 0;) {
    const Tail& tail = tails[kept];
    ASSERT_TRUE(image.ends_with(tail.bytes))
        << "the tail '" << tail.name << "' is not at its place. A new tail goes to the "
        << "end, also in TailsOf. " << kRule;
    EXPECT_NE(tail.bytes.find_first_not_of('\0'), std::string::npos) << "'" << tail.name << "' is 0 in this test";
    image.resize(image.size() - tail.bytes.size());
    Jobs older;
    ASSERT_TRUE(older.RestorePart(parts[0], FixedSpec).ok());
    const Status read = older.RestorePart(image, FixedSpec);
    ASSERT_TRUE(read.ok()) << "the image that ends before the tail '" << tail.name << "': " << read.ToString();
    const std::vector<Tail> found = TailsOf(*older.Find(JobId{1, 1}));
    for (size_t i = 0; i < kept; ++i) {
      EXPECT_EQ(Hex(found[i].bytes), Hex(tails[i].bytes))
          << "tail '" << tails[i].name << "' without '" << tail.name << "'";
    }
  }
}

}  // namespace
}  // namespace mr::master
