// Where one attempt's output goes: the shuffle store, or private files beside a job's output. All
// calls block: on the attempt's strand of the pool, never on a loop.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class OutputSink {
 public:
  virtual ~OutputSink() = default;  // without Finish nothing of it can be read
  // May be called first: does what needs no output yet and takes a while, as the child runs. What
  // goes wrong is found again, and told, by Add or Finish.
  virtual void Prepare() {}
  virtual Status Add(const OutputChunk& chunk) = 0;
  // Servable (shuffle) or durable (files) when it returns.
  virtual Result<Manifest> Finish() = 0;
  // Takes away what has been made, finished or not. Repeating is fine.
  virtual void Drop() = 0;
};

// The attempt's name, as in logs and directories.
std::string AttemptName(const StageInfo& stage, AttemptId attempt);
// Of a port with files: part-m-00017, or errors-m-00017 where its name is errors; and .gz or .zst behind it where it
// writes such files.
std::string PartName(const StageInfo& stage, uint32_t port, uint32_t task);
// The path of a file:///absolute/path; kInvalidArgument for other URIs.
Result<std::string> LocalPath(const std::string& uri);

// A sink for a shuffle stage; opens its writer at the first chunk.
std::unique_ptr<OutputSink> MakeShuffleSink(ShuffleStore& store, const StageInfo& stage, AttemptId attempt);
// A sink for one port of a final stage that writes <staging>/<attempt>/<part> on a local (or shared) disk.
std::unique_ptr<OutputSink> MakeFileSink(const StageInfo& stage, uint32_t port, AttemptId attempt);

// The manifest of one output file: its table has one row, and content is that table's digest.
Manifest ManifestOf(FileOutput file);

}  // namespace mr::worker
