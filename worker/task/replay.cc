#include "worker/task/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "common/io/files.h"
#include "worker/task/child.h"
#include "worker/task/crash.h"
#include "worker/task/crash_place.h"
#include "worker/task/link.h"
#include "worker/task/runner.h"

namespace mr::task {
namespace {

using Fields = nlohmann::json;

struct Unmap {
  void operator()(char* arena) const { munmap(arena, Bytes()); }
  static uint64_t Bytes() { return kProgressBytes + 2 * uint64_t{kSlotBytes}; }
};
using Arena = std::unique_ptr<char, Unmap>;

// The file with the chunks of one segment, each behind its length (8 bytes, of this machine).
struct SegmentFile {
  uint32_t input = 0, upstream = 0, partition = 0;
  std::string path;
};

// Files that get the chunks of some partitions. The others are dropped.
struct KeptOutput {
  std::string directory;  // empty: none
  std::set<uint32_t> partitions;
};

// The inputs and outputs of a replay beside WireTask.
struct ReplayFiles {
  std::vector<std::string> splits;  // paths
  std::vector<SegmentFile> segments;
  KeptOutput kept;
};

// A link without a daemon at its other end.
class NoDaemon : public Link {
 public:
  explicit NoDaemon(char* arena) : Link(-1, arena, Unmap::Bytes()) {}
  void SetFiles(const ReplayFiles* files) { files_ = files; }
  Status SendOutput(uint32_t, uint32_t partition, uint32_t, std::string_view bytes) override {
    bytes_ += bytes.size();
    if (files_ == nullptr || !files_->kept.partitions.contains(partition)) return {};
    UniqueFd& out = kept_[partition];
    if (!out.valid()) {
      const std::string path = files_->kept.directory + "/" + std::to_string(partition);
      MR_ASSIGN_OR_RETURN(out, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
    }
    const uint64_t size = bytes.size();
    MR_RETURN_IF_ERROR(WriteAll(out.get(), {reinterpret_cast<const char*>(&size), sizeof size}));
    return WriteAll(out.get(), bytes);
  }
  Result<std::string> ReadMore(uint32_t, uint64_t offset, uint32_t) override {
    return Unavailable("the replay file has no input bytes at offset " + std::to_string(offset));
  }
  Status WaitUntil(const std::function<bool()>& ready) override {
    while (!ready()) {
      if (files_ == nullptr || next_ == files_->segments.size()) {
        return Unavailable("the attempt waits for the output of other tasks, which this replay does not have");
      }
      MR_RETURN_IF_ERROR(Feed(files_->segments[next_++]));
    }
    return {};
  }
  Status Poll() override { return {}; }
  uint64_t bytes() const { return bytes_; }

 private:
  // Gives the whole segment to the runner, which keeps it in memory or in its spill file.
  Status Feed(const SegmentFile& segment) {
    const auto give = [&](std::string chunk, bool last) {
      return on_input_(segment.input, segment.upstream, segment.partition, std::move(chunk), last);
    };
    auto opened = OpenFile(segment.path, O_RDONLY);
    if (opened.status().code() == Code::kNotFound) return give("", true);  // the task had nothing for it
    MR_ASSIGN_OR_RETURN(const UniqueFd file, std::move(opened));
    MR_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(segment.path));
    for (uint64_t at = 0; at < bytes;) {
      uint64_t size = 0;
      MR_RETURN_IF_ERROR(Read(file.get(), at, &size, sizeof size));
      at += sizeof size;
      if (size > bytes - at) return Corrupted(segment.path + " is cut");
      std::string chunk(size, '\0');
      MR_RETURN_IF_ERROR(Read(file.get(), at, chunk.data(), size));
      at += size;
      MR_RETURN_IF_ERROR(give(std::move(chunk), false));
    }
    return give("", true);
  }
  static Status Read(int fd, uint64_t at, void* out, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t n = pread(fd, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return ErrnoStatus(n < 0 ? errno : EIO, "cannot read the output of a task");
      done += static_cast<uint64_t>(n);
    }
    return {};
  }

