#include "worker/daemon/wire.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <glog/logging.h>

#include <algorithm>

#include "common/rpc/wire.h"

namespace mr::worker {
namespace {

// The longest timeout: one year, which is as good as none.
constexpr uint64_t kMostTimeoutMs = 365ull * 24 * 3600 * 1000;

// Longer texts for people are cut. So a report stays far below the 1 MiB of a control message.
constexpr size_t kMaxText = 4096;

std::string Text(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

capnp::Text::Reader Cut(const std::string& text) {
  if (text.size() <= kMaxText) return {text.c_str(), text.size()};
  static thread_local std::string cut;
  cut = text.substr(0, kMaxText);
  return {cut.c_str(), cut.size()};
}

BlockName FromBlock(rpc::BlockReport::Reader in) {
  return {{in.getId()}, in.getGeneration(), in.getLength(), in.getDigest()};
}

ReplicaPtr FromEntry(StageId stage, rpc::DirectoryEntry::Reader in) {
  auto replica = std::make_shared<ReplicaLocation>();
  replica->output = {{stage.job, stage.stage, in.getTask()}, in.getGeneration()};
  replica->attempt = in.getAttempt();
  replica->worker = {in.getWorker().getId()};
  replica->incarnation = in.getWorker().getIncarnation();
  replica->address = Text(in.getAddress());
  const auto manifest = in.getManifest();
  replica->content = rpc::FromWire(manifest.getContent());
  replica->partitions = manifest.getPartitions();
  const auto table = manifest.getTable();
  replica->table.reserve(table.size());
  for (const auto row : table) {
    replica->table.push_back({row.getRecords(), row.getBytes(), rpc::FromWire(row.getContent()), row.getChunks()});
  }
  return replica;
}

Result<DirectoryDelta> FromDelta(rpc::DirectoryDelta::Reader in) {
  DirectoryDelta out;
  out.stage = {rpc::FromWire(in.getJob()), in.getStage()};
  out.version = in.getVersion();
  for (const auto entry : in.getAdded()) out.added.push_back(FromEntry(out.stage, entry));
  for (const auto removed : in.getRemoved()) {
    const ReplicaName name = FromWire(removed);
    if (name.output.task.stage_id() != out.stage) return InvalidArgument("a delta names a replica of another stage");
    auto replica = std::make_shared<ReplicaLocation>();
    replica->output = name.output;
    replica->attempt = name.attempt;
    replica->worker = name.worker.id;
    replica->incarnation = name.worker.incarnation;
    out.removed.push_back(std::move(replica));
  }
  return out;
}

Result<StageInput> FromInput(rpc::InputSpec::Reader in, uint32_t stage) {
  StageInput out;
  switch (in.which()) {
    case rpc::InputSpec::FILES:
      out.format = Text(in.getFiles().getFormat());
      out.sample_bytes = in.getFiles().getSampleBytes();
      return out;
    case rpc::InputSpec::EDGE: {
      const auto edge = in.getEdge();
      out.is_edge = true;
      out.upstream = edge.getStage();
      out.grouped = edge.getGrouped();
      out.quotes = edge.getQuotes();
      out.broadcast = edge.getKind() == rpc::EdgeKind::BROADCAST;
      out.format = Text(edge.getFormat());
      out.written = Text(edge.getWritten());
      out.file = Text(edge.getFile());
      out.sample_bytes = edge.getSampleBytes();
      if (out.upstream >= stage) return InvalidArgument("an edge points forward");
      return out;
    }
  }
  return InvalidArgument("an input of unknown kind");
}

Result<OutputPort> FromPort(rpc::PortSpec::Reader in, uint32_t partitions) {
  OutputPort out;
  out.partitions = partitions;
  switch (in.which()) {
    case rpc::PortSpec::SHUFFLE:
      out.sorted = in.getShuffle().getSorted();
      out.combine = in.getShuffle().getCombine();
      out.custom_partition = in.getShuffle().getCustomPartition();
      return out;
    case rpc::PortSpec::FILES:
      out.files = true;
      out.format = Text(in.getFiles().getFormat());
      out.name = Text(in.getFiles().getName());
      if (out.name.find('/') != out.name.npos) return InvalidArgument("an output with the name '" + out.name + "'");
      return out;
  }
  return InvalidArgument("a port of unknown kind");
}

Result<StageInfo> FromStage(rpc::StageInfo::Reader in) {
  StageInfo out;
  const auto spec = in.getSpec();
  out.id = {rpc::FromWire(in.getJob()), in.getStage()};
  if (!out.id.job.valid()) return InvalidArgument("a stage of no job");
  out.library = Text(in.getLibrary());
  out.name = Text(spec.getName());
  out.operator_name = Text(spec.getOperator());
  const auto config = spec.getConfig();
  out.config.assign(reinterpret_cast<const char*>(config.begin()), config.size());
  out.operator_flags = spec.getFlags();
  out.tasks = in.getTasks();
  for (const auto input : spec.getInputs()) {
    MR_ASSIGN_OR_RETURN(auto parsed, FromInput(input, out.id.stage));
    out.inputs.push_back(std::move(parsed));
  }
  const auto ports = spec.getPorts();
  const auto partitions = in.getPortPartitions();
  if (ports.size() != partitions.size()) return InvalidArgument("a stage whose ports and partitions differ");
  for (uint32_t i = 0; i < ports.size(); ++i) {
    MR_ASSIGN_OR_RETURN(auto parsed, FromPort(ports[i], partitions[i]));
    out.ports.push_back(std::move(parsed));
  }
  for (const auto entry : in.getEnv()) out.env.emplace_back(Text(entry.getKey()), Text(entry.getValue()));
  out.memory_bytes = in.getMemoryBytes();
  out.sort_buffer_bytes = in.getSortBufferBytes();
  out.partition_seed = in.getPartitionSeed();
  out.staging_uri = Text(in.getStagingUri());
  out.job_name = Text(in.getJobName());
  out.max_bad_records = in.getMaxBadRecords();
  out.task_timeout = Millis(static_cast<int64_t>(std::min<uint64_t>(in.getTaskTimeoutMs(), kMostTimeoutMs)));
  out.strict_inputs = in.getStrictInputs();
  for (const auto file : in.getFiles()) {
    out.files.push_back({Text(file.getName()), Text(file.getSha256())});
    const std::string& name = out.files.back().name;
    if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos) {
      return InvalidArgument("a side file with the name '" + name + "'");
    }
  }
  return out;
}

Result<Launch> FromLaunch(rpc::Launch::Reader in) {
  Launch out;
  out.attempt = rpc::FromWire(in.getAttempt());
  if (!out.attempt.valid()) return InvalidArgument("a launch of no attempt");
  out.generation = in.getGeneration();
  out.by_bind = in.getByBind();
  for (const auto split : in.getSplits()) {
    Split s{split.getInput(),     Text(split.getUri()),
            split.getOffset(),    split.getLength(),
            split.getFileBytes(), {},
            split.getFile(),      {split.getFileBytes(), split.getMtimeNs(), split.getInode(), split.getDevice()},
            split.getView()};
    for (const auto block : split.getBlocks()) {
      SplitBlock b{
          {{block.getId()}, block.getGeneration(), block.getLength(), block.getDigest()}, block.getOffset(), {}, {}};
      for (const auto address : block.getAddresses()) b.addresses.push_back(Text(address));
      for (const auto replica : block.getDamaged()) b.damaged.push_back(Text(replica));
      s.blocks.push_back(std::move(b));
    }
    out.splits.push_back(std::move(s));
  }
  for (const auto slice : in.getSlices()) {
    out.slices.push_back({slice.getInput(), slice.getPartitionBegin(), slice.getPartitionEnd(), slice.getTaskBegin(),
                          slice.getTaskEnd()});
  }
  return out;
}

template <class T>
Result<Command> Widen(Result<T> result) {
  if (!result.ok()) return result.status();
  return Command(*std::move(result));
}

void ToWire(const Manifest& manifest, rpc::Manifest::Builder out) {
  out.setRecords(manifest.records);
  out.setBytes(manifest.bytes);
  rpc::ToWire(manifest.content, out.initContent());
  out.setPartitions(manifest.partitions);
  auto table = out.initTable(static_cast<uint32_t>(manifest.table.size()));
  for (uint32_t i = 0; i < manifest.table.size(); ++i) {
    table[i].setRecords(manifest.table[i].records);
    table[i].setBytes(manifest.table[i].bytes);
    rpc::ToWire(manifest.table[i].content, table[i].initContent());
    table[i].setChunks(manifest.table[i].chunks);
  }
  auto outputs = out.initOutputs(static_cast<uint32_t>(manifest.outputs.size()));
  for (uint32_t i = 0; i < manifest.outputs.size(); ++i) {
    const FileOutput& file = manifest.outputs[i];
    outputs[i].setName(file.name);
    outputs[i].setStaged(file.staged);
    outputs[i].setBytes(file.bytes);
    outputs[i].setRecords(file.records);
    rpc::ToWire(file.content, outputs[i].initContent());
    auto blocks = outputs[i].initBlocks(static_cast<uint32_t>(file.blocks.size()));
    for (uint32_t b = 0; b < file.blocks.size(); ++b) {
      blocks[b].setId(file.blocks[b].block.id.value);
      blocks[b].setGeneration(file.blocks[b].block.generation);
      blocks[b].setLength(file.blocks[b].block.length);
      blocks[b].setDigest(file.blocks[b].block.digest);
      auto workers = blocks[b].initWorkers(static_cast<uint32_t>(file.blocks[b].workers.size()));
      for (uint32_t w = 0; w < file.blocks[b].workers.size(); ++w) workers.set(w, file.blocks[b].workers[w]);
    }
  }
}

void ToWire(const HotKey& key, rpc::HotKey::Builder out) {
  out.setPort(key.port);
  out.setPartition(key.partition);
  out.setHash(key.hash);
  out.setPrefix({reinterpret_cast<const capnp::byte*>(key.prefix.data()), key.prefix.size()});
  out.setCut(key.cut);
  out.setRecords(key.records);
  out.setBytes(key.bytes);
}

uint64_t Us(Duration d) { return d.ns < 0 ? 0 : static_cast<uint64_t>(d.ns / 1000); }

struct ReportWriter {
  rpc::Report::Builder out;

