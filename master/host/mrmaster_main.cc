// mrmaster: one master in the foreground. Serves until SIGTERM or SIGINT, or until the lifeline ends.
#include <fcntl.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "common/base/version.h"
#include "common/exec/service_manager.h"
#include "common/io/daemon_data.h"
#include "common/io/descriptors.h"
#include "common/io/files.h"
#include "common/io/flag_help.h"
#include "common/io/huge_heap.h"
#include "common/io/private_memory.h"
#include "common/model/role_names.h"
#include "master/host/backup.h"
#include "master/host/master.h"
#include "master/sched/named_lists.h"

DEFINE_string(data, "", "directory of the journal and the libraries; created if it does not exist");
DEFINE_string(bind, "127.0.0.1",
              "address to listen on; without certificates in --data (mrctl cluster init) one of this machine only");
DEFINE_string(
    unix_socket, "",
    "path of a unix socket to listen on, too, in a directory that only this user can enter; its user and root "
    "may connect (mrctl --master unix:PATH)");
DEFINE_string(secret_dir, "",
              "directory for the secret with which this user's mrctl and workers connect; without this flag: "
              "$MR_SECRET_DIR, or paceline/daemons below $XDG_STATE_HOME or ~/.local/state");
DEFINE_int32(secret_fd, -1, "read the secret from this descriptor instead, and write no file");
DEFINE_bool(insecure, false,
            "let anybody connect, and listen on any address: whoever reaches a port can run commands on every worker; "
            "for test networks only");
DEFINE_string(advertise, "", "host at which others reach this master, as 'mrctl version' shows it; empty = --bind");
DEFINE_int32(port, 7070, "RPC port; 0 = any");
DEFINE_int32(http_port, 7080, "HTTP port; 0 = any");
DEFINE_string(http_bind, "127.0.0.1",
              "address to listen on for HTTP; without certificates in --data one of this machine only. With them it "
              "speaks TLS only. mrctl page lets a browser in");
DEFINE_string(file_roots, "",
              "directories, separated by commas, below which jobs may read and write file:// paths; any; none. Without "
              "this flag: any where only this user can connect (loopback, no certificates), else none");
DEFINE_string(url_roots, "",
              "URLs, separated by commas, below which jobs may read http://, https:// and s3:// inputs; any; none; the "
              "workers need the same");
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
DEFINE_string(
    http_hosts, "",
    "host names, separated by commas, by which browsers reach the HTTP port, beside those of this machine and "
    "--advertise; requests for other names are refused");
DEFINE_string(
    scheduler, mr::sched::kDefaultPolicies,
    "policies in order, separated by commas, each NAME or NAME(PARAMETER=VALUE,...); enabled=off switches one off; "
    "or the name of a list (mrctl schedulers)");
DEFINE_uint64(seed, 1, "seed of the policies' random choices");
DEFINE_int32(replication, 3, "replicas of a block, 1 to 16; fewer if there are fewer workers");
DEFINE_string(block_size, "64m", "size of a block, at least 4k; also of a split, unless the job sets another");
DEFINE_string(snapshot_bytes, "64m",
              "size of the journal after which a snapshot is made, at least 8k; the journal's directory stays below "
              "about four times this size");
DEFINE_string(fat_partition_bytes, "64m",
              "several tasks share a partition that is larger than this and than five times the median, if the job "
              "allows it; at least 1k");
DEFINE_string(side_effects_lease, "10s",
              "time after a worker's last contact with the master at which its attempts with side effects end, 1s to "
              "1h; those of a lost worker are started elsewhere 5s later");
DEFINE_string(input_wait, "10m",
              "time for which tasks wait for blocks of their input that no live worker has, 1s to 7d; their job fails "
              "then");
DEFINE_int32(ended_jobs, 10000, "number of ended jobs that 'mrctl jobs' lists; the oldest are forgotten first");
DEFINE_int32(open_jobs, 10000,
             "maximum number of unfinished jobs, including jobs in planning; further submits are refused");
