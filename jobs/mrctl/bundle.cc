#include "jobs/mrctl/bundle.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include "common/base/text.h"
#include "common/base/version.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "jobs/mrctl/archive.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/daemon_facts.h"
#include "jobs/mrctl/daemon_pages.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/redact.h"
#include "jobs/mrctl/render.h"

extern char** environ;

namespace mr::ctl {
namespace {

// Guesses: a bundle that can be mailed, with enough of each log to find a fault of the last hours.
constexpr uint64_t kLogBytes = 2u << 20, kMetricsBytes = 4u << 20, kWholeBytes = 64u << 20;
constexpr size_t kFailedJobs = 10, kLogsPerJob = 5, kDecisionsPerJob = 2000, kDaemons = 200;
constexpr uint16_t kMasterHttpPort = 7080, kWorkerHttpPort = 7081;

// Environment variables whose values help; of the others not even the names are taken.
bool Helps(const std::string& name) {
  constexpr std::string_view kNames[] = {"PATH", "HOME", "TMPDIR",   "TERM", "COLUMNS",
                                         "LANG", "TZ",   "NO_COLOR", "SHELL"};
  return name.starts_with("MR_") || name.starts_with("XDG_") || name.starts_with("LC_") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }
uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(std::strtoul(address.substr(address.rfind(':') + 1).c_str(), nullptr, 10));
}

class BundleMaker {
 public:
  explicit BundleMaker(std::string file) : tar_(WallClockMs() / 1000) { shown_.file = std::move(file); }

  void AddHere(const Result<Settings>& settings, const std::vector<Check>& checks) {
    Add("checks.json", RenderChecks(checks, OutputForm::kJson));
    if (settings.ok()) {
      Settings shown = *settings;
      shown.form = OutputForm::kJson;
      Add("settings.json", RenderConfig(shown, true));
      for (const std::string& file : settings->files) {
        const auto text = ReadFile(file);
        settings_files_ += "== " + file + "\n" + (text.ok() ? *text : text.status().message() + "\n");
      }
      if (!settings_files_.empty()) Add("settings_files.txt", settings_files_);
    } else {
      Miss("settings.json", settings.status());
    }
    std::string variables;
    for (char** e = environ; *e != nullptr; ++e) {
      const std::string assignment = *e;
      if (Helps(assignment.substr(0, assignment.find('=')))) variables += assignment + "\n";
    }
    Add("environment.txt", variables);
    Add("machine.txt", Machine());
  }

  void AddCluster(const Settings& settings) {
    const std::string& master = settings.master;
    Client client(master);
    const auto info = client.Info();
    if (!info.ok()) return Miss("master", info.status());
    pages_ = std::make_unique<DaemonPages>(settings.token_file, info->cluster_id);
    Add("versions.json", RenderVersion(kVersion, &*info, "", OutputForm::kJson));
    const auto jobs = client.Jobs();
    const auto workers = client.Workers();
    AddIf("jobs.json", jobs, [](const auto& list) { return RenderJobs(list, OutputForm::kJson); });
    AddIf("workers.json", workers, [](const auto& list) { return RenderWorkers(list, OutputForm::kJson); });
    AddIf("queues.json", client.Queues(), [](const auto& list) { return RenderQueues(list, OutputForm::kJson); });
    AddIf("journal.json", client.Journal(), [](const auto& j) { return RenderSafeMode(j, OutputForm::kJson); });
    AddDaemon("master", "mrmaster", info->pid, info->address, HostOf(master), kMasterHttpPort);
    size_t daemons = 0;
    for (const WorkerStatus& w : workers.ok() ? *workers : std::vector<WorkerStatus>()) {
      if (++daemons > kDaemons) break;
      AddDaemon(w.id, "mrworker", w.pid, w.address, HostOf(w.address), kWorkerHttpPort);
    }
    if (jobs.ok()) AddJobs(client, *jobs);
  }

  Result<BundleShown> Write(bool force) {
    Add("README.txt", Readme());
    MR_ASSIGN_OR_RETURN(const std::string packed, CompressFor(shown_.file, tar_.Finish()));
    MR_RETURN_IF_ERROR(WritePrivately(shown_.file, packed, force));
    shown_.bytes = packed.size();
    return std::move(shown_);
  }

 private:
  void Add(const std::string& name, const std::string& text) {
    if (whole_ + text.size() > kWholeBytes)
      return Miss(name, Rejected("the bundle has its most of " + HumanBytes(kWholeBytes)));
    const std::string clean = Redact(text);
    whole_ += clean.size();
    tar_.Add(name, clean);
    shown_.entries.emplace_back(name, clean.size());
  }
  void Miss(const std::string& name, const Status& why) {
    shown_.missing.emplace_back(name, Redact(ToFailure(why).message));
  }
  template <class Value, class Render>
  void AddIf(const std::string& name, const Result<Value>& value, Render render) {
    if (value.ok())
      Add(name, render(*value));
    else
      Miss(name, value.status());
  }

