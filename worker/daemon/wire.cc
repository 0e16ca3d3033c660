#include "worker/daemon/wire.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <glog/logging.h>

#include <algorithm>

#include "common/rpc/control_wire.h"

namespace mr::worker {
namespace {

// The longest timeout: one year, which is as good as none.
constexpr uint64_t kMostTimeoutMs = 365ull * 24 * 3600 * 1000;

std::string Text(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

ReplicaPtr FromEntry(StageId stage, rpc::DirectoryEntry::Reader in) {
  return std::make_shared<const ReplicaLocation>(rpc::FromWire(stage, in));
}

Result<DirectoryDelta> FromDelta(rpc::DirectoryDelta::Reader in) {
  DirectoryDelta out;
  out.stage = {rpc::FromWire(in.getJob()), in.getStage()};
  out.version = in.getVersion();
  for (const auto entry : in.getAdded()) out.added.push_back(FromEntry(out.stage, entry));
  for (const auto removed : in.getRemoved()) {
    const Replica name = rpc::FromWire(removed);
    if (name.output.task.stage_id() != out.stage) return InvalidArgument("a delta names a replica of another stage");
    auto replica = std::make_shared<ReplicaLocation>();
    replica->output = name.output;
    replica->attempt = name.attempt;
    replica->worker = name.worker;
    replica->incarnation = name.incarnation;
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

Result<LaunchCommand> FromLaunch(rpc::Launch::Reader in) {
  auto out = rpc::FromWire(in);
  if (!out.attempt.valid()) return InvalidArgument("a launch of no attempt");
  return out;
}

template <class T>
Result<Command> Widen(Result<T> result) {
  if (!result.ok()) return result.status();
  return Command(*std::move(result));
}

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
    case rpc::Command::DELETE_BLOCK: return Command(DeleteBlock{rpc::FromWire(in.getDeleteBlock())});
    case rpc::Command::REPLICATE_BLOCK: {
      const auto replicate = in.getReplicateBlock();
      return Command(ReplicateBlock{rpc::FromWire(replicate.getBlock()), Text(replicate.getToAddress())});
    }
    case rpc::Command::EMPTY_QUARANTINE: return Command(EmptyQuarantine{rpc::FromWire(in.getEmptyQuarantine())});
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
  for (const auto answer : in.getAnswers()) {
    batch.verdicts.emplace_back(answer.getReport(), rpc::FromWire(answer.getVerdict()));
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

void ToWire(const WorkerRef& ref, rpc::WorkerRef::Builder out) {
  out.setId(ref.id.value);
  out.setIncarnation(ref.incarnation);
}

kj::Array<capnp::word> Encode(uint64_t number, const Report& report) {
  capnp::MallocMessageBuilder message(static_cast<unsigned>(rpc::WireSize(report) / sizeof(capnp::word)));
  auto root = message.initRoot<rpc::Report>();
  root.setNumber(number);
  ToWire(report, root);
  return capnp::messageToFlatArray(message);
}

}  // namespace mr::worker