DEFINE_int32(owner_jobs, 2000,
             "maximum number of unfinished jobs of one user, including jobs in planning; 0: no limit; administrators "
             "have none");
DEFINE_int32(owner_queued, 1000,
             "maximum number of jobs of one user that have not begun, including jobs in planning; 0: no limit");
DEFINE_string(owner_bytes, "0",
              "total size of the files of one user in the block store, without replicas, such as 500g; 0: no limit");
DEFINE_string(network_role, "admin",
              "role whose holders may submit jobs with --allow-network, besides admin: submitter, operator or admin");
DEFINE_string(owner_library_bytes, "2g",
              "total size of the operator libraries and side files of one user, such as 500m; the oldest that no "
              "unfinished job needs are removed first; 0: no limit; administrators have none");
DEFINE_string(lib_bytes, "8g",
              "total size of operator libraries and side files to keep; the oldest are removed first, but none that an "
              "unfinished job needs");
DEFINE_string(lib_age, "30d", "remove operator libraries and side files that no job has requested for this time");
DEFINE_string(log_bytes, "256m",
              "total size of the ends of logs that the master keeps of failed attempts and of workers that left; the "
              "oldest are removed first, those of failed attempts after others");
DEFINE_string(log_age, "7d", "remove these ends of logs after this time");
DEFINE_string(staging_age, "10m", "remove files that are left below /.staging this long after the end of their job");
DEFINE_string(idle_timeout, "1h",
              "close client connections without a message for this time, except those that watch a job");
DEFINE_string(send_timeout, "30s",
              "close connections that do not take their data within this time, plus 1s per 64 KiB");
DEFINE_int32(ready_fd, -1, "write 'ready RPC_PORT HTTP_PORT' to this descriptor when serving, and close it");
DEFINE_int32(lifeline_fd, -1, "stop when this descriptor (the read end of a pipe) reaches its end");
DEFINE_bool(ephemeral, false, "remove --data when the lifeline ends");
DEFINE_string(accept_loss, "",
              "start although the journal has lost records; the value is the number that the refused start printed; "
              "remove the flag afterwards");
DEFINE_bool(replay_check, false, "replay the journal in --data, print the digest of its state, and exit");
DEFINE_string(backup, "",
              "copy the state in --data to this new directory, also while a master uses it, check the copy, and exit; "
              "to restore it, start mrmaster with --data on a copy of it");
DEFINE_string(audit_bytes, "64m", "size of a file of the audit log after which the next one begins, at least 4k");
DEFINE_int32(audit_files, 10, "files of the audit log that are kept, at least 2; the oldest are removed first");
DEFINE_bool(audit_check, false,
            "check the audit log in --data, print the first line that was changed, added or removed, and exit: 0 if "
            "there is none, else 1");

DECLARE_bool(help);  // gflags' own

// A wrong flag must end the process with 2; gflags ends it with 1. Its header does not declare the hook.
namespace GFLAGS_NAMESPACE {
extern void (*gflags_exitfunc)(int);
}

