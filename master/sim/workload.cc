// Workloads from files, and which file is meant.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "common/io/files.h"
#include "master/sim/model.h"

namespace mr::sim {

namespace {

// papers.md 1.4: tasks = ceil(input / 128 MB) + ceil(shuffle / 1 GB).
constexpr uint64_t kMapBytes = uint64_t{128} << 20, kReduceBytes = uint64_t{1} << 30;
constexpr size_t kColumns = 6;

uint32_t Pieces(uint64_t bytes, uint64_t piece) {
  return static_cast<uint32_t>(std::min<uint64_t>((bytes + piece - 1) / piece, 10'000'000));
}

// The first six columns of a line; false where one is missing or no number.
bool Columns(std::string_view line, uint64_t (*out)[kColumns]) {
  for (size_t c = 0; c < kColumns; ++c) {
    const size_t tab = std::min(line.find('\t'), line.size());
    if (c > 0) {
      const auto [end, error] = std::from_chars(line.data(), line.data() + tab, (*out)[c]);
      if (error != std::errc() || end != line.data() + tab) return false;
    }
    line.remove_prefix(std::min(tab + 1, line.size()));
  }
  return true;
}

}  // namespace

Result<std::vector<JobModel>> ParseSwim(const std::string& text, const std::string& name) {
  std::vector<JobModel> jobs;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    uint64_t c[kColumns] = {};
    if (!Columns(line, &c)) {
      return InvalidArgument(name + ":" + std::to_string(number) +
                             ": not a line of SWIM: id, submit, gap, input, shuffle, output bytes, separated by tabs");
    }
    jobs.push_back(MapReduce(static_cast<double>(c[1]), std::string(line.substr(0, line.find('\t'))),
                             std::max(1u, Pieces(c[3], kMapBytes)), c[3], Pieces(c[4], kReduceBytes), c[4], c[5]));
  }
  if (jobs.empty()) return InvalidArgument(name + ": no job in it");
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobModel& x, const JobModel& y) { return x.submit < y.submit; });
  return jobs;
}

Result<std::vector<JobModel>> LoadWorkload(const std::string& workload, const std::string& data, uint64_t seed) {
  if (workload.rfind("generate", 0) == 0) return Generate(workload, seed);
  std::string path = workload, tried = workload;
  if (!workload.empty() && workload[0] != '/' && !data.empty()) {
    for (const std::string& folder : {data, data + "/swim-facebook"}) {
      if (PathExists(path)) break;
      path = folder + "/" + workload;
      tried += ", " + path;
    }
  }
  if (!PathExists(path)) {
    return NotFound("there is no workload at " + tried +
                    (data.empty() ? "; --data DIR or MR_DATA says where traces are" : "") +
                    "; `generate:facebook` needs no file");
  }
  MR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (text.size() > 2 && text[0] == '\x1f' && text[1] == '\x8b') {
    return InvalidArgument(path + " is compressed; unpack it first: gunzip -k '" + path + "'");
  }
  return ParseSwim(text, path);
}

}  // namespace mr::sim
