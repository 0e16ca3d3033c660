// The commit of a job's output to the block store: its files become visible by the record that commits the job. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dfs/meta/namespace.h"
#include "master/core/jobs.h"

namespace mr::master {

// Output files of a job, by name.
using OutputParts = std::map<std::string, FileOutput>;

// Returns the parts of the job's output: those committed, and those of the last report.
OutputParts PartsWith(const JobView& job, const std::vector<FileOutput>& last);

// A block of an output that no live worker has.
struct LostBlock {
  BlockId id;
  std::string text;  // which one, and who had it
};
// Returns the first such block, or nothing if all can be read. looks: is raised by the blocks looked at.
std::optional<LostBlock> UnreadableBlock(const dfs::Namespace& files, const OutputParts& parts, uint64_t* looks);

// Returns whether this task is the only one of the job's final stages that has not committed.
bool IsLastTask(const sched::Job& job, const TaskId& task);

// Fills in how the job's output becomes visible (FinishedExtra::dfs_commit), or why it cannot (dfs_error). Changes
// record->extra alone. record: the event that commits the job, with its outcome. wall_ms: for the files' times.
// Nothing happens for a job that does not write to the block store.
void CommitOutput(const JobView& job, const dfs::Namespace& files, uint64_t wall_ms, size_t record_bytes,
                  EventRecord* record, uint64_t* looks);

}  // namespace mr::master
