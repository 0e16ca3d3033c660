#include "common/report/recorded_run.h"

#include <capnp/message.h>
#include <capnp/schema.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/digest.h"
#include "common/base/text.h"
#include "common/io/codec.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/spec_wire.h"
#include "schema/run.capnp.h"

namespace mr::report {
namespace {

constexpr char kRecordMagic[8] = {'m', 'r', 'r', 'u', 'n', '\r', '\n', '\x1a'};  // damaged by a transfer as text
constexpr int kRecordLevel = 3;  // zstd's default: a record is written once and is small
// Depth of nested structs and lists; the schemas have about ten.
constexpr int kMostNesting = 32;

// The head of a record: little-endian, as all machines that Paceline runs on.
struct RecordHead {
  char magic[8];
  uint32_t version;
  uint32_t codec;
  uint64_t raw_bytes, stored_bytes;
  uint64_t checksum;  // XXH3-64 of the fields before and of the stored bytes
};
static_assert(sizeof(RecordHead) == 40);

uint64_t ChecksumOf(const RecordHead& head, std::string_view stored) {
  const std::string_view fields(reinterpret_cast<const char*>(&head), offsetof(RecordHead, checksum));
  return Hash64(stored, Hash64(fields));
}

template <class T, class List>
void PutList(const std::vector<T>& from, List list) {
  for (unsigned i = 0; i < from.size(); ++i) rpc::ToWire(from[i], list[i]);
}

unsigned SizeOf(size_t size) { return static_cast<unsigned>(size); }

void PutRecord(const RecordedRun& recorded, rpc::RecordedRun::Builder out) {
  const JobRun& run = recorded.run;
  rpc::ToWire(run.job, out.initJob());
  out.setHasCounters(run.job.counters.has_value());
  if (run.job.counters) PutList(*run.job.counters, out.initCounters(SizeOf(run.job.counters->size())));
  JobSpec spec = run.spec;
  for (KeyValue& variable : spec.env) variable.value.clear();
  rpc::ToWire(spec, out.initSpec());
  PutList(run.tasks, out.initTasks(SizeOf(run.tasks.size())));
  PutList(run.attempts, out.initAttempts(SizeOf(run.attempts.size())));
  PutList(run.decisions, out.initDecisions(SizeOf(run.decisions.size())));
  PutList(run.workers, out.initWorkers(SizeOf(run.workers.size())));
  out.setTakenUnixMs(run.taken_unix_ms);
  out.setRelease(run.release.c_str());
  out.setPolicies(run.policies.c_str());
  out.setKeptLogs(run.kept_logs.c_str());
  auto why = out.initWhy(SizeOf(recorded.why.size()));
  for (unsigned i = 0; i < recorded.why.size(); ++i) why.set(i, recorded.why[i].c_str());
  auto launches = out.initLaunches(SizeOf(recorded.launches.size()));
  for (unsigned i = 0; i < recorded.launches.size(); ++i) {
    StageInfo stage = recorded.launches[i].stage;
    for (KeyValue& variable : stage.env) variable.value.clear();
    rpc::ToWire(stage, launches[i].initStage());
    rpc::ToWire(recorded.launches[i].launch, launches[i].initLaunch());
  }
  out.setHistory({reinterpret_cast<const capnp::byte*>(recorded.history.data()), recorded.history.size()});
}

// Refuses lists whose elements take fewer words than this release writes for each: a few bytes would claim millions.
class ListCheck {
 public:
  explicit ListCheck(size_t words) : left_(words) {}
  template <class T>
  void Take(typename capnp::List<T>::Reader list) {
    const auto shape = capnp::Schema::from<T>().getProto().getStruct();
    const uint64_t each = uint64_t{shape.getDataWordCount()} + shape.getPointerCount();
    const uint64_t all = each * list.size();
    KJ_REQUIRE(all <= left_, "a list is longer than the record");
    left_ -= all;
  }