  const ReplayFiles* files_ = nullptr;
  size_t next_ = 0;                    // of the segments
  std::map<uint32_t, UniqueFd> kept_;  // by partition
  uint64_t bytes_ = 0;
};

void ReadEdges(const Fields& in, WireTask* task, ReplayFiles* files) {
  for (const Fields& e : in.at("edges")) {
    WireEdge edge;
    edge.input = e.at("input");
    edge.grouped = e.at("grouped");
    edge.broadcast = e.at("broadcast");
    edge.quotes = e.at("quotes");
    edge.format = e.at("format");
    edge.written = e.at("written");
    edge.file = e.at("file");
    edge.sample_bytes = e.at("sample_bytes");
    for (const Fields& s : e.at("segments")) {
      files->segments.push_back({edge.input, s.at("upstream"), s.at("partition"), s.at("path")});
      ++edge.segments;
    }
    task->edges.push_back(std::move(edge));
  }
  files->kept.directory = in.at("keep_directory");
  for (const Fields& partition : in.at("keep_partitions")) files->kept.partitions.insert(partition.get<uint32_t>());
}

WireTask ReadTask(const Fields& in, ReplayFiles* files) {
  WireTask task;
  const auto attempt = ParseAttemptId(in.at("attempt").get<std::string>());
  if (!attempt.has_value()) throw std::invalid_argument("'attempt' is not the name of an attempt");
  task.attempt = *attempt;
  task.stage_name = in.at("stage_name");
  task.job_name = in.at("job_name");
  task.submitted_unix_ms = in.value("submitted_unix_ms", uint64_t{0});
  task.tasks = in.at("tasks");
  task.library_path = in.at("library");
  task.operator_name = in.at("operator");
  task.operator_flags = in.at("flags");
  for (const int byte : in.at("config")) task.config += static_cast<char>(byte);
  task.inputs = in.at("inputs");
  for (const Fields& s : in.at("splits")) {
    task.splits.push_back({s.at("input"), s.at("name"), s.at("format"), s.at("offset"), s.at("length"),
                           s.at("file_bytes"), s.at("sample_bytes"), s.at("path_offset"), s.at("path_length")});
    files->splits.push_back(s.at("path"));
  }
  for (const Fields& p : in.at("ports")) {
    WirePort port;
    port.files = p.at("files");
    port.format = p.at("format");
    port.partitions = p.at("partitions");
    port.sorted = p.at("sorted");
    port.combine = p.at("combine");
    port.custom_partition = p.at("custom_partition");
    task.ports.push_back(std::move(port));
  }
  for (const auto& [name, value] : in.at("env").items()) task.env.push_back({name, value});
  task.sort_buffer_bytes = in.at("sort_buffer_bytes");
  task.memory_bytes = in.at("memory_bytes");
  task.partition_seed = in.at("partition_seed");
  task.max_bad_records = in.at("max_bad_records");
  task.files_directory = in.at("files_directory");
  task.scratch_directory = in.at("scratch");
  ReadEdges(in, &task, files);
  return task;
}

Fields ResultJson(const WireResult& result, uint64_t bytes) {
  Fields counters = Fields::array();
  for (const WireCounter& c : result.counters)
    counters.push_back({{"group", c.group}, {"name", c.name}, {"value", c.value}});
  return {{"done", result.outcome == Outcome::kDone}, {"message", result.message},         {"record", result.record},
          {"records_in", result.records_in},          {"records_out", result.records_out}, {"output_bytes", bytes},
          {"ran_us", result.ran.ns / 1000},           {"counters", std::move(counters)}};
}

// Returns the result of an attempt whose process ended without one.
WireResult ResultOfDead(int status, const ProgressPage& page) {
  WireResult result;
  result.outcome = Outcome::kUser;
  result.record = CrashPlace(page);
  result.records_in = RecordsBegun(page);
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    result.message = "the operator's process died of signal " + std::to_string(WTERMSIG(status)) + " (SIG" +
                     (name != nullptr ? name : "?") + "); its stack is above, and --gdb stops there";
  } else {
    result.message = "the operator ended its process (exit " + std::to_string(WEXITSTATUS(status)) + ")";
  }
  return result;
}

void PrintResult(int out, const WireResult& result, uint64_t bytes) {
  dprintf(out, "%s\n", ResultJson(result, bytes).dump(-1, ' ', false, Fields::error_handler_t::replace).c_str());
}

}  // namespace

int ReplayMain(const std::string& file, bool watched) {
  WireTask task;
  ReplayFiles files;
  std::vector<UniqueFd> fds;
  try {
    const auto text = ReadFile(file);
    if (!text.ok()) throw std::invalid_argument(text.status().message());
    task = ReadTask(Fields::parse(*text), &files);
    for (const std::string& path : files.splits) {
      auto fd = OpenFile(path, O_RDONLY);
      if (!fd.ok()) throw std::invalid_argument(fd.status().message());
      fds.push_back(*std::move(fd));
    }
  } catch (const std::exception& error) {
    fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
    return 2;
  }
  const int out = dup(1);
  dup2(2, 1);
  void* mapped = mmap(nullptr, Unmap::Bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (out < 0 || mapped == MAP_FAILED) {
    fprintf(stderr, "cannot set up the replay of a task\n");
    return 2;
  }
  const Arena arena(static_cast<char*>(mapped));
  NoDaemon link(arena.get());
  link.SetFiles(&files);
  WarmUpBacktrace();
  int answered[2] = {-1, -1};  // a byte comes with the result
  const pid_t watcher = getpid();
  const pid_t child = watched && pipe2(answered, O_CLOEXEC) == 0 ? fork() : 0;
  if (child > 0) {
    close(answered[1]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    char byte = 0;
    if (read(answered[0], &byte, 1) == 1) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    PrintResult(out, ResultOfDead(status, *link.page()), 0);
    return 1;
  }
  if (answered[1] >= 0) {
    // An operator does not run on when its watcher has been killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != watcher) _exit(1);
  }
  ReportCrashes(link.page());
  PrepareTask(task);
  WireResult result;
  try {
    result = Runner(task, std::move(fds), &link).Run();
  } catch (const std::exception& e) {
    result.outcome = Outcome::kUser;
    result.message = std::string("the task threw an exception: ") + e.what();
  }
  fflush(stdout);
  PrintResult(out, result, link.bytes());
  if (answered[1] >= 0) (void)!write(answered[1], "r", 1);
  _exit(result.outcome == Outcome::kDone ? 0 : 1);  // not through destructors of the library
}

}  // namespace mr::task
