// Guards the form of what later releases must read: records, promises and images of snapshots. The field types of each
// stored struct are compared with stored_shapes.txt, and a snapshot of one job with the bytes that stand there.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <variant>
#include <vector>

#include "common/base/fields.h"
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
  spec.stages.resize(2);
  for (StageSpec& stage : spec.stages) {
    stage.inputs.resize(1);
    stage.ports.resize(1);
  }
  return spec;
}

// The parts of Jobs::Save with one job of two stages that has just been submitted.
std::vector<std::string> SavedJobs() {
  Jobs jobs;
  SubmitExtra extra = test::TwoStages(1, 2, 3);
  extra.spec = "spec";
  EventRecord record{{{}, sched::JobSubmitted{{1, 1}, "j", "", 0, {}, 0, {}, {}}}, EncodeSubmit(extra)};
  record.spec = std::make_shared<const JobSpec>(*FixedSpec(extra.spec));
  jobs.Apply(record, {}, {}, 7);
  std::vector<std::string> parts;
  jobs.Save([&](std::string part) { parts.push_back(std::move(part)); });
  return parts;
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

// The order of the tails is no struct's. A new tail goes to the end.
TEST(StoredShapesTest, TheImageOfJobsBeginsWithTheBytesOfEarlierReleases) {
  const std::map<std::string, std::string> golden = ReadGolden();
  const std::vector<std::string> parts = SavedJobs();
  ASSERT_EQ(parts.size(), 2u);
  Jobs again;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name = "bytes of part " + std::to_string(i) + " of Jobs::Save";
    const std::string hex = Hex(parts[i]);
    const auto it = golden.find(name);
    if (it == golden.end()) {
      ADD_FAILURE() << "add this line to " << kFile << ":\n" << name << ": " << hex;
      continue;
    }
    EXPECT_TRUE(hex.starts_with(it->second))
        << name << ". " << kRule << "\nexpected first: " << it->second << "\nwritten:        " << hex;
    const Status read = again.RestorePart(Bytes(it->second), FixedSpec);
    EXPECT_TRUE(read.ok()) << name << ": older bytes cannot be read. " << read.ToString() << ". " << kRule;
  }
  EXPECT_NE(again.Find(JobId{1, 1}), nullptr);
}

}  // namespace
}  // namespace mr::master
