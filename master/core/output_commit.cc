#include "master/core/output_commit.h"

#include "common/base/text.h"
#include "master/core/input_places.h"
#include "master/core/output_totals.h"
#include "master/core/record_size.h"

namespace mr::master {
namespace {

// A longer list of parts does not fit into the namespace's inline files; the totals always do.
constexpr size_t kMaxSuccessBytes = 32 << 10;

}  // namespace

OutputParts PartsWith(const JobView& job, const std::vector<FileOutput>& last) {
  OutputParts parts;
  for (FileOutput& part : job.Outputs()) parts[part.name] = std::move(part);
  for (const FileOutput& part : last) parts[part.name] = part;
  return parts;
}

std::optional<LostBlock> UnreadableBlock(const dfs::Namespace& files, const OutputParts& parts, uint64_t* looks) {
  for (const auto& [name, part] : parts) {
    for (const StagedBlock& block : part.blocks) {
      ++*looks;
      // One that the namespace does not know comes back by no wait; PrepareCommit refuses it.
      const BlockId id = block.block.id;
      if (!files.Unreadable(id)) continue;
      const auto located = files.Find(id);
      std::string had;
      for (const WorkerId worker : block.workers) had += (had.empty() ? "" : ", ") + Name(worker);
      std::string text = "block " + std::to_string(id.value) + " of " + name + " has no replica on a live worker";
      if (!had.empty()) text += "; " + had + " had it";
      for (const std::string& damaged : located->damaged) text += "; the replica on " + damaged + " is damaged";
      return LostBlock{id, std::move(text)};
    }
  }
  return std::nullopt;
}

bool IsLastTask(const sched::Job& job, const TaskId& task) {
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    const sched::Stage& stage = job.stages[s];
    if (!job.graph.stages[s].is_final) continue;
    if (!stage.planned() || stage.committed + (s == task.stage ? 1 : 0) != stage.tasks.size()) return false;
  }
  return task.stage < job.stages.size() && job.graph.stages[task.stage].is_final &&
         task.task < job.stages[task.stage].tasks.size() &&
         job.stages[task.stage].tasks[task.task].state != sched::TaskState::kCommitted;
}

void CommitOutput(const JobView& job, const dfs::Namespace& files, uint64_t wall_ms, size_t record_bytes,
                  EventRecord* record, uint64_t* looks) {
  if (!job.in_dfs()) return;
  FinishedExtra finished;
  // Empty where the event is no report: a job taken over whose outputs were all there.
  const bool taken_over = record->extra.empty();
  std::vector<HotKey> hot;
  MR_CHECK(taken_over || DecodeFinished(record->extra, &finished, &hot),
           "a job was committed by an event of another kind");
  const OutputParts parts = PartsWith(job, finished.outputs);
  std::vector<FileOutput> listed;
  dfs::OutputCommitted commit{{record->stamped.at, wall_ms},
                              DfsPath(job.spec.output_uri),
                              job.spec.overwrite,
                              "/.staging/" + Name(job.id),
                              0,
                              {}};
  for (const auto& [name, part] : parts) {
    listed.push_back(part);
    dfs::OutputFile file{name, {}, ""};
    for (const StagedBlock& staged : part.blocks) file.blocks.push_back(staged.block);
    commit.files.push_back(std::move(file));
  }
  commit.files.push_back({"_SUCCESS", {}, SuccessDocument(Name(job.id), HeaderOf(job.spec), listed, kMaxSuccessBytes)});
  const auto prepared = files.PrepareCommit(std::move(commit));
  // At a takeover no worker has registered yet, so that nothing is known of where replicas are.
  const auto lost = taken_over ? std::nullopt : UnreadableBlock(files, parts, looks);
  if (!prepared.ok()) {
    finished.dfs_error = "its output was computed but could not be made visible: " + prepared.status().message();
  } else if (lost) {
    finished.dfs_error = "its output was computed, and a part of it is lost: " + lost->text +
                         ", and has not come back in " + HumanDuration(files.config().repair_delay) +
                         ". Start that worker again if it can be, and submit the job again; more than one replica "
                         "(mrmaster --replication) survives the loss of a worker";
  } else {
    finished.dfs_commit = dfs::Encode(**prepared);
  }
  record->extra = EncodeFinished(finished, hot);
  if (finished.dfs_commit.empty()) return;
  const uint64_t bytes = Encode(*record).size();
  if (bytes <= record_bytes) return;
  finished.dfs_error = "its output was computed but could not be made visible: " +
                       TooLong("the commit of its " + std::to_string(parts.size()) + " parts", bytes, record_bytes) +
                       "; run it with fewer parts (--reduces)";
  finished.dfs_commit.clear();
  record->extra = EncodeFinished(finished, hot);
}

}  // namespace mr::master
