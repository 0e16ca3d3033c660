#include "master/host/worker_wire.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/abi/operator_table.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/wire.h"

namespace mr::master {
namespace {

// Limits of one attempt's report. Counters: those of operator_table.h and the host's own. Consumed: their record stays
// below the journal's 64 MiB. Output files: one for each port. Blocks: 3 TiB of full ones, so that the report and the
// record of a file stay small (HDFS allows 10,000 blocks of a file).
constexpr size_t kMaxCounters = MR_MAX_COUNTERS + MR_HOST_COUNTERS, kMaxCounterName = MR_MAX_COUNTER_NAME;
constexpr size_t kMaxConsumed = 1'000'000, kMaxOutputs = 1000, kMaxOutputBlocks = 50'000, kMaxReplicas = 64;
constexpr uint32_t kMaxLabels = 64;
// Limits of one registration, so that no peer fills the memory: blocks for 512 TiB of full ones (guesses at the largest
// machine).
constexpr size_t kMaxListedReplicas = 4'000'000, kMaxListedRunning = 100'000, kMaxListedBlocks = 8'000'000;

// Returns which limit the report exceeds, or "". A worker keeps these limits itself. Checked before anything is copied.
std::string Excess(rpc::Finished::Reader in) {
  const auto more = [](const char* what, size_t most) {
    return std::string("its report has more than ") + std::to_string(most) + " " + what;
  };
  if (in.getCounters().size() > kMaxCounters) return more("counters", kMaxCounters);
  for (auto c : in.getCounters()) {
    if (c.getGroup().size() > kMaxCounterName || c.getName().size() > kMaxCounterName) {
      return more("bytes in the name of a counter", kMaxCounterName);
    }
  }
  if (in.getConsumed().size() > kMaxConsumed) return more("outputs that it read", kMaxConsumed);
  const auto outputs = in.getManifest().getOutputs();
  if (outputs.size() > kMaxOutputs) return more("output files", kMaxOutputs);
  size_t blocks = 0;
  for (auto output : outputs) {
    blocks += output.getBlocks().size();
    for (auto block : output.getBlocks()) {
      if (block.getWorkers().size() > kMaxReplicas) return more("replicas of a block", kMaxReplicas);
    }
  }
  return blocks > kMaxOutputBlocks ? more("blocks of output", kMaxOutputBlocks) : "";
}

}  // namespace

void ToWire(const Durable& durable, rpc::Durable::Builder out) {
  out.setEpoch(durable.epoch);
  out.setLife(durable.life);
  out.setSequence(durable.sequence);
}

std::string ReportText(capnp::Text::Reader text) { return {text.begin(), std::min(text.size(), rpc::kMaxReportText)}; }

void AddPage(RegisterIn* out, capnp::List<rpc::Replica>::Reader inventory, capnp::List<rpc::AttemptId>::Reader running,
             capnp::List<rpc::BlockReport>::Reader blocks) {
  for (auto replica : inventory) out->info.inventory.push_back(rpc::FromWire(replica));
  for (auto attempt : running) out->info.running.push_back(rpc::FromWire(attempt));
  for (auto block : blocks) out->blocks.push_back(rpc::FromWire(block));
}

RegisterIn RegisterFrom(rpc::WorkerInfo::Reader in, RegisterIn pages) {
  RegisterIn out = std::move(pages);
  out.extra = {ReportText(in.getName()), in.getHttpPort(), in.getCapacityBytes(), in.getUsedBytes(), in.getPid()};
  out.leaving = in.getLeaving();
  out.reports_given_up = in.getReportsGivenUp();
  out.tier = in.getTier();
  out.seen = {in.getDurableSeen().getEpoch(), in.getDurableSeen().getLife(), in.getDurableSeen().getSequence()};
  out.info.incarnation = in.getIncarnation();
  out.info.address = ReportText(in.getAddress());
  out.info.rack = ReportText(in.getRack());
  out.info.slots = {in.getSlots(), in.getMapSlots(), in.getReduceSlots()};
  out.info.memory_bytes = in.getMemoryBytes();
  KJ_REQUIRE(in.getLabels().size() <= kMaxLabels, "a worker has at most this many labels", kMaxLabels);
  for (auto label : in.getLabels()) out.info.labels.push_back(ReportText(label));
  AddPage(&out, in.getInventory(), in.getRunning(), in.getBlocks());
  return out;
}

std::vector<uint8_t> DropBits(const std::vector<Replica>& inventory, const std::vector<Replica>& drop) {
  std::vector<uint8_t> bits;
  if (drop.empty() && inventory.size() <= kMaxKeptReplicas) return bits;
  std::set<std::pair<OutputId, uint32_t>> names;
  for (const auto& replica : drop) names.insert({replica.output, replica.attempt});
  bits.resize((inventory.size() + 7) / 8);
  for (size_t i = 0; i < inventory.size(); ++i) {
    const bool drops = i >= kMaxKeptReplicas || names.contains({inventory[i].output, inventory[i].attempt});
    if (drops) bits[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
  }
  return bits;
}

NumberedReport ReportFrom(rpc::Report::Reader in) {
  NumberedReport out{in.getNumber(), {}};
  const std::string excess = in.isFinished() ? Excess(in.getFinished()) : "";
  if (excess.empty()) {
    out.report = rpc::FromWire(in);
  } else {
    out.report = {rpc::FromWire(in.getAttempt()), report::Failed{FailureKind::kUserFinal, excess, "", ""}};
  }
  if (!out.report.attempt.valid()) out.report.what = report::Unknown{};
  return out;
}

void CheckListed(const RegisterIn& in) {
  KJ_REQUIRE(in.info.inventory.size() <= kMaxListedReplicas && in.info.running.size() <= kMaxListedRunning &&
                 in.blocks.size() <= kMaxListedBlocks,
             "a registration lists at most this many outputs, attempts and blocks", kMaxListedReplicas,
             kMaxListedRunning, kMaxListedBlocks);
}

}  // namespace mr::master
