// The reports of a player: starts, ends with their manifests, replicas, progress.
#include <capnp/serialize.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "tests/bench/player_link.h"

namespace mr::bench {
namespace {

constexpr uint32_t kConsumedOfACall = 4000;  // a report with more goes in pieces
constexpr size_t kPieceBytes = 256 << 10;
// Words of a report without content, and of progress: sizes of messages, by control.capnp.
constexpr uint64_t kReportWords = 16;

}  // namespace

void Player::FillSelf(rpc::WorkerRef::Builder out) const {
  out.setId(id_);
  out.setIncarnation(incarnation_);
}

void Player::Flush() {
  if (link_.get() == nullptr) return;
  SendReports();
  SendProgress();
}

void Player::FillReport(const AttemptId& attempt, rpc::Report::Builder out) {
  out.setNumber(++reports_);
  rpc::ToWire(attempt, out.initAttempt());
}

void Player::SendReports() {
  std::vector<Ended> ends, alone;
  for (Ended& ended : std::exchange(ended_, {})) {
    if (ended.finished && !ended.attempt.reads.empty()) SendReads(ended);
    (ended.finished && Consumed(ended) > kConsumedOfACall ? alone : ends).push_back(std::move(ended));
  }
  const size_t count = started_.size() + ends.size() + made_.size();
  if (count > 0) {
    uint64_t words = count * kReportWords;
    for (const Ended& ended : ends) words += ended.finished ? WordsOf(ended) : 0;
    auto request = NewRequest(words);
    auto reports = request.initReports(static_cast<uint32_t>(count));
    const uint64_t first = reports_ + 1;
    uint32_t at = 0;
    for (const AttemptId& id : started_) {
      FillReport(id, reports[at]);
      reports[at++].setStarted();
    }
    for (const Ended& ended : ends) {
      FillReport(ended.id, reports[at]);
      auto report = reports[at++];
      if (!ended.finished) {
        report.setKilled();
        continue;
      }
      unanswered_[reports_] = ended.id.task;
      FillFinished(ended, report.initFinished());
    }
    for (const auto& [id, generation] : made_) {
      FillReport(id, reports[at]);
      FillReplica(id, generation, id_, incarnation_, reports[at++].initReplicaMade());
    }
    started_.clear();
    made_.clear();
    Send(kj::mv(request), first);
  }
  // Pieces of two reports must not mix.
  for (const Ended& ended : alone) {
    auto request = NewRequest(kReportWords);
    auto report = request.initReports(1)[0];
    FillReport(ended.id, report);
    unanswered_[reports_] = ended.id.task;
    SendPieces(ended, report);
    Send(kj::mv(request), reports_);
  }
}

uint64_t Player::WordsOf(const Ended& ended) const {
  constexpr uint64_t kRowWords = 6, kConsumedWords = 5, kRestWords = 96;  // by control.capnp
  return kRestWords + stages_.at(ended.id.task.stage_id()).partitions * kRowWords + Consumed(ended) * kConsumedWords;
}

Player::Request Player::NewRequest(uint64_t words) {
  auto request = link_->master.reportRequest(capnp::MessageSize{words + 16, 0});
  FillSelf(request.initWorker());
  return request;
}

size_t Player::Consumed(const Ended& ended) const {
  size_t outputs = 0;
  ForEachSource(ended.id, ended.attempt, [&](uint32_t, uint32_t, const Source&) { ++outputs; });
  return outputs;
}

void Player::FillReplica(const AttemptId& id, uint32_t generation, uint32_t worker, Incarnation incarnation,
                         rpc::Replica::Builder out) {
  rpc::ToWire(id.task, out.initTask());
  out.setGeneration(generation);
  out.setAttempt(id.number);
  out.initWorker().setId(worker);
  out.getWorker().setIncarnation(incarnation);
}

// Reports the reads of an attempt: one report per worker that it read from, as long as no replica was bound.
void Player::SendReads(const Ended& ended) {
  struct Tally {
    AttemptId of;
    uint32_t generation = 0;
    uint64_t outputs = 0;
  };
  std::map<std::tuple<uint32_t, Incarnation, uint64_t>, Tally> tallies;
  ForEachSource(ended.id, ended.attempt, [&](uint32_t stage, uint32_t task, const Source& source) {
    const uint64_t own = ended.attempt.by_bind ? uint64_t{stage} << 32 | task : 0;
    Tally& tally = tallies[{source.worker, source.incarnation, own}];
    tally.of = {{ended.id.task.job, stage, task}, source.attempt};
    tally.generation = source.generation;
    ++tally.outputs;
  });
  auto request = NewRequest(tallies.size() * 2 * kReportWords);
  auto reports = request.initReports(static_cast<uint32_t>(tallies.size()));
  const uint64_t first = reports_ + 1;
  uint32_t at = 0;
  for (const auto& [from, tally] : tallies) {
    FillReport(ended.id, reports[at]);
    auto done = reports[at++].initFetchDone();
    FillReplica(tally.of, tally.generation, std::get<0>(from), std::get<1>(from), done.initReplica());
    done.setBytes(tally.outputs * loop_.options().partition_bytes);
    done.setTookUs(tally.outputs * 1000);
    done.setReaders(ended.attempt.by_bind ? 1 : 0);
  }
  Send(kj::mv(request), first);
}

void Player::SendPieces(const Ended& ended, rpc::Report::Builder stub) {
  capnp::MallocMessageBuilder message;
  auto report = message.initRoot<rpc::Report>();
  report.setNumber(stub.getNumber());
  report.setAttempt(stub.getAttempt());
  FillFinished(ended, report.initFinished());
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    auto piece = link_->master.reportPieceRequest();
    FillSelf(piece.initWorker());
    piece.setNumber(stub.getNumber());
    piece.setTotalBytes(bytes.size());
    piece.setOffset(at);
    piece.setBytes(bytes.slice(at, std::min(bytes.size(), at + kPieceBytes)));
    link_->tasks.add(piece.send().ignoreResult());
  }
  stub.setPieces(bytes.size());
}

