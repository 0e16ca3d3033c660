#include "master/host/master.h"

#include <glog/logging.h>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/count.h"
#include "common/base/version.h"
#include "common/io/clock.h"
#include "common/io/daemon_data.h"
#include "common/io/files.h"
#include "common/rpc/authenticator.h"
#include "common/rpc/node_identity.h"
#include "common/secure/cluster_files.h"
#include "common/secure/names.h"
#include "master/host/audit_log.h"
#include "master/host/host.h"
#include "master/host/http.h"
#include "master/host/library_upload.h"
#include "master/host/profiles.h"
#include "master/host/read_journal.h"
#include "master/host/shell.h"
#include "master/journal/directory.h"
#include "master/journal/witness.h"

namespace mr::master {
namespace {

// Planning, publishing and uploads wait for disks; two threads keep one slow directory from
// stopping all others.
constexpr int kPoolThreads = 2;

// The thread that makes snapshots has a tenth of the weight of the others, which answer workers and clients (guess).
constexpr int kLowNice = 10;

// Changes the thread that calls it: Linux keeps a nice value for each thread.
void LowerPriority(const char* name) {
  ::pthread_setname_np(::pthread_self(), name);
  if (::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowNice) != 0) {
    PLOG(WARNING) << "the thread " << name << " runs at full priority";
  }
}

std::string ClusterIdPath(const std::string& directory) { return directory + "/cluster_id"; }

// The id of the cluster whose data are in `directory`; where there are none that of the credentials, or a new one.
// Writes nothing. *known: the directory has it already.
Result<uint64_t> ClusterIdOf(const std::string& directory, std::optional<uint64_t> certified, bool* known) {
  const std::string path = ClusterIdPath(directory);
  *known = PathExists(path);
  if (*known) {
    MR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    const uint64_t id = std::strtoull(text.c_str(), nullptr, 16);
    if (id == 0) return Corrupted(path + " does not hold a cluster id; restore it, or start on a fresh --data");
    return id;
  }
  // A crash of the first start, or an operator, may have left the others.
  if (const auto witness = journal::WitnessFile::Read(directory + "/journal_witness"); witness.ok()) {
    return witness->cluster_id;
  }
  if (const auto files = journal::ListFiles(directory + "/journal"); files.ok()) {
    for (const auto& list : {files->segments, files->snapshots}) {
      for (const auto& file : list) {
        const auto bytes = ReadFile(file.path);
        uint64_t seed = 0;
        if (!bytes.ok()) continue;
        if (const auto header = journal::DecodeHeader(*bytes, &seed); header.ok()) return header->cluster_id;
      }
    }
  }
  return certified.value_or(RandomId());
}

// Returns the credentials of --data, or null. Errors: those of rpc::NodeIdentity::Load.
Result<std::shared_ptr<rpc::NodeIdentity>> CredentialsIn(const std::string& directory) {
  const std::string path = secure::CredentialsPath(directory);
  if (!PathExists(path)) return std::shared_ptr<rpc::NodeIdentity>();
  auto node = rpc::NodeIdentity::Load(path, [](const std::string& line) { LOG(WARNING) << line; });
  if (!node.ok()) return node.status().With("cannot use the credentials in " + path);
  if (!(*node)->is_master()) return Rejected(path + " has the credentials of a worker, not of a master");
  return node;
}

Status KeepClusterId(const std::string& directory, uint64_t id) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx\n", static_cast<unsigned long long>(id));
  return WriteFileDurably(ClusterIdPath(directory), text);
}

}  // namespace

struct Master::Impl {
  Options options;
  uint64_t cluster_id = 0;
  uint16_t port = 0, http_port = 0;
  std::shared_ptr<ProfileStore> profiles;
  std::shared_ptr<AuditLog> audit;
  // Threads that post to others are stopped before those: see ~Impl.
  Loop loop{[this] { host->Flush(); }, "master"};
  Pool pool{kPoolThreads};
  Pool background{1};                       // predictions, which take seconds
  Pool documents{1};                        // makes what pages show
  Pool snapshots{1};                        // of the journal
  std::shared_ptr<const url::Reader> urls;  // null: jobs read no URLs. Its threads plan jobs that do
  std::unique_ptr<Shell> shell;
  std::unique_ptr<HttpFront> http;
  std::unique_ptr<Host> host;
  // Gone before all of these: calls that were never answered hold services, which name the shell.
  rpc::KjThread kj{"rpc"};

