#include "worker/daemon/wire.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <glog/logging.h>

#include <algorithm>
#include <string>

namespace mr::worker {
namespace {

// The longest timeout: one year, in practice no limit.
constexpr Duration kMostTimeout = Millis(365ll * 24 * 3600 * 1000);

struct Checker {
  Status operator()(const command::Unknown&) const {
    return InvalidArgument("a command of unknown kind: the master is of a later release");
  }
  Status operator()(const LaunchCommand& launch) const {
    return launch.attempt.valid() ? Status::Ok() : InvalidArgument("a launch of no attempt");
  }
  Status operator()(const DirectoryDelta& delta) const {
    for (const Replica& replica : delta.removed) {
      if (replica.output.task.stage_id() != delta.stage) {
        return InvalidArgument("a delta names a replica of another stage");
      }
    }
    return {};
  }
  Status operator()(const StageInfo& stage) const {
    if (!stage.id.job.valid()) return InvalidArgument("a stage of no job");
    for (const InputSpec& input : stage.spec.inputs) {
      if (input.unknown) return InvalidArgument("an input of unknown kind");
      if (input.is_edge && input.stage >= stage.id.stage) return InvalidArgument("an edge points forward");
    }
    if (stage.spec.ports.size() != stage.port_partitions.size()) {
      return InvalidArgument("a stage whose ports and partitions differ");
    }
    for (const PortSpec& port : stage.spec.ports) {
      if (port.unknown) return InvalidArgument("a port of unknown kind");
      if (port.name.find('/') != port.name.npos) return InvalidArgument("an output with the name '" + port.name + "'");
    }
    for (const SideFile& file : stage.files) {
      const std::string& name = file.name;
      if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos) {
        return InvalidArgument("a side file with the name '" + name + "'");
      }
    }
    return {};
  }
  template <class Other>
  Status operator()(const Other&) const {
    return {};
  }
};

}  // namespace

Status Check(const Command& command) { return std::visit(Checker{}, command); }

CommandBatch ReadBatch(rpc::CommandBatch::Reader in) {
  CommandBatch batch = rpc::FromWire(in);
  std::erase_if(batch.commands, [](Command& command) {
    if (auto* stage = std::get_if<StageInfo>(&command))
      stage->task_timeout = std::min(stage->task_timeout, kMostTimeout);
    const Status checked = Check(command);
    LOG_IF(ERROR, !checked.ok()) << "a command of the master was dropped: " << checked.message();
    return !checked.ok();
  });
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
