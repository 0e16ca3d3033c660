#include "master/host/planner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <map>

#include "common/base/count.h"
#include "common/base/file_format.h"
#include "common/base/text.h"
#include "common/io/files.h"

namespace mr::master {
namespace {

constexpr std::string_view kFileScheme = "file://";

// Asked of the file system itself, since permissions say little of read-only ones, of /proc, or of a full disk.
Status CanMakeDirectoryIn(const std::string& parent) {
  std::string made = (parent == "/" ? "" : parent) + "/.paceline-check.XXXXXX";
  if (mkdtemp(made.data()) != nullptr) {
    (void)rmdir(made.c_str());
    return Status::Ok();
  }
  const int error = errno;
  const Status status = ErrnoStatus(error, "the master cannot make a directory in " + parent);
  const bool told = status.code() == Code::kNotAllowed || status.code() == Code::kOverloaded;
  return told ? status : Rejected(status.message());
}

uint32_t RecordBytesOf(const std::string& format) {
  uint32_t n = 0;
  if (format.starts_with("fixed:")) std::from_chars(format.data() + 6, format.data() + format.size(), n);
  return n;
}

// Refuses a file with a broken last record before anything runs, where its length alone shows that.
Status CheckLength(const InputFile& file, const std::string& format) {
  const uint32_t n = RecordBytesOf(format);
  if (n == 0 || file.bytes % n == 0 || CompressionOfName(file.uri) != Compression::kNone) return Status::Ok();
  return InvalidArgument("input " + file.uri + ": its length " + std::to_string(file.bytes) + " is no multiple of " +
                         std::to_string(n) + ", as format " + format + " asks");
}

Result<std::vector<InputFile>> FilesOf(const std::string& uri, const PlanContext& context) {
  if (uri.starts_with(kFileScheme) || url::IsUrl(uri)) return FilesOutside(uri, context);
  for (const auto& [known, files] : context.dfs_files) {
    if (known == uri) return files;
  }
  return Internal("the files of " + uri + " were not looked up");
}

class Planner {
 public:
  Planner(const JobSpec& spec, const PlanContext& context) : spec_(spec), context_(context) {
    plan_.view = FileView();
    plan_.stages.resize(spec.stages.size());
    for (size_t s = 0; s < spec.stages.size(); ++s) {
      plan_.stages[s].port_partitions.assign(spec.stages[s].ports.size(), 0);
    }
  }

  Result<JobPlan> Run() {
    for (uint32_t s = 0; s < spec_.stages.size(); ++s) {
      MR_RETURN_IF_ERROR(PlanStage(s));
    }
    for (auto& stage : plan_.stages) {
      for (uint32_t& p : stage.port_partitions) p = std::max(p, 1u);
    }
    return std::move(plan_);
  }

 private:
  Status PlanStage(uint32_t s) {
    const StageSpec& stage = spec_.stages[s];
    StagePlan& plan = plan_.stages[s];
    MR_RETURN_IF_ERROR(AddSplits(stage, &plan));
    for (const InputSpec& input : stage.inputs) {
      // Broadcast inputs do not count: they are samples, headers or small tables.
      if (input.is_edge && input.kind != EdgeKind::kBroadcast) {
        plan.input_bytes += plan_.stages[input.stage].input_bytes;
      }
    }
    MR_RETURN_IF_ERROR(CountTasks(stage, &plan));
    if (plan.tasks > kMaxTasks) {
      return InvalidArgument("stage '" + stage.name + "' would have " + std::to_string(plan.tasks) +
                             " tasks, at most " + std::to_string(kMaxTasks) + " are possible; use larger splits");
    }
    for (const InputSpec& input : stage.inputs) {
      if (!input.is_edge || input.kind != EdgeKind::kAllToAll) continue;
      uint32_t& partitions = plan_.stages[input.stage].port_partitions[input.port];
      if (partitions != 0 && partitions != plan.tasks) {
        return InvalidArgument("stage '" + stage.name + "' has " + CountOf(plan.tasks, "task") + ", but port " +
                               std::to_string(input.port) + " of stage '" + spec_.stages[input.stage].name +
                               "' is already read in " + CountOf(partitions, "partition") +
                               "; give both readers the same tasks");
      }
      partitions = plan.tasks;
    }
    return Status::Ok();
  }

  struct Known {
    uint32_t number;  // in the plan
    uint64_t bytes;
  };
  // A file that several inputs or stages read is read in the version that was found first.
  const Known& Plan(const InputFile& file) {
    const auto [it, fresh] = known_.try_emplace(file.uri, Known{static_cast<uint32_t>(plan_.files.size()), file.bytes});
    if (fresh) plan_.files.push_back({file.id, file.version.mtime_ns, file.version.inode, file.version.device});
    return it->second;
  }