  void operator()(const Started&) { out.setStarted(); }
  void operator()(const Finished& finished) {
    auto f = out.initFinished();
    ToWire(finished.manifest, f.initManifest());
    auto consumed = f.initConsumed(static_cast<uint32_t>(finished.consumed.size()));
    for (uint32_t i = 0; i < finished.consumed.size(); ++i) {
      consumed[i].setStage(finished.consumed[i].stage);
      consumed[i].setTask(finished.consumed[i].task);
      consumed[i].setGeneration(finished.consumed[i].generation);
      rpc::ToWire(finished.consumed[i].content, consumed[i].initContent());
    }
    f.setRanUs(Us(finished.ran));
    f.setWaitedUs(Us(finished.waited));
    auto counters = f.initCounters(static_cast<uint32_t>(finished.counters.size()));
    for (uint32_t i = 0; i < finished.counters.size(); ++i) {
      counters[i].setGroup(Cut(finished.counters[i].group));
      counters[i].setName(Cut(finished.counters[i].name));
      counters[i].setValue(finished.counters[i].value);
    }
    auto bad = f.initBadRecords(static_cast<uint32_t>(finished.bad_records.size()));
    for (uint32_t i = 0; i < finished.bad_records.size(); ++i) bad.set(i, Cut(finished.bad_records[i]));
    auto kib = f.initPartitionKib(static_cast<uint32_t>(finished.manifest.kib.size()));
    for (uint32_t i = 0; i < finished.manifest.kib.size(); ++i) kib.set(i, finished.manifest.kib[i]);
    auto hot = f.initHotKeys(static_cast<uint32_t>(finished.hot_keys.size()));
    for (uint32_t i = 0; i < finished.hot_keys.size(); ++i) ToWire(finished.hot_keys[i], hot[i]);
    auto grown = f.initGrown(static_cast<uint32_t>(finished.grown.size()));
    for (uint32_t i = 0; i < finished.grown.size(); ++i) grown.set(i, Cut(finished.grown[i]));
  }
  void operator()(const Failed& failed) {
    auto f = out.initFailed();
    f.setKind(static_cast<uint8_t>(failed.kind));
    f.setMessage(Cut(failed.message));
    f.setRecord(Cut(failed.record));
    f.setStderrTail(Cut(failed.stderr_tail));
  }
  void operator()(const Refused& refused) { out.setRefused(Cut(refused.why)); }
  void operator()(const Killed&) { out.setKilled(); }
  void operator()(const FetchFailed& failed) {
    auto f = out.initFetchFailed();
    worker::ToWire(failed.replica, f.initReplica());
    f.setWhy(Cut(failed.why));
    f.setUnreachable(failed.unreachable);
  }
  void operator()(const FetchDone& done) {
    auto f = out.initFetchDone();
    worker::ToWire(done.replica, f.initReplica());
    f.setBytes(done.bytes);
    f.setTookUs(Us(done.took));
    f.setReaders(done.readers);
  }
  void operator()(const ReplicaMade& made) { worker::ToWire(made.replica, out.initReplicaMade()); }
  void operator()(const ReplicaNotMade& failed) {
    auto f = out.initReplicaNotMade();
    worker::ToWire(failed.from, f.initReplica());
    f.setWhy(Cut(failed.why));
    f.setHere(failed.here);
  }
};

}  // namespace

Result<Command> FromWire(rpc::Command::Reader in) {
  switch (in.which()) {
    case rpc::Command::LAUNCH: return Widen(FromLaunch(in.getLaunch()));
    case rpc::Command::KILL: return Command(Kill{rpc::FromWire(in.getKill())});
    case rpc::Command::TAKE_BACK: return Command(TakeBack{rpc::FromWire(in.getTakeBack())});
    case rpc::Command::STAGE: return Widen(FromStage(in.getStage()));
    case rpc::Command::DIRECTORY: return Widen(FromDelta(in.getDirectory()));
    case rpc::Command::BIND: {
      const auto bind = in.getBind();
      const AttemptId reader = rpc::FromWire(bind.getReader());
      return Command(Bind{reader, FromEntry({reader.task.job, bind.getStage()}, bind.getEntry())});
    }
    case rpc::Command::DROP: return Command(DropReplica{FromWire(in.getDrop())});
    case rpc::Command::END_JOB: return Command(EndJob{rpc::FromWire(in.getEndJob())});
    case rpc::Command::DELETE_BLOCK: return Command(DeleteBlock{FromBlock(in.getDeleteBlock())});
    case rpc::Command::REPLICATE_BLOCK: {
      const auto replicate = in.getReplicateBlock();
      return Command(ReplicateBlock{FromBlock(replicate.getBlock()), Text(replicate.getToAddress())});
    }
    case rpc::Command::EMPTY_QUARANTINE: return Command(EmptyQuarantine{FromBlock(in.getEmptyQuarantine())});
    case rpc::Command::DRAIN: return Command(Drain{in.getDrain()});
    case rpc::Command::REPLICATE_OUTPUT: {
      const auto replicate = in.getReplicateOutput();
      return Command(
          ReplicateOutput{FromEntry({rpc::FromWire(replicate.getJob()), replicate.getStage()}, replicate.getSource())});
    }
  }
  return InvalidArgument("a command of unknown kind: the master is of a later release");
}

CommandBatch FromWire(rpc::CommandBatch::Reader in) {
  CommandBatch batch{in.getMasterEpoch(), in.getSequence(), {}, {}};
  for (const auto verdict : in.getVerdicts()) {
    if (const auto said = FromWire(verdict.getReply())) batch.verdicts.emplace_back(verdict.getReport(), *said);
  }
  for (const auto command : in.getCommands()) {
    auto parsed = FromWire(command);
    if (parsed.ok()) {
      batch.commands.push_back(*std::move(parsed));
    } else {
      LOG(ERROR) << "a command of the master was dropped: " << parsed.status().message();
    }
  }
  return batch;
}

std::optional<Verdict> FromWire(rpc::Reply::Reader reply) {
  switch (reply.which()) {
    case rpc::Reply::NOTED: return Verdict::kNoted;
    case rpc::Reply::WINNER: return Verdict::kWinner;
    case rpc::Reply::REPLICA_KEPT: return Verdict::kReplicaKept;
    case rpc::Reply::REPLICA_DROPPED: return Verdict::kReplicaDropped;
    case rpc::Reply::DIFFERS: return Verdict::kDiffers;
    case rpc::Reply::STALE: return Verdict::kStale;
    case rpc::Reply::LATER: return std::nullopt;
  }
  return Verdict::kStale;
}

ReplicaName FromWire(rpc::Replica::Reader in) {
  return {{rpc::FromWire(in.getTask()), in.getGeneration()},
          in.getAttempt(),
          {{in.getWorker().getId()}, in.getWorker().getIncarnation()}};
}

void ToWire(const WorkerRef& ref, rpc::WorkerRef::Builder out) {
  out.setId(ref.id.value);
  out.setIncarnation(ref.incarnation);
}

void ToWire(const ReplicaName& replica, rpc::Replica::Builder out) {
  rpc::ToWire(replica.output.task, out.initTask());
  out.setGeneration(replica.output.generation);
  out.setAttempt(replica.attempt);
  ToWire(replica.worker, out.initWorker());
}

void ToWire(const BlockName& block, rpc::BlockReport::Builder out) {
  out.setId(block.id.value);
  out.setGeneration(block.generation);
  out.setLength(block.length);
  out.setDigest(block.digest);
}

void ToWire(const Report& report, rpc::Report::Builder out) {
  rpc::ToWire(report.attempt, out.initAttempt());
  std::visit(ReportWriter{out}, report.what);
}

void ToWire(const ProgressFrame& frame, rpc::Progress::Builder out) {
  rpc::ToWire(frame.attempt, out.initAttempt());
  out.setPhase(frame.progress.phase);
  out.setTakenBytes(frame.progress.taken_bytes);
  out.setTotalBytes(frame.progress.total_bytes);
  out.setRecords(frame.progress.records);
  out.setInputsDone(frame.inputs_done);
}

size_t WireSize(const Report& report) {
  size_t bytes = 256;
  if (const auto* finished = std::get_if<Finished>(&report.what)) {
    bytes += finished->manifest.table.size() * 64 + finished->consumed.size() * 48 +
             finished->bad_records.size() * kMaxText + finished->manifest.kib.size() * 4 +
             finished->hot_keys.size() * 128 + finished->grown.size() * kMaxText;
    for (const auto& counter : finished->counters) {
      bytes += 64 + std::min(counter.group.size(), kMaxText) + std::min(counter.name.size(), kMaxText);
    }
    for (const FileOutput& file : finished->manifest.outputs) {
      bytes += 128 + file.name.size() + file.staged.size();
      for (const StagedBlock& block : file.blocks) bytes += 64 + block.workers.size() * 4;
    }
  } else if (std::holds_alternative<Failed>(report.what)) {
    bytes += 3 * kMaxText;
  } else {
    bytes += kMaxText;  // most kinds have one text
  }
  return bytes;
}

kj::Array<capnp::word> Encode(uint64_t number, const Report& report) {
  capnp::MallocMessageBuilder message(static_cast<unsigned>(WireSize(report) / sizeof(capnp::word)));
  auto root = message.initRoot<rpc::Report>();
  root.setNumber(number);
  ToWire(report, root);
  return capnp::messageToFlatArray(message);
}

}  // namespace mr::worker