namespace mr::master {
namespace {

constexpr const char* kUsage = "mrmaster --data DIR [flags]: the master of a Paceline cluster";

// Parses a size. 0 means no limit, and needs no unit.
Result<uint64_t> ParseLimit(const std::string& text) {
  if (text == "0") return uint64_t{0};
  return ParseSize(text);
}

void ParseFlags(int* argc, char*** argv) {
  gflags::SetVersionString(kVersion);
  gflags::SetUsageMessage(kUsage);
  GFLAGS_NAMESPACE::gflags_exitfunc = [](int) { _exit(2); };
  gflags::ParseCommandLineNonHelpFlags(argc, argv, true);
  GFLAGS_NAMESPACE::gflags_exitfunc = [](int) { exit(0); };
  if (FLAGS_help) {
    std::vector<gflags::CommandLineFlagInfo> flags;
    gflags::GetAllFlags(&flags);
    std::fputs(FlagHelp(kUsage, "mrmaster_main.cc", flags).c_str(), stdout);
    exit(0);
  }
  gflags::HandleCommandLineHelpFlags();
}

int Fail(const Status& status) {
  std::fprintf(stderr, "mrmaster: %s\n", status.ToString().c_str());
  return status.code() == Code::kInvalidArgument ? 2
         : status.code() == Code::kRejected      ? 3
         : status.code() == Code::kNotAllowed    ? 6
         : status.code() == Code::kNotFound      ? 7
                                                 : 70;
}

// Waits for a signal or the lifeline's end. Returns whether it was the lifeline.
bool WaitForEnd(const sigset_t& signals) {
  const UniqueFd signal_fd(signalfd(-1, &signals, SFD_CLOEXEC));
  pollfd fds[2] = {{signal_fd.get(), POLLIN, 0}, {FLAGS_lifeline_fd, POLLIN, 0}};
  while (true) {
    if (poll(fds, FLAGS_lifeline_fd >= 0 ? 2 : 1, -1) < 0) continue;
    if (fds[0].revents != 0) return false;
    char byte;
    if (FLAGS_lifeline_fd >= 0 && fds[1].revents != 0 && read(FLAGS_lifeline_fd, &byte, 1) <= 0) return true;
  }
}

int Main() {
  // Before any thread starts: all threads inherit the mask, so the signals arrive at the descriptor only.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  KeepMemoryPrivate();

  for (const int fd : {FLAGS_ready_fd, FLAGS_lifeline_fd, FLAGS_secret_fd}) {
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);  // for this process alone
  }
  if (FLAGS_data.empty()) return Fail(InvalidArgument("--data DIR is needed"));
  if (const Status own = CheckMasterData(FLAGS_data); !own.ok()) return Fail(own);
  if (FLAGS_replay_check) {
    const auto digest = ReplayedDigest(FLAGS_data);
    if (!digest.ok()) return Fail(digest.status());
    std::printf("%016llx\n", static_cast<unsigned long long>(*digest));
    return 0;
  }
  if (!FLAGS_backup.empty()) {
    const auto made = MakeBackup(FLAGS_data, FLAGS_backup);
    if (!made.ok()) return Fail(made.status());
    std::printf("%s: %s, up to record %llu of epoch %u; the copy was checked by a replay\n", FLAGS_backup.c_str(),
                HumanBytes(made->bytes).c_str(), static_cast<unsigned long long>(made->records), made->epoch);
    return 0;
  }
  if (FLAGS_audit_check) {
    const auto whole = CheckedAudit(FLAGS_data);
    if (!whole.ok()) {
      std::fprintf(stderr, "mrmaster: %s\n", whole.status().message().c_str());
      return 1;
    }
    std::printf("%s\n", whole->c_str());
    return 0;
  }
  const auto audit_bytes = ParseSize(FLAGS_audit_bytes);
  if (!audit_bytes.ok()) return Fail(audit_bytes.status().With("--audit_bytes"));
  if (*audit_bytes < 4096) return Fail(InvalidArgument("--audit_bytes must be at least 4k"));
  if (FLAGS_audit_files < 2) return Fail(InvalidArgument("--audit_files must be at least 2"));
  const auto block = ParseSize(FLAGS_block_size);
  if (!block.ok()) return Fail(block.status().With("--block_size"));
  if (*block < 4096) return Fail(InvalidArgument("--block_size must be at least 4k"));
  const auto snapshot = ParseSize(FLAGS_snapshot_bytes);
  if (!snapshot.ok()) return Fail(snapshot.status().With("--snapshot_bytes"));
  if (*snapshot < 8192) return Fail(InvalidArgument("--snapshot_bytes must be at least 8k"));
  const auto fat = ParseSize(FLAGS_fat_partition_bytes);
  if (!fat.ok()) return Fail(fat.status().With("--fat_partition_bytes"));
  if (*fat < 1024) return Fail(InvalidArgument("--fat_partition_bytes must be at least 1k"));
  if (FLAGS_ended_jobs < 1) return Fail(InvalidArgument("--ended_jobs must be at least 1"));
  if (FLAGS_port < 0 || FLAGS_port > 65535 || FLAGS_http_port < 0 || FLAGS_http_port > 65535) {
    return Fail(InvalidArgument("ports are 0 to 65535"));
  }
  if (FLAGS_replication < 1 || FLAGS_replication > 16) return Fail(InvalidArgument("--replication is 1 to 16"));
  const auto lease = ParseDuration(FLAGS_side_effects_lease);
  if (!lease.ok()) return Fail(lease.status().With("--side_effects_lease"));
  if (*lease < Seconds(1) || *lease > Seconds(3600)) return Fail(InvalidArgument("--side_effects_lease is 1s to 1h"));
  const auto input_wait = ParseDuration(FLAGS_input_wait);
  if (!input_wait.ok()) return Fail(input_wait.status().With("--input_wait"));
  if (*input_wait < Seconds(1) || *input_wait > Seconds(7 * 86400))
    return Fail(InvalidArgument("--input_wait is 1s to 7d"));
  const auto idle = ParseDuration(FLAGS_idle_timeout);
  if (!idle.ok() || idle->ns <= 0) return Fail(InvalidArgument("--idle_timeout must be a duration such as 1h"));
  const auto send = ParseDuration(FLAGS_send_timeout);
  if (!send.ok() || send->ns <= 0) return Fail(InvalidArgument("--send_timeout must be a duration such as 30s"));
  const auto lib_bytes = ParseSize(FLAGS_lib_bytes);
  if (!lib_bytes.ok()) return Fail(lib_bytes.status().With("--lib_bytes"));
  const auto lib_age = ParseDuration(FLAGS_lib_age);
  if (!lib_age.ok() || lib_age->ns <= 0) return Fail(InvalidArgument("--lib_age must be a duration such as 30d"));
  const auto log_bytes = ParseSize(FLAGS_log_bytes);
  if (!log_bytes.ok()) return Fail(log_bytes.status().With("--log_bytes"));
  const auto log_age = ParseDuration(FLAGS_log_age);
  if (!log_age.ok() || log_age->ns <= 0) return Fail(InvalidArgument("--log_age must be a duration such as 7d"));
  const auto staging_age = ParseDuration(FLAGS_staging_age);
  if (!staging_age.ok()) return Fail(staging_age.status().With("--staging_age"));
  if (FLAGS_open_jobs < 1) return Fail(InvalidArgument("--open_jobs must be at least 1"));
  if (FLAGS_owner_jobs < 0 || FLAGS_owner_queued < 0) {
    return Fail(InvalidArgument("--owner_jobs and --owner_queued must be at least 0"));
  }
  const auto owner_bytes = ParseLimit(FLAGS_owner_bytes);
  if (!owner_bytes.ok()) return Fail(owner_bytes.status().With("--owner_bytes"));
  const auto owner_library_bytes = ParseLimit(FLAGS_owner_library_bytes);
  if (!owner_library_bytes.ok()) return Fail(owner_library_bytes.status().With("--owner_library_bytes"));
  const auto network = RoleNamed(FLAGS_network_role);
  if (!network || (*network & (kSubmitter | kOperator | kAdmin)) == 0) {
    return Fail(InvalidArgument("--network_role is submitter, operator or admin"));
  }
  Master::Options options;
  options.owner = {static_cast<size_t>(FLAGS_owner_jobs), static_cast<size_t>(FLAGS_owner_queued), *owner_bytes};
  options.owner.library_bytes = *owner_library_bytes;
  options.owner.network = *network;
  options.open_jobs = static_cast<size_t>(FLAGS_open_jobs);
  options.libraries = {*lib_bytes, *lib_age};
  options.logs = {*log_bytes, *log_age};
  options.staging_age = *staging_age;
  options.descriptors = RaiseDescriptorLimit();
  options.idle_timeout = *idle;
  options.send_timeout = *send;
  options.directory = FLAGS_data;
  options.bind = FLAGS_bind;
  options.advertise = FLAGS_advertise;
  options.port = static_cast<uint16_t>(FLAGS_port);
  options.http_port = static_cast<uint16_t>(FLAGS_http_port);
  options.http_bind = FLAGS_http_bind;
  options.entry = {FLAGS_insecure, FLAGS_secret_fd, FLAGS_secret_dir, FLAGS_unix_socket};
  for (const std::string& name : SplitAtCommas(FLAGS_http_hosts)) options.http_hosts.push_back(name);
  options.file_roots = FLAGS_file_roots;
  options.urls = {FLAGS_url_roots, FLAGS_url_ca, FLAGS_s3_endpoint, FLAGS_s3_region, FLAGS_s3_keys};
  options.policies = sched::PoliciesOf(FLAGS_scheduler);
  options.seed = FLAGS_seed;
  options.replication = static_cast<uint32_t>(FLAGS_replication);
  options.block_bytes = *block;
  options.snapshot_bytes = *snapshot;
  options.ended_jobs = static_cast<size_t>(FLAGS_ended_jobs);
  options.fat_partition_bytes = *fat;
  options.effects_lease = *lease;
  options.input_wait = *input_wait;
  options.learns = !FLAGS_ephemeral;  // its profiles would be removed with --data
  options.audits = !FLAGS_ephemeral;
  options.audit_bytes = *audit_bytes;
  options.audit_files = static_cast<size_t>(FLAGS_audit_files);
  if (!FLAGS_accept_loss.empty()) {
    char* end = nullptr;
    options.accept_loss = std::strtoull(FLAGS_accept_loss.c_str(), &end, 10);
    if (*end != '\0') return Fail(InvalidArgument("--accept_loss is the number that a refused start named"));
  }
  auto master = Master::Start(options);
  if (!master.ok()) return Fail(master.status());
  if (FLAGS_ready_fd >= 0) {
    const std::string line =
        "ready " + std::to_string((*master)->port()) + " " + std::to_string((*master)->http_port()) + "\n";
    if (!WriteAll(FLAGS_ready_fd, line).ok()) LOG(WARNING) << "nobody reads --ready_fd";
    close(FLAGS_ready_fd);
  }
  ServiceManager manager;
  manager.Ready("serving on port " + std::to_string((*master)->port()), (*master)->threads());
  const bool lifeline = WaitForEnd(signals);
  manager.Stopping();
  LOG(INFO) << (lifeline ? "the lifeline ended" : "asked to stop");
  if (lifeline && FLAGS_ephemeral) (*master)->EndForGood();
  master.value().reset();
  if (lifeline && FLAGS_ephemeral) {
    if (Status status = RemoveTree(FLAGS_data); !status.ok()) return Fail(status);
  }
  return 0;
}

}  // namespace
}  // namespace mr::master

int main(int argc, char** argv) {
  mr::HoldStandardDescriptors();
  mr::GrowHeapInHugePages();
  FLAGS_logtostderr = true;
  mr::master::ParseFlags(&argc, &argv);
  if (!FLAGS_log_dir.empty()) {
    FLAGS_logtostderr = false;
    if (const mr::Status made = mr::MakeDirectories(FLAGS_log_dir); !made.ok()) {
      std::fprintf(stderr, "mrmaster: --log_dir: %s\n", made.message().c_str());
      return 2;
    }
  }
  google::InitGoogleLogging(argv[0]);
  if (argc > 1) {
    std::fprintf(stderr, "mrmaster: unexpected argument '%s'; see --help\n", argv[1]);
    return 2;
  }
  return mr::master::Main();
}
