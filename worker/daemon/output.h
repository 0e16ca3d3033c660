// Writes the output of one attempt to the shuffle store, or to private files beside the job's output. All calls may
// block: use the attempt's strand of the pool, never a loop. Without output so far, FinishesAtOnce() may allow a call
// of Finish() on a loop.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/io/file_roots.h"
#include "worker/daemon/types.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

class OutputSink {
 public:
  virtual ~OutputSink() = default;  // without Finish the output cannot be read
  // Does slow work that needs no output yet. Optional first call, while the child runs. Add or Finish return its
  // errors.
  virtual void Prepare() {}
  virtual Status Add(const OutputChunk& chunk) = 0;
  // Completes the output. When it returns, the output is servable (shuffle) or durable (files).
  virtual Result<TaskOutput> Finish() = 0;
  // Returns whether Finish() takes microseconds and no system call, if nothing was added.
  virtual bool FinishesAtOnce() const { return false; }
  // Removes the output, finished or not. May be repeated.
  virtual void Drop() = 0;
};

// Returns the attempt's name, as in logs and directories.
std::string AttemptName(const StageInfo& stage, AttemptId attempt);
// Returns the name of a task's part for a port with files: part-m-00017, or errors-m-00017 for a port named errors.
// Compressed formats append .gz or .zst.
std::string PartName(const StageInfo& stage, uint32_t port, uint32_t task);
// Returns the path of file:///absolute/path. Errors: kInvalidArgument for other URIs.
Result<std::string> LocalPath(const std::string& uri);

// Makes a sink for a shuffle stage. Its writer opens at the first chunk.
std::unique_ptr<OutputSink> MakeShuffleSink(ShuffleStore& store, const StageInfo& stage, AttemptId attempt);
// Makes a sink for one port of a final stage. It writes <staging>/<attempt>/<part> on a local or shared disk, below
// the roots.
std::unique_ptr<OutputSink> MakeFileSink(const StageInfo& stage, uint32_t port, AttemptId attempt, FileRoots roots);

// Returns the output that consists of one file: a table of one row, and the digest of that table as its content.
TaskOutput OutputOf(FileOutput file);

}  // namespace mr::worker