  Status AddSplits(const StageSpec& stage, StagePlan* plan) {
    for (uint32_t i = 0; i < stage.inputs.size(); ++i) {
      const InputSpec& input = stage.inputs[i];
      if (input.is_edge) continue;
      std::vector<InputFile> files;
      std::vector<Split> splits;
      uint64_t total = 0;
      for (const std::string& uri : input.files.uris) {
        MR_ASSIGN_OR_RETURN(auto some, FilesOf(uri, context_));
        for (InputFile& file : some) {
          file.bytes = Plan(file).bytes;
          MR_RETURN_IF_ERROR(CheckLength(file, input.files.format));
          if (files.size() < kFilesLookedAt) MR_RETURN_IF_ERROR(CheckContainerOf(file, input.files.format));
          total += file.bytes;
          files.push_back(std::move(file));
        }
      }
      plan->input_bytes += total;
      const uint64_t step = DefaultSplitBytes(total, context_.block_bytes);
      for (const InputFile& file : files) {
        for (Split& split : CutFile(file, i, input.files, step)) {
          split.file = Plan(file).number;
          splits.push_back(std::move(split));
        }
        if (splits.size() > kMaxSplits) break;
      }
      for (const Split& split : splits) split_bytes_ += split.uri.size() + kSplitBytes;
      if (splits.size() > kMaxSplits || split_bytes_ > kMaxPlanBytes) {
        return InvalidArgument("stage '" + stage.name + "' would read " + std::to_string(splits.size()) +
                               " splits, and all stages together more than the journal's record of a job can hold; "
                               "give fewer files, put small ones together, or use larger splits");
      }
      JoinSmallSplits(input.files.max_split_bytes != 0 ? input.files.max_split_bytes : step, &splits);
      std::move(splits.begin(), splits.end(), std::back_inserter(plan->splits));
    }
    return Status::Ok();
  }

  Status CountTasks(const StageSpec& stage, StagePlan* plan) {
    if (stage.reads_files()) {
      // No bytes at all still make one task, so that the job has its (empty) output.
      const auto joined =
          std::count_if(plan->splits.begin(), plan->splits.end(), [](const Split& s) { return s.joined(); });
      plan->tasks = std::max<uint32_t>(1, static_cast<uint32_t>(plan->splits.size() - static_cast<size_t>(joined)));
      return Status::Ok();
    }
    uint32_t fixed = 0, upstream_most = 0;
    for (const InputSpec& input : stage.inputs) {
      const uint32_t tasks = plan_.stages[input.stage].tasks;
      if (input.kind == EdgeKind::kManyToOne) upstream_most = std::max(upstream_most, tasks);
      if (input.kind != EdgeKind::kOneToOne) continue;
      if (fixed != 0 && fixed != tasks) {
        return InvalidArgument("stage '" + stage.name + "' reads one-to-one from stages of " + std::to_string(fixed) +
                               " and " + std::to_string(tasks) + " tasks");
      }
      fixed = tasks;
    }
    if (fixed == 0) fixed = stage.tasks;
    for (const InputSpec& input : stage.inputs) {
      // A port that another stage reads already: the same partitions.
      if (fixed != 0 || input.kind != EdgeKind::kAllToAll) continue;
      fixed = plan_.stages[input.stage].port_partitions[input.port];
    }
    if (fixed == 0) {
      const auto of = [plan](uint64_t bytes) { return plan->input_bytes / bytes + (plan->input_bytes % bytes != 0); };
      // One per slot, if each has enough to do; more if one would have too much.
      const uint64_t most = stage.task_bytes != 0 ? stage.task_bytes : kMostBytesOfATask;
      const uint64_t wanted =
          std::max(std::min<uint64_t>(of(kBytesPerTask), context_.total_slots), std::min(of(most), kMostByBytes));
      fixed = static_cast<uint32_t>(std::max<uint64_t>(1, wanted));
      if (upstream_most != 0) fixed = std::min(fixed, upstream_most);
    }
    plan->tasks = fixed;
    return Status::Ok();
  }

