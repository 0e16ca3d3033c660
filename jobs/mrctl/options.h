// The command line as plain structs. options.cc declares the verbs, and parse.cc parses them; CLI11 is used only there
// and in completion.cc. The words after a job's name are split off first (argv_split.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "jobs/mrctl/argv_split.h"
#include "jobs/mrctl/job_steps.h"

namespace mr::ctl {

inline constexpr char kDefaultMaster[] = "127.0.0.1:7070";
inline constexpr int kDefaultLocalWorkers = 2;
inline constexpr int kMaxLocalWorkers = 64;  // child processes of one command: a guard against typing errors

enum class OutputForm { kTable, kJson, kNdjson };

struct GlobalOptions {
  std::string master;  // empty: not given (config.h decides)
  std::string form;    // "", "table", "json", "ndjson"
  bool quiet = false;
  bool verbose = false;
  bool no_color = false;
  bool no_progress = false;
  std::string timeout;  // "" or a duration
  int status_fd = -1;   // of verbs that follow a job; -1: not given
};

struct SubmitOptions {
  std::string job;                                             // JOB as typed
  std::vector<std::string> job_args;                           // flags and arguments of the job's plan()
  std::vector<std::pair<std::string, std::string>> near_ours;  // an option in job_args, and the similar one of submit
  std::string lib;
  std::string name, queue, format, output, output_format, scheduler, submission_id, speculation, clone;
  int priority = 0;
  std::vector<std::string> inputs, conf, env, labels, files;
  bool overwrite = false, detach = false, dry_run = false, strict_deadline = false, best_effort = false,
       strict_inputs = false, allow_network = false, job_help = false;
  std::optional<uint32_t> reduces;  // absent: the planner decides; 0: map-only
  uint32_t max_attempts = 0;        // 0: the master's default
  uint64_t max_bad_records = 0;
  std::string task_timeout;  // "": the default; "0": never
  std::string memory, deadline;
  int local = 0;               // number of workers; 0: on a cluster
  std::string keep_logs;       // directory for the logs of a local cluster
  std::string report;          // file for the report of the job; "": none
  std::vector<JobStep> steps;  // of a job file with steps; `job` is then the file
};

// The changes to simulate. 0 and "": as in the run.
struct WhatifOptions {
  std::string scheduler;
  uint32_t workers = 0, slots = 0;
  std::vector<std::string> compare;  // lists, each perhaps with --workers N and --slots N
  std::string since;                 // of all ended jobs, without an id: how far back; "": kDefaultSince
};
inline constexpr char kDefaultSince[] = "7d";

// cluster, token: what they make.
struct CredentialOptions {
  std::string data;     // the master's --data directory
  std::string subject;  // of a token, or the first administrator; "": the user's name (init)
  std::string roles, life;
  std::string out;      // token file to write; "": SUBJECT.token, or for init where mrctl finds it
  std::string join;     // join file to write; "": no join token (create), DATA/join (init)
  std::string address;  // of the master, HOST:PORT, in join files; "": this host's name and port 7070
  std::string worker;   // the only name that the join token is for; "": any
  bool finish = false;  // cluster rotate; with `force`
};

// One verb with its arguments. Verbs with a second word, such as fs and job, have it in `sub`.
struct Command {
  std::string verb, sub;
  std::vector<std::string> args;
  GlobalOptions global;
  SubmitOptions submit;
  WhatifOptions whatif;
  bool wait = false;  // worker drain
  // kill
  std::string why;
  // logs
  std::optional<uint64_t> tail;
  bool follow_logs = false;
  std::string grep;
  // fs
  bool recursive = false, force = false, parents = false, human = false, summary = false;
  int replication = 0;
  std::string block_size;
  uint64_t lines = 10;
  // job set; absent: unchanged
  std::optional<int32_t> priority;
  std::string deadline;  // "none": no deadline
  // queue set; absent: unchanged
  std::optional<double> weight;
  std::optional<uint32_t> min_share, max_share;
  bool show_origin = false;  // config view
  std::string bundle;        // doctor; with `force`
  CredentialOptions credentials;
  // history
  uint64_t limit = 20;
  std::optional<uint64_t> keep;  // with local_runs
  // jobs, history
  std::vector<std::string> states;  // as typed, perhaps with commas
  std::string name_glob, owner, since;
  bool local_runs = false;               // jobs, history, whatif: those of `submit --local`
  std::string project_template = "map";  // sdk new
  // task replay
  bool gdb = false;
  std::string perf;  // file of the flame graph
  std::string replay_lib;
  std::vector<std::string> replay_files;
  // If not empty: print this on stdout and exit 0 (help).
  std::string help;
  bool open_page = false;  // page
};

// Parses the words after the program's name. Errors: kInvalidArgument, with a suggestion.
Result<Command> ParseCommandLine(const std::vector<std::string>& argv);

// Applies `key = value` of a job file (job_file.h), unless the command line has that option. Errors: kInvalidArgument
// for an unknown key.
Status ApplyJobFile(const struct KeyTable& table, const std::string& file, SubmitOptions* options);

// Parses the value of "-o". Errors: kInvalidArgument for anything but the three words.
Result<OutputForm> ParseOutputForm(const std::string& word);

}  // namespace mr::ctl
