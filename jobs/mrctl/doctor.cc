// mrctl doctor: finds faults of this machine and of the cluster, and suggests a remedy for each.
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/base/version.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/self_check.h"
#include "common/rpc/wait_for_loop.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/bundle.h"
#include "jobs/mrctl/check_attempts.h"
#include "jobs/mrctl/check_pairs.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// Limits, all of them guesses. kLittleRoom and kNoRoom: free bytes of a disk, below which doctor warns, and below which
// it reports a full disk. For a worker's disk also below a twentieth, and a hundredth, of its capacity. On a small disk
// no more than a quarter, and a tenth, of it count.
constexpr uint64_t kLittleRoom = 1ull << 30;
constexpr uint64_t kNoRoom = 64ull << 20;
constexpr uint64_t kLittleSharedMemory = 64u << 20;  // the default of a container
constexpr uint32_t kNamedFiles = 20;                 // most files without enough replicas that are named
constexpr int64_t kSkewMs = 5000;
constexpr uint64_t kLongWaitUs = 10'000'000;  // without a running task

std::string Number(uint64_t n) { return std::to_string(n); }

// Probes all addresses at the same time. Returns answers in their order. Blocks for at most kPortTimeout.
std::vector<Status> ProbePorts(const std::vector<std::string>& addresses) {
  constexpr Duration kPortTimeout = Seconds(3);
  std::vector<Status> answers(addresses.size());
  rpc::KjThread loop("mrctl-doctor");
  const Status all = rpc::WaitForLoop<Status>(loop, [&] {
    auto probes = kj::heapArrayBuilder<kj::Promise<void>>(addresses.size());
    for (size_t i = 0; i < addresses.size(); ++i) {
      probes.add(rpc::ProbePort(loop.io(), addresses[i], kPortTimeout).then([&answers, i](Status status) {
        answers[i] = std::move(status);
      }));
    }
    return kj::joinPromises(probes.finish()).then([] { return Status::Ok(); });
  });
  if (!all.ok()) answers.assign(addresses.size(), all);
  return answers;
}

class Doctor {
 public:
  explicit Doctor(const Result<Settings>& settings) : settings_(settings) {}

  void LookHere() {
    CheckConfig();
    CheckBinaries();
    const char* tmp = std::getenv("TMPDIR");
    CheckRoom("tmp", tmp != nullptr && *tmp != '\0' ? tmp : "/tmp");
    CheckSharedMemory();
  }

  // Returns false if no master answers.
  bool LookAtCluster() {
    const std::string prefix = CommandPrefix(settings_->master);
    Client client(settings_->master);
    const auto info = client.Info();
    if (!info.ok()) {
      const Failure failure = ToFailure(info.status());
      Add("master", Verdict::kFail, failure.message, failure.hint);
      no_master_ = info.status().code() == Code::kNotAllowed ? kExitNotAllowed : kExitNoMaster;
      return false;
    }
    CheckMaster(*info);
    CheckEntry(client);
    const auto workers = client.Workers();
    const auto jobs = client.Jobs();
    const auto queues = client.Queues();
    if (!workers.ok() || !jobs.ok() || !queues.ok()) {
      const Status& why = !workers.ok() ? workers.status() : !jobs.ok() ? jobs.status() : queues.status();
      Add("master", Verdict::kFail, "no answer: " + ToFailure(why).message, "read its log, and run this again");
      return false;
    }
    CheckClock(*info);
    CheckJournal(client, prefix);
    CheckWorkers(*workers, prefix);
    CheckPorts(*workers);
    checks_.push_back(CheckPairs([&client](WorkerId id) { return client.Reach(id); }, *workers, &Now));
    CheckDisks(*workers, prefix);
    CheckReports(*workers, prefix);
    CheckFiles(client, *workers, prefix);
    CheckSlots(*workers, *queues, prefix);
    CheckJobs(client, *jobs, prefix);
    const AttemptSources sources{[&client](JobId id) { return client.Attempts(id); },
                                 [&client](AttemptId id) { return client.Logs(id); }, &Now};
    for (Check& check : CheckAttempts(sources, *jobs, prefix)) checks_.push_back(std::move(check));
    return true;
  }