  const JobSpec& spec_;
  const PlanContext& context_;
  JobPlan plan_;
  uint64_t split_bytes_ = 0;                         // of all stages, as the journal has them
  std::map<std::string, Known, std::less<>> known_;  // by URI
};

}  // namespace

bool ReadsUrls(const JobSpec& spec) {
  return std::any_of(spec.stages.begin(), spec.stages.end(), [](const StageSpec& stage) {
    return std::any_of(stage.inputs.begin(), stage.inputs.end(), [](const InputSpec& input) {
      return std::any_of(input.files.uris.begin(), input.files.uris.end(), url::IsUrl);
    });
  });
}

void PostPlan(const PlanContext& context, bool reads_urls, const std::function<void(std::function<void()>)>& pool,
              std::function<void()> step) {
  if (reads_urls && context.urls != nullptr) return context.urls->Post(std::move(step));
  pool(std::move(step));
}

Result<std::vector<InputFile>> FilesOutside(const std::string& uri, const PlanContext& context) {
  if (!url::IsUrl(uri)) return ExpandFileUri(uri, context.roots);
  return context.urls == nullptr ? url::NoReader(uri) : context.urls->Expand(uri);
}

void MeasureOutside(const std::vector<std::pair<size_t, std::string>>& uris,
                    const std::function<Result<std::vector<InputFile>>(const std::string&)>& expand,
                    std::vector<std::optional<InputSize>>* sizes) {
  size_t urls = 0;
  bool answers = true;
  for (const auto& [i, uri] : uris) {
    const bool is_url = url::IsUrl(uri);
    if (is_url && (!answers || ++urls > kMostMeasuredUrls)) continue;
    const auto files = expand(uri);
    if (files.ok()) {
      (*sizes)[i] = SizeOf(*files);
    } else if (is_url) {
      answers = files.status().code() == Code::kNotFound || files.status().code() == Code::kNotAllowed;
    }
  }
}

Status CheckFileOutput(const std::string& uri, bool overwrite, const FileRoots& roots) {
  const std::string path = uri.substr(kFileScheme.size());
  MR_RETURN_IF_ERROR(roots.Check(path));
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode)) {
      return Rejected("output " + path + " exists and is not a directory; give another --output, or remove it");
    }
    MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(path));
    if (!names.empty() && !overwrite) {
      return Rejected("output " + path + " exists and is not empty; give another --output, or --overwrite");
    }
  }
  std::string parent = ParentOf(path);
  while (!PathExists(parent)) parent = ParentOf(parent);
  if (stat(parent.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Rejected("output " + path + " cannot be made: " + parent + " is not a directory");
  }
  return CanMakeDirectoryIn(parent).With("output " + path + " cannot be made");
}

uint64_t DefaultSplitBytes(uint64_t total, uint64_t block_bytes) {
  uint64_t step = block_bytes;
  while (step / 2 >= kMinSplitBytes && step / 2 * kSmallJobSplits >= total) step /= 2;
  return step;
}

std::vector<Split> CutFile(const InputFile& file, uint32_t input, const FileInput& source, uint64_t default_step) {
  std::vector<Split> splits;
  if (file.bytes == 0) return splits;
  uint64_t step = source.max_split_bytes != 0 ? source.max_split_bytes : default_step;
  // Splits end where blocks end, also within a record: its reader asks for the rest (worker/task/split_reader.h).
  // Splits of whole records would begin at the end of the block before theirs, and read nearly all of theirs piece by
  // piece.
  step = std::max<uint64_t>(RecordBytesOf(source.format), step);
  // gzip files and containers are read from their start only; of zstd files its frames may be read apart, and where
  // that cannot be, the split at 0 has all (worker/task/byte_stream.h).
  const bool from_start = CompressionOfName(file.uri) == Compression::kGzip || source.format == "record";
  if (from_start || file.whole) step = file.bytes;
  for (uint64_t at = 0; at < file.bytes; at += step) {
    splits.push_back({input, file.uri, at, std::min(step, file.bytes - at), file.bytes});
    if (splits.size() > kMaxSplits) break;  // too many: refused as a whole
  }
  return splits;
}

void JoinSmallSplits(uint64_t step, std::vector<Split>* splits) {
  if (splits->size() <= kManySplits) return;
  uint64_t bytes = 0, count = 0;
  for (size_t i = 0; i < splits->size(); ++i) {
    Split& split = (*splits)[i];
    const bool same =
        i > 0 && split.input == (*splits)[i - 1].input_index() && count < kMostJoined && bytes + split.length <= step;
    bytes = same ? bytes + split.length : split.length;
    count = same ? count + 1 : 1;
    if (same) split.input |= Split::kJoined;
  }
}

Result<JobPlan> PlanJob(const JobSpec& spec, const PlanContext& context) {
  if (spec.output_uri.starts_with("file://")) {
    MR_RETURN_IF_ERROR(CheckFileOutput(spec.output_uri, spec.overwrite, context.roots));
  }
  MR_ASSIGN_OR_RETURN(JobPlan plan, Planner(spec, context).Run());
  MR_RETURN_IF_ERROR(CheckInputsOutside(plan, spec.output_uri));
  return plan;
}

Status CheckInputsOutside(const JobPlan& plan, const std::string& output_uri) {
  for (const auto& stage : plan.stages) {
    for (const auto& split : stage.splits) {
      if (split.uri == output_uri || split.uri.starts_with(output_uri + "/")) {
        return Rejected("input " + split.uri + " lies in the output " + output_uri);
      }
    }
  }
  return Status::Ok();
}

}  // namespace mr::master