  Status Start() {
    // Nothing is written before the journal is locked and was found whole.
    bool known = false;
    const auto& node = options.entry.node;
    const auto certified = node == nullptr ? std::nullopt : std::optional(node->cluster_id());
    MR_ASSIGN_OR_RETURN(cluster_id, ClusterIdOf(options.directory, certified, &known));
    if (certified.value_or(cluster_id) != cluster_id) {
      return Rejected("the credentials in " + node->path() + " are of the cluster " + secure::ClusterText(*certified) +
                      ", and the data in " + options.directory + " of " + secure::ClusterText(cluster_id) +
                      ": put the right directory there, or start on a fresh --data");
    }
    MR_ASSIGN_OR_RETURN(const FileRoots roots, rpc::FileRootsFor(options.file_roots, options.bind, options.entry));
    MR_ASSIGN_OR_RETURN(urls, url::MakeReader(options.urls));
    if (options.learns) profiles = std::make_shared<ProfileStore>(options.directory + "/profiles");
    if (options.audits) {
      audit = std::make_shared<AuditLog>(
          AuditLog::Options{options.directory + "/audit", options.audit_bytes, options.audit_files});
    }
    std::shared_ptr<Granter> granter;
    if (node != nullptr) {
      MR_ASSIGN_OR_RETURN(granter, Granter::Load(node->path()));
    }
    snapshots.Post([] { LowerPriority("snapshots"); });
    shell = std::make_unique<Shell>(
        Shell::Options{options.directory, cluster_id, kVersion, options.advertise, profiles, options.descriptors,
                       options.idle_timeout, options.send_timeout, options.entry, audit, granter},
        kj, loop, pool, background, snapshots);
    http = std::make_unique<HttpFront>(*shell, loop, documents);
    host = std::make_unique<Host>(HostOptions{options.directory,
                                              cluster_id,
                                              options.policies,
                                              options.seed,
                                              options.block_bytes,
                                              options.replication,
                                              options.snapshot_bytes,
                                              options.ended_jobs,
                                              options.fat_partition_bytes,
                                              options.scheduler_version,
                                              profiles,
                                              options.effects_lease,
                                              options.input_wait,
                                              options.open_jobs,
                                              options.libraries,
                                              options.logs,
                                              options.staging_age,
                                              options.housekeeping,
                                              known,
                                              options.accept_loss,
                                              options.record_bytes,
                                              granter,
                                              roots,
                                              options.owner,
                                              options.entry.insecure,
                                              urls},
                                  loop, *shell);
    shell->SetParts(host->worker_parts(), host->client_parts());
    const std::string lib = options.directory + "/lib";
    MR_RETURN_IF_ERROR(ReadLibraries(lib, &host->libraries()));
    MR_RETURN_IF_ERROR(host->Recover());
    if (!known) MR_RETURN_IF_ERROR(KeepClusterId(options.directory, cluster_id));
    if (audit != nullptr) MR_RETURN_IF_ERROR(audit->Open().With("the audit log"));
    loop.Start();
    MR_ASSIGN_OR_RETURN(port, shell->Listen(options.bind, options.port));
    host->views().SetAddress(shell->address());
    MR_ASSIGN_OR_RETURN(http_port, http->Listen({options.http_bind, options.http_port, HttpNames(), options.advertise},
                                                &host->metrics(), &host->views()));
    http->SetReady();
    return Status::Ok();
  }

  // Returns the names by which people reach the pages: those that the user gave, and the machine's own.
  std::set<std::string> HttpNames() const {
    std::set<std::string> names;
    for (const std::string& name : options.http_hosts) names.insert(web::InLowerCase(name));
    names.insert(web::InLowerCase(options.advertise));
    char machine[256] = {};
    if (gethostname(machine, sizeof machine - 1) == 0 && machine[0] != '\0') names.insert(web::InLowerCase(machine));
    return names;
  }

