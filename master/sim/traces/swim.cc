#include <algorithm>

#include "common/base/digest.h"
#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

// papers.md 1.4: tasks = ceil(input / 128 MB) + ceil(shuffle / 1 GB).
constexpr uint64_t kMapBytes = uint64_t{128} << 20, kReduceBytes = uint64_t{1} << 30;

uint32_t Pieces(uint64_t bytes, uint64_t piece) {
  return static_cast<uint32_t>(std::min<uint64_t>(bytes / piece + (bytes % piece != 0), kMaxTraceTasks));
}

}  // namespace

Result<Trace> ParseSwim(const TraceText& file) {
  Trace trace;
  for (Rows row(file, '\t'); row.Next();) {
    double submit = 0, gap = 0;
    uint64_t input = 0, shuffle = 0, output = 0;
    if (!row.GetSeconds(1, &submit) || !row.GetSeconds(2, &gap) || !row.Get(3, &input) || !row.Get(4, &shuffle) ||
        !row.Get(5, &output)) {
      return row.Wrong("not a line of SWIM: id, submit, gap, input, shuffle, output bytes, separated by tabs");
    }
    JobModel job = MapReduce(submit, row.Text(0), std::max(1u, Pieces(input, kMapBytes)), input,
                             Pieces(shuffle, kReduceBytes), shuffle, output);
    if (row.size() > 6 && !row[6].empty()) job.stages[0].input_key = Hash64(row[6]) | 1;
    trace.jobs.push_back(std::move(job));
  }
  MR_RETURN_IF_ERROR(SortJobs(file.name, &trace.jobs));
  return trace;
}

}  // namespace mr::sim
