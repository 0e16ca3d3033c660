// mrworker: runs attempts of jobs for one master. This file has only flags, files and signals; daemon.h has the daemon.
// The order matters: the task host's helper is forked before there is any thread.
#include <fcntl.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/base/version.h"
#include "common/exec/service_manager.h"
#include "common/io/clock.h"
#include "common/io/daemon_data.h"
#include "common/io/descriptors.h"
#include "common/io/files.h"
#include "common/io/flag_help.h"
#include "common/io/installed_files.h"
#include "common/io/ledger.h"
#include "common/io/private_memory.h"
#include "common/rpc/authenticator.h"
#include "common/rpc/connection.h"
#include "common/secure/cluster_files.h"
#include "common/secure/names.h"
#include "worker/daemon/daemon.h"
#include "worker/daemon/private_data.h"
#include "worker/daemon/stop.h"
#include "worker/host/memory_share.h"

DEFINE_string(master, "", "HOST:PORT of the master, or unix:PATH");
DEFINE_string(data, "", "directory of this worker: blocks, shuffle, libraries, logs");
DEFINE_string(name, "",
              "name of this worker, which mrctl takes in place of its id: 1 to 56 letters, digits, '.', '_', '-', "
              "beginning with a letter or a digit; unique in the cluster, and kept in --data. Default: random digits");
DEFINE_string(bind, "127.0.0.1", "address to listen on; without certificates one of this machine only");
DEFINE_string(
    http_bind, "127.0.0.1",
    "address to listen on for HTTP; without a certificate (--join) one of this machine only. With one it speaks "
    "TLS only");
DEFINE_string(secret_dir, "",
              "directory of secrets: that of the master is read there, that of this worker is written; without this "
              "flag: $MR_SECRET_DIR, or paceline/daemons below $XDG_STATE_HOME or ~/.local/state");
DEFINE_int32(secret_fd, -1, "read the secret of all daemons of the cluster from this descriptor instead");
DEFINE_bool(insecure, false,
            "let anybody connect, and listen on any address: whoever reaches a port can read and change its data; for "
            "test networks only");
DEFINE_string(
    join, "",
    "join file of mrctl cluster init or mrctl token create --join, or - for standard input: get a certificate "
    "from the master that it names. Later starts need it no more, and no --master");
DEFINE_string(advertise, "", "host at which other workers reach this one; default: --bind");
DEFINE_int32(port, 7071, "RPC port; 0 = any");
DEFINE_int32(http_port, 7081, "HTTP port (/healthz, /readyz, /metrics); 0 = any");
DEFINE_int32(slots, 0, "attempts that run at once, 1 to 10000; without this flag: one per core");
DEFINE_int32(map_slots, 0, "most map attempts (they read files, or nothing) that run at once; 0 = --slots");
DEFINE_int32(reduce_slots, 0, "most reduce attempts (they read other stages) that run at once; 0 = --slots");
DEFINE_string(rack, "", "name of this machine's rack, for placement of blocks and tasks");
DEFINE_string(label, "", "labels of this worker: at most 64 comma-separated k=v pairs");
DEFINE_int32(task_processes, 1024, "processes and threads that an attempt may have, at least 16; 0 = no limit");
DEFINE_int32(task_open_files, 4096,
             "descriptors that each process of an attempt may have open, at least 256; 0 = the limit of mrworker");
DEFINE_string(task_file_bytes, "1t", "largest file that an attempt may write; 0 = no limit");
DEFINE_int32(tier, -1,
             "tier of the rooms of tasks: 0 (filter of system calls), 1 (also rules about files), 2 (also users and "
             "control groups; needs --task_uids) or 3 (also namespaces); refuse to start where this machine cannot "
             "give it; -1: the best that it gives");
DEFINE_string(task_uids, "",
              "range FIRST-LAST of users of this machine, used by nothing else, for the tasks of this worker: each "
              "owner of jobs gets one; no range: no tier above 1");
DEFINE_string(cgroup_root, "",
              "control group below which those of tasks are made, such as /paceline; default: that of this process");
DEFINE_string(task_scratch_bytes, "",
              "bytes that the attempts of a job may have in their scratch directory; 0 = no limit; default: at tier 2 "
              "and above half of what is free at the start, else no limit");
