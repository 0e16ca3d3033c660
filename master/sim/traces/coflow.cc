#include "master/sim/traces/rows.h"

namespace mr::sim {

Result<Trace> ParseCoflow(const TraceText& file) {
  constexpr double kMegabyte = 1e6, kMost = 1e9;
  Trace trace;
  Rows row(file, ' ');
  uint32_t ports = 0, coflows = 0;
  if (!row.Next() || row.size() != 2 || !row.Get(0, &ports) || !row.Get(1, &coflows)) {
    return row.Wrong("not a coflow trace: it begins with the numbers of ports and coflows");
  }
  while (row.Next()) {
    double ms = 0;
    uint32_t maps = 0, reduces = 0;
    const auto wrong = [&](const std::string& what) {
      return row.Wrong(what +
                       "; a coflow is: id, arrival ms, mapper racks, their numbers, "
                       "reducer racks, rack:megabytes of each");
    };
    if (!row.GetSeconds(1, &ms) || !row.Get(2, &maps) || maps == 0 || maps > row.size()) {
      return wrong("it does not begin so");
    }
    if (!row.Get(size_t{maps} + 3, &reduces) || reduces == 0 || row.size() != size_t{maps} + 4 + reduces) {
      return wrong("there are more or fewer racks than it says");
    }
    JobModel job = MapReduce(ms * 1e-3, "c" + row.Text(0), maps, 0, reduces, 0, 0);
    StageModel& map = job.stages[0];
    StageModel& reduce = job.stages[1];
    map.durations = {0};
    for (uint32_t m = 0; m < maps; ++m) {
      uint32_t rack = 0;
      if (!row.Get(m + 3, &rack) || rack >= ports) return wrong("'" + row.Text(m + 3) + "' is no rack");
      map.preferred.push_back({rack});
    }
    for (uint32_t r = 0; r < reduces; ++r) {
      const std::string_view field = row[maps + 4 + r];
      const size_t colon = field.find(':');
      uint32_t rack = 0;
      double megabytes = 0;
      if (colon == std::string_view::npos || !Rows::Parse(field.substr(0, colon), &rack) || rack >= ports ||
          !Rows::Parse(field.substr(colon + 1), &megabytes) || !(megabytes >= 0 && megabytes < kMost)) {
        return wrong("'" + std::string(field) + "' is no rack:megabytes");
      }
      reduce.task_bytes.push_back(static_cast<uint64_t>(megabytes * kMegabyte));
      reduce.bytes += reduce.task_bytes.back();
    }
    map.output_bytes = reduce.bytes;
    trace.jobs.push_back(std::move(job));
  }
  if (trace.jobs.size() != coflows) {
    return InvalidArgument(file.name + ": its first line says " + std::to_string(coflows) + " coflows, and " +
                           std::to_string(trace.jobs.size()) + " follow; is it cut off?");
  }
  MR_RETURN_IF_ERROR(SortJobs(file.name, &trace.jobs));
  return trace;
}

}  // namespace mr::sim