  // The loop first: the end of its sessions must not look like the end of its workers.
  void StopThreads() {
    loop.Stop();
    pool.Stop();
    if (urls != nullptr) urls->Stop();
    background.Stop();
    snapshots.Stop();
    documents.Stop();
  }

  ~Impl() {
    StopThreads();
    if (http != nullptr) http->Close();
    if (shell != nullptr) shell->Close();
    host = nullptr;
  }
};

Master::Master(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Master::~Master() = default;

void Master::EndForGood() {
  // Behind the pool: where it was publishing, that output is whole now, or will never be there.
  impl_->StopThreads();
  impl_->host->job_ends().ClearForGood();
}

Result<std::unique_ptr<Master>> Master::Start(Options options) {
  MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(options.policies).With("--scheduler"));
  MR_ASSIGN_OR_RETURN(options.entry.node, CredentialsIn(options.directory));
  const bool anywhere = options.entry.insecure || options.entry.node != nullptr;
  MR_RETURN_IF_ERROR(rpc::CheckBind("--bind", options.bind, anywhere));
  MR_RETURN_IF_ERROR(rpc::CheckBind("--http_bind", options.http_bind, anywhere));
  LOG_IF(INFO, MakePrivateData(options.directory)) << options.directory << " is closed to other users now";
  auto impl = std::make_unique<Impl>();
  if (options.advertise.empty()) options.advertise = options.bind;
  impl->options = options;
  MR_RETURN_IF_ERROR(impl->Start());
  LOG(INFO) << "master epoch " << impl->host->driver().epoch() << " serves on " << options.bind << ":" << impl->port
            << ", http " << impl->http_port << "; others reach it as " << impl->options.advertise << ":" << impl->port;
  return std::unique_ptr<Master>(new Master(std::move(impl)));
}

uint16_t Master::port() const { return impl_->port; }
uint16_t Master::http_port() const { return impl_->http_port; }
uint64_t Master::cluster_id() const { return impl_->cluster_id; }

std::vector<std::function<void(std::function<void()>)>> Master::threads() {
  return {[impl = impl_.get()](std::function<void()> fn) { impl->loop.Post(std::move(fn)); },
          [impl = impl_.get()](std::function<void()> fn) { impl->kj.Post(std::move(fn)); }};
}

uint64_t Master::StateDigest() {
  uint64_t digest = 0;
  impl_->loop.Run([&] { digest = impl_->host->core().scheduler().Digest(); });
  return digest;
}

Result<uint64_t> ReplayedDigest(const std::string& directory) {
  // The witness first: a running master's journal has all that it names by then.
  const std::string path = directory + "/journal_witness";
  const auto witness = journal::WitnessFile::Read(path);
  MasterCore core({.directory = directory}, SpecOf);
  MR_ASSIGN_OR_RETURN(const journal::DirectoryRead read, ReadJournal(&core));
  if (witness.ok() && read.end.sequence < std::max(witness->sequence, witness->reported_sequence)) {
    const bool own = witness->sequence >= witness->reported_sequence;
    return Corrupted("the journal in " + directory + "/journal ends with record " + std::to_string(read.end.sequence) +
                     " of epoch " + std::to_string(read.end.epoch) + ", but " + path + " says that " +
                     (own ? "record " + std::to_string(witness->sequence) + " was durable"
                          : "a worker knows record " + std::to_string(witness->reported_sequence)) +
                     ": the end is lost, or this is an older copy; nothing was changed, and a start of the master " +
                     "refuses this directory, too; next: docs/runbook.md (The master refuses to start)");
  }
  return core.scheduler().Digest();
}

Result<std::string> CheckedAudit(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const AuditCheck check, CheckAudit(directory + "/audit"));
  if (!check.broken.empty()) {
    return Corrupted("the audit log in " + directory + "/audit is broken at " + check.broken + "; the " +
                     CountOf(check.lines, "line before it is", "lines before it are") + " whole");
  }
  return CountOf(check.lines, "line") + " in " + CountOf(check.files, "file") + (check.lines == 1 ? " is" : " are") +
         " whole; " + CountOf(check.lost, "call is", "calls are") + " missing from the log";
}

}  // namespace mr::master