DEFINE_string(memory, "0",
              "memory that the attempts of this worker may use together, such as 8g; 0: that of this machine or of the "
              "control group of this process, less a reserve, divided by the number of workers that share it");
DEFINE_string(task_memory_bytes, "0",
              "memory of an attempt whose job has no --memory; 0: --memory divided by --slots; none: no limit");
DEFINE_bool(allow_tier0, false,
            "run tasks in rooms of tier 0 although --bind is not loopback: they may read each other's files");
DEFINE_string(file_roots, "",
              "directories, separated by commas, below which jobs may read and write file:// paths; any; none. Without "
              "this flag: any where only this user can connect (loopback, no certificates), else none");
DEFINE_string(url_roots, "",
              "URLs, separated by commas, below which jobs may read http://, https:// and s3:// inputs; any; none; the "
              "master and the other workers need the same");
DEFINE_string(url_ca, "",
              "file with the certificates (PEM) of authorities that servers of https:// inputs are checked with; "
              "without this flag: $SSL_CERT_FILE, or those of the system");
DEFINE_string(s3_endpoint, "",
              "URL of the server of s3:// inputs, such as http://minio:9000; without this flag: $AWS_ENDPOINT_URL_S3, "
              "$AWS_ENDPOINT_URL, or that of --s3_region at AWS");
DEFINE_string(s3_region, "",
              "region of s3:// inputs; without this flag: $AWS_REGION, $AWS_DEFAULT_REGION or us-east-1");
DEFINE_string(s3_keys, "",
              "file, readable by this user only, with the lines aws_access_key_id = ID and aws_secret_access_key = KEY "
              "for s3:// inputs, read at each use; without this flag: $AWS_ACCESS_KEY_ID, $AWS_SECRET_ACCESS_KEY and "
              "$AWS_SESSION_TOKEN; without these: requests are not signed");
DEFINE_string(task_paths, "",
              "comma-separated absolute paths that tasks of tier 1 may read, beside the system's commands and "
              "libraries; PATH:rw: also write");
DEFINE_bool(own_rights, false,
            "on loopback: tasks may use all files of this worker's user, as with mrctl submit --local");
DEFINE_string(lib_bytes, "8g",
              "total size of operator libraries and side files to keep; the oldest are removed first, but none that an "
              "unfinished job needs");
DEFINE_string(lib_age, "30d", "remove operator libraries and side files this long after they were fetched");
DEFINE_string(log_bytes, "1g", "total size of attempt logs to keep; the oldest are removed first");
DEFINE_string(
    owner_log_bytes, "512m",
    "total size of attempt logs to keep of the jobs of one user; the oldest of that user are removed first; 0: "
    "no limit");
DEFINE_string(log_age, "7d", "remove attempt logs that were not written to for this time");
DEFINE_string(
    min_free, "",
    "take neither blocks nor attempts while less than this is free on the disk of --data, such as 20g; 0 = no "
    "limit; default: the smaller of 5 % of the disk and 10 GiB");
DEFINE_string(shuffle_codec, "auto",
              "compression of shuffle outputs: none; zstd; auto: zstd where it takes less time than the link "
              "(--link_gbits) would need for the bytes that it saves");
DEFINE_double(link_gbits, 10, "speed of this machine's network link in Gbit/s, which the slots share");
DEFINE_bool(direct_io, true,
            "write large blocks past the page cache; false: for slow disks with files that are read soon");
DEFINE_bool(ledger, false,
            "count the bytes that each place of the data path copies, checks, compresses, writes or reads: as job "
            "counters of the group ledger, and in /metrics");
DEFINE_string(housekeeping, "1m", "time between two checks of the sizes and ages of libraries and logs");
DEFINE_string(idle_timeout, "1h", "close data connections without a message for this time");
DEFINE_string(send_timeout, "30s",
              "close connections that do not take their data within this time, plus 1s per 64 KiB");
DEFINE_int32(ready_fd, -1, "when serving, write \"ready RPC_PORT HTTP_PORT\" to this descriptor");
DEFINE_int32(lifeline_fd, -1, "stop at once when this descriptor reaches its end");
DEFINE_bool(
    ephemeral, false,
    "with --lifeline_fd: remove --data when stopped by it; other workers do not count this one when they divide "
    "the machine's memory");