  static std::string Machine() {
    utsname name{};
    uname(&name);
    std::string text = std::string("mrctl ") + kVersion + "\n" + name.sysname + " " + name.release + " " +
                       name.machine + "\nprocessors " + std::to_string(std::thread::hardware_concurrency()) + "\n";
    for (const char* file : {"/etc/os-release", "/proc/meminfo", "/proc/loadavg", "/sys/fs/cgroup/memory.max",
                             "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/pids.max"}) {
      const auto read = ReadFile(file);
      if (read.ok()) text += std::string("== ") + file + "\n" + *read;
    }
    return text;
  }

  // Adds log and metrics of one daemon. address: as others reach it; host: where its HTTP port may be.
  void AddDaemon(const std::string& id, const std::string& program, uint32_t pid, const std::string& address,
                 const std::string& host, uint16_t http_port) {
    const std::string log = "logs/" + id + ".log", metrics = "metrics/" + id + ".txt";
    const bool here = RunsHere(pid, program);
    if (here) {
      AddIf(log, LogOfProcess(pid, kLogBytes), [](const std::string& text) { return text; });
    } else {
      Miss(log, NotFound("process " + std::to_string(pid) + " is not on this machine: its log is on the host of " +
                         address));
    }
    const uint16_t own = here ? HttpPortOf(pid, PortOf(address)) : 0;
    AddIf(metrics,
          pages_->Get(here ? "127.0.0.1" : host, own != 0 ? own : http_port, program == "mrworker", "/metrics",
                      kMetricsBytes),
          [](const std::string& text) { return text; });
  }

  // Adds the newest jobs that failed, with what is known about them.
  void AddJobs(Client& client, const std::vector<JobStatus>& jobs) {
    size_t added = 0;
    for (auto job = jobs.rbegin(); job != jobs.rend() && added < kFailedJobs; ++job) {
      if (job->state != JobState::kFailed) continue;
      ++added;
      const std::string folder = "jobs/" + Name(job->id) + "/";
      Add(folder + "job.json", RenderJob(*job, OutputForm::kJson));
      AddIf(folder + "why.txt", client.Why(Name(job->id)), [](const auto& lines) { return Lines(lines); });
      const auto attempts = client.Attempts(job->id);
      AddIf(folder + "attempts.json", attempts,
            [](const auto& list) { return RenderAttempts(list, OutputForm::kJson); });
      AddIf(folder + "decisions.txt", client.Decisions(job->id), [](const auto& list) { return DecisionLines(list); });
      size_t logs = 0;
      for (const AttemptStatus& a : attempts.ok() ? *attempts : std::vector<AttemptStatus>()) {
        if (a.state != "failed" || ++logs > kLogsPerJob) continue;
        AddIf(folder + a.id + ".log", client.Logs(*ParseAttemptId(a.id)), [](const AttemptLog& l) {
          return l.text.substr(l.text.size() - std::min<size_t>(l.text.size(), kLogBytes));
        });
      }
    }
  }

  static std::string Lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  // Returns the last decisions, which are the tail of the journal as far as the master has it for this job.
  static std::string DecisionLines(const std::vector<DecisionStatus>& decisions) {
    std::string text;
    for (size_t i = decisions.size() - std::min(decisions.size(), kDecisionsPerJob); i < decisions.size(); ++i) {
      const DecisionStatus& d = decisions[i];
      text += std::to_string(d.at_us) + " us  " + d.what + " " + d.attempt + " " + d.worker + " " + d.reason + "\n";
    }
    return text;
  }

  std::string Readme() const {
    std::string text = std::string("A bundle for a bug report, made by mrctl doctor --bundle of version ") + kVersion +
                       ".\nWhat looks like a secret is [redacted]. Names of users, hosts, files and jobs are not, and "
                       "logs of attempts\n"
                       "hold what operators print, which may be data. Look through it before it is sent.\n";
    for (const auto& [name, why] : shown_.missing) text += "not in it: " + name + ": " + why + "\n";
    return text;
  }

  std::unique_ptr<DaemonPages> pages_;  // of the cluster
  TarWriter tar_;
  BundleShown shown_;
  std::string settings_files_;
  uint64_t whole_ = 0;
};

}  // namespace

Status CheckBundleFile(const std::string& path, bool force) {
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) {
      return WithHint(InvalidArgument("--bundle " + path + " is a directory"), "give the name of a file");
    }
    if (force && !S_ISREG(there.st_mode)) {
      return WithHint(Rejected("--bundle " + path + " is not a regular file, and a private file must be one"),
                      "name another file");
    }
    if (!force) return WithHint(Rejected(path + " exists"), "name another file, or give --force to replace it");
  }
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (access(parent.c_str(), W_OK | X_OK) == 0) return Status::Ok();
  return InvalidArgument("--bundle " + path + ": cannot write to the directory " + parent);
}

Result<BundleShown> MakeBundle(const std::string& path, bool force, const Result<Settings>& settings, bool master,
                               const std::vector<Check>& checks) {
  BundleMaker maker(path);
  maker.AddHere(settings, checks);
  if (settings.ok() && master) maker.AddCluster(*settings);
  return maker.Write(force);
}

}  // namespace mr::ctl