 private:
  uint64_t left_;
};

RecordedRun TakeRecord(rpc::RecordedRun::Reader in, size_t words) {
  ListCheck check(words);
  check.Take<rpc::CounterValue>(in.getCounters());
  check.Take<rpc::TaskStatus>(in.getTasks());
  check.Take<rpc::AttemptStatus>(in.getAttempts());
  check.Take<rpc::Decision>(in.getDecisions());
  check.Take<rpc::WorkerStatus>(in.getWorkers());
  check.Take<rpc::Launched>(in.getLaunches());
  check.Take<rpc::StageStatus>(in.getJob().getStages());
  check.Take<rpc::CauseCount>(in.getJob().getCauses());
  check.Take<rpc::SkewStatus>(in.getJob().getSkew());
  check.Take<rpc::SteeringPoint>(in.getJob().getSteering().getPoints());
  RecordedRun out;
  JobRun& run = out.run;
  run.job = rpc::FromWire(in.getJob());
  if (in.getHasCounters()) {
    auto& counters = run.job.counters.emplace();
    for (const auto counter : in.getCounters()) counters.push_back(rpc::FromWire(counter));
  }
  run.spec = rpc::FromWire(in.getSpec());
  for (const auto task : in.getTasks()) run.tasks.push_back(rpc::FromWire(run.job.id, task));
  for (const auto attempt : in.getAttempts()) run.attempts.push_back(rpc::FromWire(attempt));
  for (const auto decision : in.getDecisions()) run.decisions.push_back(rpc::FromWire(decision));
  for (const auto worker : in.getWorkers()) run.workers.push_back(rpc::FromWire(worker));
  run.taken_unix_ms = in.getTakenUnixMs();
  run.release = in.getRelease().cStr();
  run.policies = in.getPolicies().cStr();
  run.gone = true;
  run.kept_logs = in.getKeptLogs().cStr();
  EndWork(&run);
  for (const auto line : in.getWhy()) out.why.emplace_back(line.cStr());
  for (const auto launched : in.getLaunches()) {
    out.launches.push_back({rpc::FromWire(launched.getStage()), rpc::FromWire(launched.getLaunch())});
  }
  const auto history = in.getHistory();
  out.history.assign(reinterpret_cast<const char*>(history.begin()), history.size());
  return out;
}

}  // namespace

void EndWork(JobRun* run) {
  for (StageStatus& stage : run->job.stages) stage.running = stage.waiting = 0;
  for (TaskStatus& task : run->tasks) {
    if (task.state == "running") task.state = "pending";
  }
  for (AttemptStatus& attempt : run->attempts) {
    if (attempt.state != "running" && attempt.state != "waiting") continue;
    attempt.state = attempt.failure = "killed";
    attempt.ended_us = std::max(run->job.elapsed_us, attempt.launched_us);
    attempt.ran_us = attempt.ended_us - attempt.launched_us;
  }
}

Result<std::string> EncodeRun(const RecordedRun& recorded) {
  capnp::MallocMessageBuilder message;
  PutRecord(recorded, message.initRoot<rpc::RecordedRun>());
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  if (bytes.size() > kMostRecordBytes) {
    return Rejected("the record of the run has " + HumanBytes(bytes.size()) + ", more than " +
                    HumanBytes(kMostRecordBytes));
  }
  std::string stored;
  RecordHead head;
  std::memcpy(head.magic, kRecordMagic, sizeof head.magic);
  head.version = kRecordedRunVersion;
  head.codec = static_cast<uint32_t>(
      Compress({reinterpret_cast<const char*>(bytes.begin()), bytes.size()}, kRecordLevel, &stored));
  head.raw_bytes = bytes.size();
  head.stored_bytes = stored.size();
  head.checksum = ChecksumOf(head, stored);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + stored;
}

Result<RecordedRun> DecodeRun(std::string_view bytes, const std::string& name) {
  RecordHead head;
  if (bytes.size() < sizeof head || std::memcmp(bytes.data(), kRecordMagic, sizeof kRecordMagic) != 0) {
    return Corrupted(name + " is not the record of a run, or only its beginning");
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.version != kRecordedRunVersion) {
    return Rejected(name + " has format " + std::to_string(head.version) + ", and this release reads format " +
                    std::to_string(kRecordedRunVersion) + ": use the mrctl of the release that recorded it");
  }
  const std::string_view stored = bytes.substr(sizeof head);
  if (stored.size() < head.stored_bytes) return Corrupted(name + " is cut short: its end is missing");
  if (stored.size() != head.stored_bytes || ChecksumOf(head, stored) != head.checksum || head.codec > UINT8_MAX) {
    return Corrupted(name + " is damaged: its checksum does not match");
  }
  std::string raw;
  MR_RETURN_IF_ERROR(
      Decompress(static_cast<Codec>(head.codec), stored, head.raw_bytes, kMostRecordBytes, &raw).With(name));
  auto words = kj::heapArray<capnp::word>(raw.size() / sizeof(capnp::word));  // aligned
  std::memcpy(words.begin(), raw.data(), words.size() * sizeof(capnp::word));
  raw = std::string();
  capnp::ReaderOptions options;
  // Twice the message: each part is read once, and its lists are counted before that.
  options.traversalLimitInWords = 2 * words.size() + 1024;
  options.nestingLimit = kMostNesting;
  RecordedRun recorded;
  const auto damage = kj::runCatchingExceptions([&] {
    capnp::FlatArrayMessageReader message(words, options);
    recorded = TakeRecord(message.getRoot<rpc::RecordedRun>(), words.size());
  });
  KJ_IF_MAYBE (exception, damage) {
    return Corrupted(name + " is damaged: " + std::string(exception->getDescription().cStr()));
  }
  return recorded;
}

}  // namespace mr::report