  // Returns the exit code where no master answers: kExitNotAllowed, if one refuses this user.
  ExitCode no_master() const { return no_master_; }
  const std::vector<Check>& checks() const { return checks_; }
  bool failed() const {
    return std::any_of(checks_.begin(), checks_.end(), [](const Check& c) { return c.verdict == Verdict::kFail; });
  }

 private:
  void Add(const std::string& id, Verdict verdict, const std::string& text, const std::string& next = "") {
    checks_.push_back({id, verdict, text, next});
  }

  void AddNotShown(const std::string& id) { checks_.push_back(NotShown(id)); }

  // Adds no check of a cluster that asks who connects, as is usual.
  void CheckEntry(const Client& client) {
    if (!client.Insecure()) return;
    Add("entry", Verdict::kWarn, "the master was started with --insecure: whoever reaches it can run commands",
        "start the daemons without --insecure; on one machine they then need nothing else");
  }

  void CheckConfig() {
    if (!settings_.ok()) {
      const Failure failure = ToFailure(settings_.status());
      return Add("config", Verdict::kFail, failure.message,
                 failure.hint.empty() ? "correct the named setting" : failure.hint);
    }
    std::string from = "default";
    for (const ShownSetting& s : settings_->shown) {
      if (s.key == "master") from = s.origin;
    }
    Add("config", Verdict::kOk,
        (settings_->files.empty() ? "no files" : UpTo(settings_->files)) + "; master " + settings_->master + " from " +
            from);
  }

  void CheckBinaries() {
    std::vector<std::string> missing;
    bool jobs_run = true;
    for (const char* name : {"mrtask", "mrmaster", "mrworker", "mrsim"}) {
      const std::string path = BinaryDirectory() + "/" + name;
      if (access(path.c_str(), X_OK) == 0) continue;
      missing.push_back(name);
      jobs_run = jobs_run && std::string(name) != "mrtask";
    }
    const bool library = PathExists(BuiltinLibrary());
    if (!library) missing.push_back(BuiltinLibrary());
    if (missing.empty()) {
      return Add("binaries", Verdict::kOk,
                 "mrtask, mrmaster, mrworker, mrsim and the built-in jobs are beside mrctl in " + BinaryDirectory());
    }
    // Without mrtask no job can be planned. The others are for --local and whatif.
    Add("binaries", jobs_run && library ? Verdict::kWarn : Verdict::kFail,
        UpTo(missing) + " cannot be run from " + BinaryDirectory() + ": " +
            (!jobs_run  ? "submit cannot plan jobs"
             : !library ? "there are no built-in jobs"
                        : "submit --local or whatif does not work"),
        "install all binaries of one release in one directory, the library in ../lib beside it");
  }

  void CheckRoom(const std::string& id, const std::string& path) {
    struct statvfs fs {};
    if (statvfs(path.c_str(), &fs) != 0 || access(path.c_str(), W_OK) != 0) {
      return Add(id, Verdict::kFail, path + " cannot be written: " + std::string(strerror(errno)),
                 "set TMPDIR to a directory that you may write");
    }
    const uint64_t free = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize;
    const std::string text = path + " has " + HumanBytes(free) + " free";
    if (free >= kLittleRoom) return Add(id, Verdict::kOk, text);
    Add(id, free < kNoRoom ? Verdict::kFail : Verdict::kWarn, text + "; submit --local spills there",
        "free some space, or set TMPDIR to a larger disk");
  }

  void CheckSharedMemory() {
    struct statvfs fs {};
    if (statvfs("/dev/shm", &fs) != 0) {
      return Add("shm", Verdict::kWarn, std::string("there is no /dev/shm: ") + strerror(errno), "mount a tmpfs there");
    }
    const uint64_t free = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize;
    const bool little = free < kLittleSharedMemory;
    Add("shm", little ? Verdict::kWarn : Verdict::kOk, "/dev/shm has " + HumanBytes(free) + " free",
        little ? "give the container more shared memory (docker run --shm-size)" : "");
  }