DECLARE_bool(help);  // of gflags

// Not in gflags.h. Without it gflags exits with 1 for a wrong flag; a usage error exits with 2.
namespace GFLAGS_NAMESPACE {
extern void (*gflags_exitfunc)(int);
}

namespace mr::worker {
namespace {

constexpr Duration kDrainGrace = Seconds(10);
// Lowest limits: smaller ones would break a shell with a pipe, or mrtask itself (guesses).
constexpr int kLeastProcesses = 16, kLeastOpenFiles = 256;
constexpr uint64_t kLeastMemory = 64ull << 20;  // for each slot
constexpr int kMaxSlots = 10'000;               // the master's limit
constexpr const char* kUsage = "mrworker --master HOST:PORT --data DIR [flags]: a worker of a Paceline cluster";

void ParseFlags(int* argc, char*** argv) {
  gflags::SetVersionString(kVersion);
  gflags::SetUsageMessage(kUsage);
  GFLAGS_NAMESPACE::gflags_exitfunc = [](int) { ::_exit(2); };
  gflags::ParseCommandLineNonHelpFlags(argc, argv, true);
  GFLAGS_NAMESPACE::gflags_exitfunc = [](int) { ::exit(0); };
  if (FLAGS_help) {
    std::vector<gflags::CommandLineFlagInfo> flags;
    gflags::GetAllFlags(&flags);
    std::fputs(FlagHelp(kUsage, "mrworker_main.cc", flags).c_str(), stdout);
    ::exit(0);
  }
  gflags::HandleCommandLineHelpFlags();
}

std::string BinaryDirectory() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return ".";
  const std::string text(path, static_cast<size_t>(n));
  return text.substr(0, text.rfind('/'));
}

int Usage(const std::string& why) {
  std::fprintf(stderr, "mrworker: %s\nusage: mrworker --master HOST:PORT --data DIR [--slots N ...]; see --help\n",
               why.c_str());
  return 2;
}

// Exit code of a worker that cannot start: 2 usage, 3 refused, 6 not allowed, 7 a named file is missing, 70 any other
// error.
int ExitOf(const Status& status) {
  return status.code() == Code::kInvalidArgument ? 2
         : status.code() == Code::kRejected      ? 3
         : status.code() == Code::kNotAllowed    ? 6
         : status.code() == Code::kNotFound      ? 7
                                                 : 70;
}
// 5: mrtask is of another build.
// A missing mrtask may be there again soon, such as during an upgrade: systemd starts the worker again.
int ExitOfHost(const Status& status) {
  return status.code() == Code::kRejected ? 5 : status.code() == Code::kNotFound ? 70 : ExitOf(status);
}

bool PortOk(int port) { return port >= 0 && port <= 65535; }

// Reads --tier, --task_paths and --own_rights. Errors: kInvalidArgument.
Result<task::RoomOptions> RoomsFromFlags() {
  task::RoomOptions rooms;
  if (FLAGS_tier < task::kBestTier || FLAGS_tier > task::kHighestTier) {
    return InvalidArgument("--tier is 0 to " + std::to_string(task::kHighestTier) + ", or -1 for the best");
  }
  if (FLAGS_own_rights && FLAGS_tier > 0) return InvalidArgument("--own_rights has no tier above 0");
  if (FLAGS_tier >= 2 && FLAGS_task_uids.empty()) {
    return InvalidArgument("--tier " + std::to_string(FLAGS_tier) + " needs --task_uids");
  }
  if (!FLAGS_cgroup_root.empty() && !FLAGS_cgroup_root.starts_with('/')) {
    return InvalidArgument("--cgroup_root: '" + FLAGS_cgroup_root + "' does not begin with /");
  }
  rooms.tier = FLAGS_own_rights ? 0 : FLAGS_tier;
  rooms.own_rights = FLAGS_own_rights;
  for (const std::string& entry : SplitAtCommas(FLAGS_task_paths)) {
    constexpr std::string_view kWritable = ":rw";
    const bool write = entry.ends_with(kWritable);
    const std::string path = entry.substr(0, entry.size() - (write ? kWritable.size() : 0));
    if (!path.starts_with('/')) return InvalidArgument("--task_paths: '" + path + "' is no absolute path");
    if (!PathExists(path)) return InvalidArgument("--task_paths: " + path + " does not exist");
    rooms.paths.push_back({path, write});
  }
  return rooms;
}

bool IsLoopback(const std::string& host) { return rpc::CheckBind("--bind", host, /*insecure=*/false).ok(); }

// Checks the rooms against the address. Code of users that can reach the files of this worker's user runs only where
// nobody else can send it, or where the operator allows it.
Status CheckRoomsForBind(const RoomReport& room) {
  if (room.tier > 0 || FLAGS_allow_tier0 || IsLoopback(FLAGS_bind)) return Status::Ok();
  return Rejected("tasks get rooms of tier 0 only (" + (room.why.empty() ? "--tier 0" : room.why) + "), and --bind " +
                  FLAGS_bind +
                  " is not loopback: tasks could read and write all files of this worker's user. Start it "
                  "on a kernel with Landlock (5.13 or later), or with --allow_tier0 where all who submit jobs are "
                  "trusted");
}

// Tasks may not read what another flag protects.
void WarnOfTaskPaths(const task::RoomOptions& rooms, const std::string& data) {
  for (const task::RoomPath& path : rooms.paths) {
    if ((data + "/").starts_with(path.path.ends_with('/') ? path.path : path.path + "/")) {
      LOG(WARNING) << "--task_paths " << path.path << " contains --data: tasks can read each other's files and blocks";
    }
  }
}

// Sets MR_LABEL_RACK_UNIT=7 for operators, for a label rack_unit=7. Requires: there is no other thread.
void ExportLabel(const std::string& label) {
  const size_t equals = label.find('=');
  std::string name = "MR_LABEL_" + label.substr(0, equals);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!kept) c = '_';
  }
  ::setenv(name.c_str(), label.c_str() + equals + 1, 1);
}