void Player::FillFinished(const Ended& ended, rpc::Finished::Builder out) {
  const TaskId& task = ended.id.task;
  const StageSeen& seen = stages_.at(task.stage_id());
  const Digest128 content = ContentOf(task);
  const uint64_t each = loop_.options().partition_bytes;
  auto manifest = out.initManifest();
  rpc::ToWire(content, manifest.initContent());
  manifest.setPartitions(seen.partitions);
  if (!seen.staging.empty()) {
    FillFile(ended, seen.staging, manifest);
  } else {
    manifest.setRecords(seen.partitions);
    manifest.setBytes(seen.partitions * each);
    if (seen.partitions <= 64) {
      for (auto row : manifest.initTable(seen.partitions)) {
        row.setRecords(1);
        row.setBytes(each);
        row.setChunks(1);
        rpc::ToWire(content, row.initContent());
      }
    } else {
      auto sizes = out.initPartitionKib(std::min(seen.partitions, 1024u));
      for (uint32_t p = 0; p < sizes.size(); ++p) sizes.set(p, static_cast<uint32_t>((each + 1023) >> 10));
    }
    inventory_[task] = {ended.attempt.generation, ended.id.number};
  }
  out.setRanUs(1000);
  if (!ended.attempt.reads.empty()) {
    auto consumed = out.initConsumed(static_cast<uint32_t>(Consumed(ended)));
    uint32_t at = 0;
    ForEachSource(ended.id, ended.attempt, [&](uint32_t stage, uint32_t upstream, const Source& source) {
      auto entry = consumed[at++];
      entry.setStage(stage);
      entry.setTask(upstream);
      entry.setGeneration(source.generation);
      rpc::ToWire(source.content, entry.initContent());
    });
  }
  auto counters = out.initCounters(2);
  const char* const names[] = {"records_in", "records_out"};
  for (uint32_t i = 0; i < 2; ++i) {
    counters[i].setGroup("players");
    counters[i].setName(names[i]);
    counters[i].setValue(1);
  }
}

// Writes the private file of a final stage, as its publication expects.
void Player::FillFile(const Ended& ended, const std::string& staging, rpc::Manifest::Builder manifest) {
  const bool map = ended.attempt.reads.empty();
  char name[32];
  std::snprintf(name, sizeof name, "part-%c-%05u", map ? 'm' : 'r', ended.id.task.task);
  auto output = manifest.initOutputs(1)[0];
  output.setName(name);
  rpc::ToWire(ContentOf(ended.id.task), output.initContent());
  if (!staging.starts_with("file://")) return;
  const std::string directory = staging.substr(7) + "/" + Name(ended.id, map ? TaskLetter::kMap : TaskLetter::kReduce);
  const std::string path = directory + "/" + name;
  Status status = MakeDirectories(directory);
  if (status.ok()) status = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, 0644).status();
  if (!status.ok()) loop_.Broke(number_, status.message());
  output.setStaged(path);
}

void Player::Send(Request request, uint64_t first) {
  ++loop_.counts().report_calls;
  link_->tasks.add(request.send().then([this, first](capnp::Response<rpc::MasterForWorker::ReportResults> response) {
    uint64_t number = first;
    for (const auto verdict : response.getVerdicts()) OnVerdict(number++, verdict);
    if (response.getBatch().getSequence() != 0) OnBatch(response.getBatch());
  }));
}

void Player::OnVerdict(uint64_t report, rpc::Verdict verdict) {
  const auto it = unanswered_.find(report);
  if (it == unanswered_.end() || verdict == rpc::Verdict::LATER) return;
  if (verdict == rpc::Verdict::WINNER) {
    ++loop_.counts().winners;
  } else {
    ++loop_.counts().other_verdicts;
    if (verdict != rpc::Verdict::REPLICA_KEPT) inventory_.erase(it->second);
  }
  unanswered_.erase(it);
}

void Player::SendProgress() {
  if (progress_.empty()) return;
  ++loop_.counts().progress_calls;
  auto request = link_->master.progressRequest(capnp::MessageSize{progress_.size() * kReportWords + 16, 0});
  FillSelf(request.initWorker());
  auto frames = request.initFrames(static_cast<uint32_t>(progress_.size()));
  uint32_t at = 0;
  for (const auto& [id, complete] : progress_) {
    auto frame = frames[at++];
    rpc::ToWire(id, frame.initAttempt());
    frame.setRecords(running_.at(id).records);
    frame.setInputsDone(complete && !running_.at(id).reads.empty());
  }
  progress_.clear();
  link_->tasks.add(request.send().ignoreResult());
}

size_t Player::outputs() const { return inventory_.size(); }

}  // namespace mr::bench