  void CheckMaster(const MasterInfo& info) {
    const std::string text = info.version + " at " + info.address + ", epoch " + Number(info.master_epoch);
    if (info.version == kVersion) return Add("master", Verdict::kOk, text);
    Add("master", Verdict::kWarn, text + "; this mrctl is " + kVersion, "use the mrctl of the master's release");
  }

  // Compares both clocks at one moment, except for the time of the answer.
  void CheckClock(const MasterInfo& info) {
    if (info.unix_ms == 0) return Add("clock", Verdict::kOk, "unknown: the master does not report its clock");
    const int64_t skew = static_cast<int64_t>(info.unix_ms) - static_cast<int64_t>(WallClockMs());
    const std::string text = "the master's clock is " + HumanDuration(Millis(std::abs(skew))) +
                             (skew < 0 ? " behind" : " ahead of") + " ours";
    if (std::abs(skew) <= kSkewMs) return Add("clock", Verdict::kOk, text);
    Add("clock", Verdict::kWarn, text + ": times of jobs are shown wrongly here",
        "let both hosts follow one time server (chrony)");
  }

  void CheckJournal(Client& client, const std::string& prefix) {
    const auto journal = client.Journal();
    if (journal.status().code() == Code::kNotAllowed) return AddNotShown("journal");
    if (!journal.ok()) {
      return Add("journal", Verdict::kWarn, "unknown: " + ToFailure(journal.status()).message,
                 "use the mrctl of the master's release");
    }
    const JournalStatus& j = *journal;
    if (j.lost) {
      Add("journal", Verdict::kFail, "safe mode: " + j.text,
          "stop the master and restore a copy of the journal that has record " + Number(j.lost_sequence) +
              ", or accept the loss: " + prefix + "store safemode off");
    }
    for (const std::string& line : j.passed_over) {
      Add("journal", Verdict::kWarn, line, "check that disk; the next snapshot replaces it");
    }
    if (!j.witness_failure.empty()) {
      Add("journal", Verdict::kWarn,
          "its witness cannot be written, so a loss may not be noticed: " + j.witness_failure,
          "check the disk of the master's --data");
    }
    const std::string room = "its disk has " + HumanBytes(j.free_bytes) + " of " + HumanBytes(j.disk_bytes) + " free";
    if (j.full) {
      Add("journal", Verdict::kFail, "it cannot grow, so the master takes no new jobs and files: " + room,
          "free space on the disk of the master's --data; the master then goes on by itself");
    } else if (LittleLeft(j.free_bytes, j.disk_bytes)) {
      Add("journal", Verdict::kWarn, room + "; when it is full, the master takes no new jobs and files",
          "free space on the disk of the master's --data");
    } else if (!j.lost && j.passed_over.empty() && j.witness_failure.empty()) {
      Add("journal", Verdict::kOk, j.disk_bytes == 0 ? "nothing is missing" : "nothing is missing, " + room);
    }
  }

  void CheckWorkers(const std::vector<WorkerStatus>& workers, const std::string& prefix) {
    CheckMemory(workers, prefix);
    checks_.push_back(WorkersCheck(workers, prefix, settings_->master));
  }