bool Given(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

std::string WrongSlots() {
  if (FLAGS_slots < 0 || FLAGS_slots > kMaxSlots || (FLAGS_slots == 0 && Given("slots"))) {
    return "--slots is 1 to " + std::to_string(kMaxSlots) + "; the default is one per core";
  }
  const int most = FLAGS_slots > 0 ? FLAGS_slots : kMaxSlots;
  if (FLAGS_map_slots < 0 || FLAGS_map_slots > most || FLAGS_reduce_slots < 0 || FLAGS_reduce_slots > most) {
    return "--map_slots and --reduce_slots are 0 (no limit but --slots) to --slots";
  }
  return "";
}

uint32_t Slots() {
  return FLAGS_slots > 0 ? static_cast<uint32_t>(FLAGS_slots) : std::max(1u, std::thread::hardware_concurrency());
}

void SayReady(const Daemon& daemon) {
  if (FLAGS_ready_fd < 0) return;
  const std::string line = "ready " + std::to_string(daemon.port()) + " " + std::to_string(daemon.http_port()) + "\n";
  const Status said = WriteAll(FLAGS_ready_fd, line);
  LOG_IF(WARNING, !said.ok()) << "cannot report on --ready_fd that this worker is ready: " << said.ToString();
  ::close(FLAGS_ready_fd);
}

// Parses a size. 0 means no limit, and needs no unit.
Result<uint64_t> ParseLimit(const std::string& text) {
  if (text == "0") return uint64_t{0};
  return ParseSize(text);
}

int Main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  ParseFlags(&argc, &argv);
  if (!FLAGS_log_dir.empty()) {
    FLAGS_logtostderr = false;
    if (const Status made = MakeDirectories(FLAGS_log_dir); !made.ok()) {
      return Usage("--log_dir: " + made.message());
    }
  }
  if (argc > 1) return Usage(std::string("unexpected argument '") + argv[1] + "'");
  if (FLAGS_data.empty()) return Usage("--data is missing");
  if (const Status name = secure::CheckChosenWorker(FLAGS_name); !FLAGS_name.empty() && !name.ok()) {
    return Usage("--name: " + name.message());
  }
  // A joined worker has kept the address of its master.
  const bool certified = !FLAGS_join.empty() || PathExists(secure::CredentialsPath(FLAGS_data));
  if (FLAGS_master.empty() && !certified) return Usage("--master is missing");
  if (const Status parsed = rpc::CheckAddress(FLAGS_master); !FLAGS_master.empty() && !parsed.ok())
    return Usage("--master: " + parsed.message());
  if (certified && FLAGS_insecure) return Usage("a worker with certificates takes no --insecure");
  if (!PortOk(FLAGS_port) || !PortOk(FLAGS_http_port)) return Usage("a port is 0 to 65535");
  if (const std::string wrong = WrongSlots(); !wrong.empty()) return Usage(wrong);
  if (FLAGS_task_processes != 0 && FLAGS_task_processes < kLeastProcesses) {
    return Usage("--task_processes is 0 (no limit) or at least " + std::to_string(kLeastProcesses));
  }
  if (FLAGS_task_open_files != 0 && FLAGS_task_open_files < kLeastOpenFiles) {
    return Usage("--task_open_files is 0 (as this process) or at least " + std::to_string(kLeastOpenFiles));
  }
  const auto file_bytes = ParseLimit(FLAGS_task_file_bytes);
  if (!file_bytes.ok()) return Usage("--task_file_bytes: " + file_bytes.status().message());
  const std::vector<std::string> labels = SplitAtCommas(FLAGS_label);
  if (labels.size() > 64) return Usage("--label: a worker has at most 64 labels");
  for (const std::string& label : labels) {
    if (label.find('=') == 0 || label.find('=') == std::string::npos) {
      return Usage("--label '" + label + "' is not a k=v pair; write --label disk=ssd,zone=b");
    }
    if (label.size() > 256) return Usage("--label: a label has at most 256 bytes");
    ExportLabel(label);
  }
  const auto idle = ParseDuration(FLAGS_idle_timeout);
  if (!idle.ok() || idle->ns <= 0) return Usage("--idle_timeout is a duration, such as 1h");
  const auto send = ParseDuration(FLAGS_send_timeout);
  if (!send.ok() || send->ns <= 0) return Usage("--send_timeout is a duration, such as 30s");
  const auto housekeeping = ParseDuration(FLAGS_housekeeping);
  if (!housekeeping.ok() || housekeeping->ns <= 0) return Usage("--housekeeping is a duration above 0, such as 1m");
  std::optional<uint64_t> min_free;
  if (!FLAGS_min_free.empty()) {
    const auto bytes = ParseLimit(FLAGS_min_free);
    if (!bytes.ok()) return Usage("--min_free: " + bytes.status().message());
    min_free = *bytes;
  }
  const auto choice = ParseCodecChoice(FLAGS_shuffle_codec);
  if (!choice.ok()) return Usage("--shuffle_codec: " + choice.status().message());
  if (!(FLAGS_link_gbits > 0)) return Usage("--link_gbits is a speed in Gbit/s above 0, such as 10");
  const CodecPolicy codec{*choice, FLAGS_link_gbits * 1e9 / 8 / Slots()};
  RetentionLimits libraries, logs;
  for (const auto& [limits, bytes, age] : {std::tuple(&libraries, &FLAGS_lib_bytes, &FLAGS_lib_age),
                                           std::tuple(&logs, &FLAGS_log_bytes, &FLAGS_log_age)}) {
    const auto most = ParseSize(*bytes);
    const auto oldest = ParseDuration(*age);
    if (!most.ok()) return Usage(most.status().message());
    if (!oldest.ok()) return Usage(oldest.status().message());
    *limits = {*most, *oldest};
  }
  const auto owner_log_bytes = ParseLimit(FLAGS_owner_log_bytes);
  if (!owner_log_bytes.ok()) return Usage("--owner_log_bytes: " + owner_log_bytes.status().message());
  const auto rooms = RoomsFromFlags();
  if (!rooms.ok()) return Usage(rooms.status().message());
  Result<UserRange> task_users = UserRange{};
  if (!FLAGS_task_uids.empty()) task_users = UserRange::Parse(FLAGS_task_uids);
  if (!task_users.ok()) return Usage("--task_uids: " + task_users.status().message());
  std::optional<uint64_t> scratch_bytes;
  if (!FLAGS_task_scratch_bytes.empty()) {
    const auto bytes = ParseLimit(FLAGS_task_scratch_bytes);
    if (!bytes.ok()) return Usage("--task_scratch_bytes: " + bytes.status().message());
    scratch_bytes = *bytes;
  }
  const auto memory_bytes = ParseLimit(FLAGS_memory);
  if (!memory_bytes.ok()) return Usage("--memory: " + memory_bytes.status().message());
  if (*memory_bytes != 0 && *memory_bytes / Slots() < kLeastMemory) {
    return Usage("--memory is 0 (as found) or at least " + HumanBytes(kLeastMemory) + " for each slot; there " +
                 (Slots() == 1 ? "is " : "are ") + CountOf(Slots(), "slot"));
  }
  const auto task_memory = ParseLimit(FLAGS_task_memory_bytes == "none" ? "0" : FLAGS_task_memory_bytes);
  if (!task_memory.ok()) return Usage("--task_memory_bytes: " + task_memory.status().message());
  if (FLAGS_own_rights && !IsLoopback(FLAGS_bind)) return Usage("--own_rights needs a loopback --bind");
  KeepMemoryPrivate();
  ::signal(SIGPIPE, SIG_IGN);
  // These descriptors are for this process alone.
  for (const int fd : {FLAGS_ready_fd, FLAGS_lifeline_fd, FLAGS_secret_fd}) {
    if (fd >= 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }

  for (const auto& [flag, host] : {std::pair("--bind", &FLAGS_bind), std::pair("--http_bind", &FLAGS_http_bind)}) {
    const bool anywhere = FLAGS_insecure || certified;
    if (const Status open = rpc::CheckBind(flag, *host, anywhere); !open.ok()) return Usage(open.message());
  }
  if (const Status own = CheckWorkerData(FLAGS_data); !own.ok()) {
    std::fprintf(stderr, "mrworker: %s\n", own.message().c_str());
    return ExitOf(own);
  }
  const std::string bin = BinaryDirectory();
  // Absolute, because tasks have another current directory.
  const std::string data = std::filesystem::absolute(FLAGS_data).lexically_normal().string();
  (void)MakeDirectories(ParentOf(data));
  LOG_IF(INFO, MakePrivateData(data)) << data << " is closed to other users now";
  if (const Status made = MakeDirectories(data + "/scratch"); !made.ok()) {
    std::fprintf(stderr, "mrworker: %s\n", made.ToString().c_str());
    return ExitOf(made);
  }
  if (FLAGS_tier != 0 && FLAGS_tier != 1 && task_users->given()) {
    if (const Status closed = CloseToTaskUsers(data); !closed.ok()) {
      std::fprintf(stderr, "mrworker: %s\n", closed.ToString().c_str());
      return ExitOf(closed);
    }
  }
  TaskHostOptions host_options;
  host_options.mrtask_path = bin + "/mrtask";
  host_options.scratch_directory = data + "/scratch";
  host_options.data_directory = data;
  host_options.rooms = *rooms;
  host_options.task_users = *task_users;
  host_options.cgroup_root = FLAGS_cgroup_root;
  host_options.slots = Slots();
  host_options.ready_children = Slots();
  const std::shared_ptr<MemoryShare> memory =
      MemoryShare::Open({*memory_bytes, Slots(), FLAGS_cgroup_root, FLAGS_ephemeral});
  host_options.memory_bytes = memory->whole();
  if (*task_memory != 0) {
    host_options.default_memory = [bytes = *task_memory] { return bytes; };
  } else if (FLAGS_task_memory_bytes != "none") {
    host_options.default_memory = [memory] { return memory->PerAttempt(Now()); };
  }
  host_options.scratch_bytes = scratch_bytes;
  host_options.preload = BuiltinLibraryOf(bin);
  host_options.processes = static_cast<uint32_t>(FLAGS_task_processes);
  host_options.open_files = static_cast<uint64_t>(FLAGS_task_open_files);
  host_options.file_bytes = *file_bytes;
  host_options.on_fatal = [](const Status& why) {
    LOG(ERROR) << "this worker exits and must be started again: " << why.message();
    google::FlushLogFiles(google::GLOG_INFO);
    ::_exit(ExitOfHost(why));
  };
  host_options.on_stuck = [](const std::string& what) {
    LOG(WARNING) << "an attempt left a process that was killed and does not end; nothing waits for it any more: "
                 << what;
  };
  auto host = TaskHost::Start(host_options);
  if (!host.ok()) {
    std::fprintf(stderr, "mrworker: cannot start: %s\n", host.status().message().c_str());
    return ExitOfHost(host.status());
  }
  if (const Status enough = CheckRoomsForBind((*host)->room()); !enough.ok()) {
    std::fprintf(stderr, "mrworker: cannot start: %s\n", enough.message().c_str());
    return ExitOf(enough);
  }
  google::InitGoogleLogging(argv[0]);
  const RoomReport& room = (*host)->room();
  LOG(INFO) << "rooms of tier " << room.tier << " for tasks, Landlock "
            << (room.landlock_abi == 0 ? "not there" : "ABI " + std::to_string(room.landlock_abi))
            << (room.why.empty() ? "" : "; no higher tier: " + room.why);
  LOG(INFO) << HumanBytes(memory->Together(Now())) << " of memory for attempts (" << memory->source() << "), "
            << (host_options.default_memory ? HumanBytes(host_options.default_memory()) : "no limit")
            << " for each attempt of a job without --memory";
  WarnOfTaskPaths(*rooms, data);
  StopWaiter stop(FLAGS_lifeline_fd);

  Daemon::Options options;
  // After the start of the task host: its processes keep the limit that this process was given.
  options.descriptors = RaiseDescriptorLimit();
  options.libraries = libraries;
  options.logs = logs;
  options.owner_log_bytes = *owner_log_bytes;
  options.housekeeping = *housekeeping;
  options.min_free = min_free;
  options.codec = codec;
  Ledger::Enable(FLAGS_ledger);
  options.direct_io = FLAGS_direct_io;
  options.idle_timeout = *idle;
  options.send_timeout = *send;
  options.master = FLAGS_master;
  options.data = data;
  options.name = FLAGS_name;
  options.bind = FLAGS_bind;
  options.file_roots = FLAGS_file_roots;
  options.urls = {FLAGS_url_roots, FLAGS_url_ca, FLAGS_s3_endpoint, FLAGS_s3_region, FLAGS_s3_keys};
  options.advertise = FLAGS_advertise;
  options.port = static_cast<uint16_t>(FLAGS_port);
  options.http_port = static_cast<uint16_t>(FLAGS_http_port);
  options.http_bind = FLAGS_http_bind;
  options.join = FLAGS_join;
  // The secret is read from its descriptor after the start of the task host, whose processes must not have it.
  options.entry = {FLAGS_insecure, FLAGS_secret_fd, FLAGS_secret_dir, ""};
  options.slots.total = Slots();
  options.slots.map = static_cast<uint32_t>(FLAGS_map_slots);
  options.slots.reduce = static_cast<uint32_t>(FLAGS_reduce_slots);
  options.memory = memory;
  options.rack = FLAGS_rack;
  options.labels = labels;
  options.builtin_library = host_options.preload;
  auto daemon = Daemon::Start(std::move(options), *std::move(host));
  if (!daemon.ok()) {
    LOG(ERROR) << "cannot start: " << daemon.status().ToString();
    return ExitOf(daemon.status());
  }
  LOG(INFO) << "serving on port " << (*daemon)->port() << ", HTTP on " << (*daemon)->http_port();
  SayReady(**daemon);

  ServiceManager manager;
  manager.Ready("serving on port " + std::to_string((*daemon)->port()), {(*daemon)->loop()});
  const StopReason reason = stop.Wait();
  manager.Stopping();
  if (reason == StopReason::kSignal) {
    LOG(INFO) << "draining";
    const bool all = (*daemon)->Drain(kDrainGrace);
    LOG(INFO) << (all ? "drained" : "attempts that still ran after 10 s were killed");
  }
  (*daemon)->StopChildren();
  // Repeated, because a running thread may put a file into a directory that is being emptied.
  for (int i = 0; reason == StopReason::kLifeline && FLAGS_ephemeral && i < 3; ++i) {
    if (RemoveTree(data).ok()) break;
  }
  google::FlushLogFiles(google::GLOG_INFO);
  ::_exit(0);
}

}  // namespace
}  // namespace mr::worker

int main(int argc, char** argv) {
  mr::HoldStandardDescriptors();
  return mr::worker::Main(argc, argv);
}
