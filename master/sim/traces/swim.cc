#include <algorithm>

#include "common/base/digest.h"
#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

// Our choice: tasks = ceil(input / 128 MiB) + ceil(shuffle / 1 GiB).
constexpr uint64_t kMapBytes = uint64_t{128} << 20, kReduceBytes = uint64_t{1} << 30;

uint64_t Scaled(uint64_t bytes, double scale) { return static_cast<uint64_t>(static_cast<double>(bytes) * scale); }

uint64_t Pieces(uint64_t bytes, uint64_t piece) { return bytes / piece + (bytes % piece != 0); }

}  // namespace

Result<Trace> ParseSwim(const TraceText& file, double scale) {
  Trace trace;
  for (Rows row(file, '\t'); row.Next();) {
    double submit = 0, gap = 0;
    uint64_t input = 0, shuffle = 0, output = 0;
    if (!row.GetSeconds(1, &submit) || !row.GetSeconds(2, &gap) || !row.Get(3, &input) || !row.Get(4, &shuffle) ||
        !row.Get(5, &output)) {
      return row.Wrong("not a line of SWIM: id, submit, gap, input, shuffle, output bytes, separated by tabs");
    }
    if (scale != 1) {
      for (uint64_t* bytes : {&input, &shuffle, &output}) *bytes = Scaled(*bytes, scale);
    }
    const uint64_t maps = std::max<uint64_t>(1, Pieces(input, kMapBytes)), reduces = Pieces(shuffle, kReduceBytes);
    if (std::max(maps, reduces) > kMaxTraceTasks) {
      return row.Wrong("a job of " + std::to_string(maps) + " maps (of 128 MiB) and " + std::to_string(reduces) +
                       " reduces (of 1 GiB); a stage has at most " + std::to_string(kMaxTraceTasks) + " tasks");
    }
    JobModel job = MapReduce(submit, row.Text(0), static_cast<uint32_t>(maps), input, static_cast<uint32_t>(reduces),
                             shuffle, output);
    if (row.size() > 6 && !row[6].empty()) job.stages[0].input_key = Hash64(row[6]) | 1;
    trace.jobs.push_back(std::move(job));
  }
  MR_RETURN_IF_ERROR(SortJobs(file.name, &trace.jobs));
  return trace;
}

}  // namespace mr::sim