  // A worker with an unreachable port looks live to the master, but stops every job that reads from it.
  void CheckPorts(const std::vector<WorkerStatus>& workers) {
    std::vector<std::string> ids, addresses;
    for (const WorkerStatus& w : workers) {
      if (w.state != "live" && w.state != "draining" && w.state != "unfit" && w.state != "full") continue;
      ids.push_back(w.id);
      addresses.push_back(w.address);
    }
    const std::vector<Status> answers = ProbePorts(addresses);
    std::vector<std::string> deaf;
    std::string why;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (answers[i].ok()) continue;
      deaf.push_back(ids[i]);
      if (why.empty()) why = answers[i].message();
    }
    if (deaf.empty()) {
      return Add("ports", Verdict::kOk, "the ports of the master and of " + CountOf(ids.size(), "worker") + " answer");
    }
    Add("ports", Verdict::kFail, "no answer to this host: " + UpTo(deaf) + ": " + why,
        "check /readyz on the HTTP port of " + deaf[0] +
            " and its log; if only this host cannot reach it, check the network in between");
  }

  // Reports outputs that differ from their commit although they were stored unchanged: only memory damages outputs so.
  void CheckMemory(const std::vector<WorkerStatus>& workers, const std::string& prefix) {
    std::vector<std::string> distrusted;
    std::string counts;
    for (const WorkerStatus& w : workers) {
      if (w.state == "distrusted") distrusted.push_back(w.id);
      if (w.wrong_outputs != 0) counts += (counts.empty() ? "" : ", ") + w.id + ": " + Number(w.wrong_outputs);
    }
    if (counts.empty()) return;
    const std::string text = "outputs that a worker's memory damaged: " + counts;
    if (distrusted.empty()) return Add("memory", Verdict::kWarn, text, "test the memory of these hosts");
    Add("memory", Verdict::kFail, text + "; no new attempts on " + UpTo(distrusted),
        "test the memory of its host; then " + prefix + "worker undrain " + distrusted[0]);
  }

  void CheckDisks(const std::vector<WorkerStatus>& workers, const std::string& prefix) {
    std::vector<std::string> full, brim;
    size_t known = 0;
    for (const WorkerStatus& w : workers) {
      if (w.slots == 0 || w.state == "away" || w.capacity_bytes == 0) continue;
      ++known;
      const uint64_t free = w.capacity_bytes - std::min(w.capacity_bytes, w.used_bytes);
      const uint64_t capacity = w.capacity_bytes;
      if (w.state == "full" || free < std::max(std::min(kNoRoom, capacity / 10), capacity / 100))
        brim.push_back(w.id);
      else if (free < std::max(std::min(kLittleRoom, capacity / 4), capacity / 20))
        full.push_back(w.id);
    }
    if (known == 0) return;
    const StoreSpace space = SpaceOfStore(workers);
    std::string text = HumanBytes(space.used_bytes) + " of " + HumanBytes(space.capacity_bytes) + " used";
    if (!space.shared.empty()) text += " (" + UpTo(space.shared) + " share a disk, which counts once)";
    if (brim.empty() && full.empty()) return Add("disks", Verdict::kOk, text);
    full.insert(full.begin(), brim.begin(), brim.end());
    Add("disks", brim.size() == known ? Verdict::kFail : Verdict::kWarn, text + "; full or nearly so: " + UpTo(full),
        "remove files that are not needed (" + prefix + "fs du /), or add workers");
  }

  // Adds no check if there is nothing to report, as is usual.
  void CheckReports(const std::vector<WorkerStatus>& workers, const std::string& prefix) {
    for (const WorkerStatus& w : workers) {
      if (w.reports_given_up == 0) continue;
      Add("reports", Verdict::kWarn,
          w.id + " gave up " + CountOf(w.reports_given_up, "report") +
              ", since each try to send one broke its connection to the master; the attempts failed",
          "its log names them; " + prefix + "why " + w.id);
    }
  }

  // Reports missing replicas, failed disks and missing workers of the block store.
  void CheckFiles(Client& client, const std::vector<WorkerStatus>& workers, const std::string& prefix) {
    const auto store = client.Store();
    const auto health = store.ok() ? (*store)->Health(kNamedFiles) : Result<dfs::StoreHealth>(store.status());
    if (health.status().code() == Code::kNotAllowed) return AddNotShown("files");
    if (!health.ok()) {
      return Add("files", Verdict::kFail, "no answer from the block store: " + ToFailure(health.status()).message,
                 "read the master's log, and run this again");
    }
    for (const auto& disk : health->failed_disks) {
      Add("disks", Verdict::kFail,
          Name(disk.worker) + " (" + disk.address + ") has a failing disk: " + disk.why +
              "; its replicas are made again on other workers",
          "repair or replace the disk and start the worker again, or give it up: " + prefix + "worker exclude " +
              Name(disk.worker));
    }
    if (!health->awaited.empty()) {
      std::vector<std::string> names;
      for (const WorkerId worker : health->awaited) names.push_back(Name(worker));
      Add("files", Verdict::kWarn,
          "writes count on workers that were alive before the master's restart and have not come back: " + UpTo(names),
          "start them again, or give up those that are lost for good: " + prefix + "worker exclude " + names[0]);
    }
    const uint64_t lost = health->missing_files + health->corrupt_files;
    if (lost + health->under_replicated_files == 0) {
      return Add("files", health->safe_mode ? Verdict::kWarn : Verdict::kOk,
                 Number(health->files) + " in the block store, all blocks with enough replicas" +
                     (health->safe_mode ? "; safe mode: nothing is copied or deleted until the workers are back" : ""));
    }
    std::string text, thin, unreadable_path;
    uint64_t named = 0, named_thin = 0;
    uint32_t wanted = 0;
    bool none_counts = false;  // a readable block has no replica that the master ordered
    for (const auto& t : health->troubles) {
      std::string line = t.path;
      if (t.missing > 0) line += ": " + Number(t.missing) + " of " + CountOf(t.blocks, "block") + " missing";
      if (t.corrupt > 0) {
        line += ": " + Number(t.corrupt) + " of " + CountOf(t.blocks, "block") + " damaged in each replica";
      }
      if (!t.damaged.empty()) line += " (damaged on " + UpTo(t.damaged) + ")";
      const bool unreadable = t.missing + t.corrupt > 0;
      ++(unreadable ? named : named_thin);
      if (unreadable && unreadable_path.empty()) unreadable_path = t.path;
      std::string& list = unreadable ? text : thin;
      list += (list.empty() ? "" : "; ") + line;
      if (unreadable) continue;
      if (const auto info = (*store)->Stat(t.path); info.ok()) {
        wanted = std::max(wanted, info->replication);
        none_counts = none_counts || info->least_replicas == 0;
      }
    }
    const std::string all = " (" + prefix + "fs ls -R / shows the replicas of each file)";
    if (named < lost) text += "; and " + Number(lost - named) + " more" + all;
    if (lost > 0) {
      Add("files", Verdict::kFail,
          Number(lost) + " of " + Number(health->files) + " cannot be read (" + Number(health->missing_files) +
              " with missing, " + Number(health->corrupt_files) + " with damaged blocks): " + text,
          UnreadableNext(workers, health->missing_files > 0, unreadable_path, prefix));
    }
    if (health->under_replicated_files > 0) {
      const uint64_t more = health->under_replicated_files - named_thin;
      if (more > 0) thin += (thin.empty() ? "" : "; and ") + Number(more) + " more" + all;
      const size_t able = TakingBlocks(workers);
      const bool too_few = wanted > able;
      // A worker copies no such block to itself, and fewer wanted replicas do not help.
      const bool no_target = none_counts && able <= 1;
      std::string next = "the master makes them on other workers; check again in a minute";
      if (no_target) {
        next = "add a worker: the master copies the blocks to it";
        thin += "; blocks of a worker whose name changed do not count until they are copied to another worker, and " +
                CountOf(able, "worker takes blocks", "workers take blocks");
      } else if (too_few) {
        next = "add workers, or make room on those that are full, or ask for fewer replicas: " + prefix + "fs setrep " +
               Number(std::max<size_t>(1, able)) + " PATH";
        thin += "; up to " + CountOf(wanted, "replica of a block is", "replicas of a block are") + " wanted, and " +
                CountOf(able, "worker takes", "workers take") + " blocks, one replica of each at most";
      }
      Add("files", Verdict::kWarn,
          Number(health->under_replicated_files) + " of " + Number(health->files) +
              (health->under_replicated_files == 1 ? " has" : " have") + " too few replicas: " + thin,
          next);
    }
  }

  void CheckSlots(const std::vector<WorkerStatus>& workers, const std::vector<QueueStatus>& queues,
                  const std::string& prefix) {
    uint64_t slots = 0, busy = 0, memory = 0;
    bool limited = true;
    for (const WorkerStatus& w : workers) {
      slots += w.slots;
      busy += w.busy;
      if (w.slots == 0) continue;
      memory += w.memory_bytes;
      limited = limited && w.memory_bytes != 0;
    }
    std::vector<std::string> waiting;
    for (const QueueStatus& q : queues) {
      if (q.waits) waiting.push_back(q.name);
    }
    const std::string text = Number(busy) + " of " + Number(slots) + " busy, memory for attempts " +
                             (limited ? HumanBytes(memory) : "not limited on each worker");
    if (waiting.empty()) return Add("slots", Verdict::kOk, text + ", no queue waits");
    if (busy >= slots) return Add("slots", Verdict::kOk, text + ", waiting for one: " + UpTo(waiting));
    Add("slots", Verdict::kWarn, text + ", but tasks of these queues wait: " + UpTo(waiting),
        prefix + "queues, and " + prefix + "why JOB for one of their jobs");
  }

  void CheckJobs(Client& client, const std::vector<JobStatus>& jobs, const std::string& prefix) {
    size_t there = 0;
    bool fine = true;
    for (const JobStatus& job : jobs) {
      if (Ended(job.state)) continue;
      ++there;
      uint32_t running = 0;
      for (const StageStatus& s : job.stages) running += s.running;
      if (running == 0 && job.elapsed_us > kLongWaitUs) {
        const auto why = client.Why(Name(job.id));
        std::string text = Name(job.id) + " has no running task, " +
                           HumanDuration(Micros(static_cast<int64_t>(job.elapsed_us))) + " after its submission";
        if (why.ok() && why->size() > 1) text += ": " + (*why)[1];
        Add("jobs", Verdict::kWarn, text, prefix + "why " + Name(job.id));
        fine = false;
      } else if (!job.hung.empty()) {
        const std::string more =
            job.hung.size() > 1 ? " (and " + CountOf(job.hung.size() - 1, "more attempt") + ")" : "";
        Add("jobs", Verdict::kWarn, Name(job.id) + ": " + job.hung[0] + more, prefix + "why " + Name(job.id));
        fine = false;
      } else if (!job.last_failure.empty()) {
        Add("jobs", Verdict::kWarn, Name(job.id) + ": " + job.last_failure, prefix + "logs " + Name(job.id));
        fine = false;
      }
    }
    if (fine) Add("jobs", Verdict::kOk, Number(there) + " not ended, none of them stuck");
  }

  const Result<Settings>& settings_;
  std::vector<Check> checks_;
  ExitCode no_master_ = kExitNoMaster;
};

}  // namespace

Result<int> RunDoctor(const Command& command, const Result<Settings>& settings) {
  if (!command.bundle.empty()) MR_RETURN_IF_ERROR(CheckBundleFile(command.bundle, command.force));
  Doctor doctor(settings);
  doctor.LookHere();
  const bool master = !settings.ok() || doctor.LookAtCluster();
  OutputForm form = OutputForm::kTable;
  if (settings.ok())
    form = settings->form;
  else if (auto asked = ParseOutputForm(command.global.form); asked.ok())
    form = *asked;
  std::optional<BundleShown> bundle;
  if (!command.bundle.empty()) {
    MR_ASSIGN_OR_RETURN(bundle, MakeBundle(command.bundle, command.force, settings, master, doctor.checks()));
  }
  Print(RenderChecks(doctor.checks(), form, bundle ? &*bundle : nullptr));
  if (!master) return doctor.no_master();
  return doctor.failed() ? kExitJobFailed : kExitOk;
}

}  // namespace mr::ctl
