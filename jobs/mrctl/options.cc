// Names, options and help texts of all verbs. tests/cluster/examples_test.cc runs the examples and states what they may
// rely on.
#include "jobs/mrctl/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string_view>

#include "jobs/mrctl/help.h"
#include "jobs/mrctl/option_tree.h"

namespace mr::ctl {
namespace {

constexpr char kSubmitFooter[] =
    "JOB is a built-in job (above), a job of --lib, a .toml or .json job file, or - for\n"
    "a job file on standard input. `mrctl help JOB` shows the options of a job.\n"
    "Behind JOB: an option that JOB has is JOB's, another option of submit is\n"
    "submit's, all else is JOB's. Behind -- everything is JOB's.\n"
    "A job file has these options as keys. [[step]] tables chain jobs: each step reads\n"
    "the output of the one before.\n"
    "Exit: 0 succeeded, 1 failed, 2 usage, 3 rejected, 4 killed, 5 no master, 6 not\n"
    "allowed, 7 not found, 8 missed its deadline (--strict-deadline), 70 internal,\n"
    "124 timeout (--timeout), 130 interrupted.";

// Adds a repeatable option with one value per occurrence.
CLI::Option* AddList(CLI::App* app, const char* name, std::vector<std::string>* values, const char* help) {
  return app->add_option(name, *values, help)->allow_extra_args(false);
}

// Words that name a job (job_ref.h).
constexpr char kJobWord[] = "Job: its id, its number, its name if no other job has it, or last (your newest submit)";
constexpr char kRunWord[] =
    "Job: its id, its number, its name if no other job has it, or last (your newest submit); or local_0017, a "
    "remembered "
    "run of submit --local";
constexpr char kSubmitExample[] = "mrctl submit wordcount --input /data/books.txt --output /data/words";
constexpr char kExplainExample[] = "mrctl explain wordcount --input /data/books.txt --output /data/words2";

void AddGlobalOptions(CLI::App* app, GlobalOptions* g) {
  app->add_option("--master", g->master, "Address of the master, HOST:PORT (default: MR_MASTER, else 127.0.0.1:7070)")
      ->type_name("HOST:PORT");
  app->add_option("-o", g->form, "Output format: table (default), json (one document) or ndjson (one object per line)")
      ->type_name("table|json|ndjson");
  app->add_flag("-q,--quiet", g->quiet, "Print only results and errors");
  app->add_flag("-v,--verbose", g->verbose, "Print details on stderr");
  app->add_flag("--no-color", g->no_color, "Print without colours (also NO_COLOR)");
  app->add_flag("--no-progress", g->no_progress, "Print no progress lines");
  app->add_option("--timeout", g->timeout,
                  "Give up after this time, such as 30s, and exit 124 (default: no limit). Verbs that follow a job "
                  "or a drain wait so long for a lost master; others fail at once")
      ->type_name("TIME");
}

void AddSubmitOptions(CLI::App* app, SubmitOptions* s) {
  AddList(app, "--input", &s->inputs,
          "Input file, directory, glob or URL (http, https, s3), or - for standard input; repeat for several inputs, "
          "in the "
          "job's order")
      ->type_name("PATH");
  app->add_option("--format", s->format, "Format of the inputs: text, kv, csv, jsonl, fixed:N or record")
      ->type_name("FORMAT");
  app->add_option("--output", s->output, "Output directory, which must not exist, or - for standard output")
      ->type_name("PATH");
  app->add_option(
         "--output-format", s->output_format,
         "Format of the output: text, raw, fixed:N or record; text.gz and text.zst are compressed. text has the "
         "bytes of records as they are: numbers that operators encode need record")
      ->type_name("FORMAT");
  app->add_flag("--overwrite", s->overwrite, "Replace an existing output when the job succeeds");
  app->add_option("--reduces", s->reduces,
                  "Number of reduce tasks; 0 for a map-only job (default: chosen from the input size)")
      ->type_name("N");
  app->add_option("--lib", s->lib, "Operator library (.so) that has the job")->type_name("PATH");
  app->add_flag("--local{2}", s->local, "Run here on a private cluster of N workers (--local=N, default 2)");
  app->add_option("--keep-logs", s->keep_logs, "With --local: keep the logs of attempts and daemons in this directory")
      ->type_name("PATH");
  app->add_option("--report", s->report, "Write a page that shows the run to this file when the job has ended")
      ->type_name("PATH");
  app->add_flag("--detach", s->detach, "Print the job's id and do not wait");
  app->add_flag("--dry-run", s->dry_run, "Show the plan and stop (mrctl explain)");
  app->add_option("--name", s->name, "Name of the job (default: JOB)")->type_name("NAME");
  app->add_option("--queue", s->queue, "Queue of the job")->type_name("QUEUE");
  app->add_option("--priority", s->priority, "Priority within the queue; higher runs first (default 0)")
      ->type_name("N");
  app->add_option("--deadline", s->deadline,
                  "Time after submission by which the job should end, such as 10m (default: none)")
      ->type_name("TIME");
  app->add_flag("--strict-deadline", s->strict_deadline, "Exit 8 if the job succeeds after its deadline");
  app->add_flag("--best-effort", s->best_effort, "Accept the job even if its deadline cannot be met");
  AddList(app, "--conf", &s->conf,
          "Setting KEY=VALUE: sort_buffer, max_split_bytes, min_tier (least tier of the workers' rooms) or "
          "jockey.utility (TIME:WORTH,...)")
      ->type_name("KEY=VALUE");
  AddList(app, "--env", &s->env, "Environment variable NAME=VALUE of the operators")->type_name("NAME=VALUE");
  AddList(app, "--label", &s->labels,
          "Label KEY=VALUE that is stored with the job; the label `arguments` has the job's arguments")
      ->type_name("KEY=VALUE");
  app->add_option("--submission-id", s->submission_id,
                  "Id of this submission; a repeated submit of the job with it returns the same job")
      ->type_name("ID");
  app->add_option("--scheduler", s->scheduler,
                  "Policies of the job in place of the cluster's list; none: a list without policies")
      ->type_name("LIST");
  app->add_option("--speculation", s->speculation,
                  "Launch speculative attempts of slow tasks (default auto: if a policy of the list does so)")
      ->type_name("on|off|auto");
  app->add_option("--clone", s->clone,
                  "on: let the list's policies launch several attempts of a task from the start, where that pays "
                  "(mrctl why JOB says if they did); off: never (default auto: as the list says)")
      ->type_name("on|off|auto");
  app->add_option("--max-attempts", s->max_attempts,
                  "Failures of one task's operator that fail the job (default 4). Others, such as a full disk, have a "
                  "limit of 8 "
                  "per task on three workers or on all, and of 100 in any case")
      ->type_name("N");
  app->add_option("--memory", s->memory,
                  "Memory of each attempt, such as 512m. Everywhere a limit of each process's heap and stacks; of all "
                  "its memory, shared mappings too, only on workers with control groups (docs/security.md)")
      ->type_name("SIZE");
  app->add_option("--max-bad-records", s->max_bad_records, "Bad records that the whole job may skip (default 0)")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 53).description(""))
      ->type_name("N");  // the help does not need the bound
  app->add_option("--task-timeout", s->task_timeout,
                  "End an attempt without input, output and counter changes for this time (default 10m; 0: never)")
      ->type_name("TIME");
  app->add_flag(
      "--allow-network", s->allow_network,
      "Let operators and stream commands make internet sockets (default: no sockets at all). A cluster allows it "
      "to administrators, or to the role of mrmaster --network_role");
  app->add_flag("--strict-inputs", s->strict_inputs, "Fail if a local input grows while the job runs");
  AddList(app, "--files", &s->files, "Side file, at $MR_FILES_DIR/NAME for every attempt; repeat for several files")
      ->type_name("PATH[#NAME]");
}

// For verbs that follow a job.
void AddStatusFd(CLI::App* app, GlobalOptions* g) {
  app->add_option("--status-fd", g->status_fd,
                  "Report each change of the job as a line of JSON on this open descriptor, for other programs")
      ->check(CLI::Range(0, 1 << 20).description(""))
      ->type_name("N");
}

// The headings of `mrctl submit --help`, in the order in which they first have an option.
const std::vector<OptionGroup>& SubmitGroups() {
  static const std::vector<OptionGroup> groups = {
      {"Input and output",
       {"--input", "--format", "--output", "--output-format", "--overwrite", "--strict-inputs", "--files"}},
      {"Job", {"--reduces", "--lib", "--name", "--conf", "--env", "--label", "--submission-id", "--max-bad-records"}},
      {"Run on this machine", {"--local", "--keep-logs"}},
      {"Follow and report", {"--report", "--detach", "--dry-run", "--status-fd"}},
      {"Scheduling",
       {"--queue", "--priority", "--deadline", "--strict-deadline", "--best-effort", "--scheduler", "--speculation",
        "--clone"}},
      {"Resources and limits", {"--max-attempts", "--memory", "--task-timeout", "--allow-network"}},
  };
  return groups;
}

void AddSubmit(CLI::App* root, Command* c, const char* name, const char* help, const char* example) {
  CLI::App* app = root->add_subcommand(name, help)->fallthrough();
  app->footer(BuiltinJobsText() + "\n" + kSubmitFooter);
  AddSubmitOptions(app, &c->submit);
  AddStatusFd(app, &c->global);
  GroupOptions(app, SubmitGroups());
  AddExample(app, example);
}

void AddFsOptions(CLI::App* fs, Command* c) {
  struct Sub {
    const char* name;
    const char* arguments;
    const char* help;
    const char* example;
  };
  constexpr Sub kSubs[] = {
      {"ls", "PATH...", "List directories and files", "mrctl fs ls '/data/*.txt'"},
      {"put", "LOCAL... PATH", "Copy local files into the block store; - is standard input",
       "mrctl fs put --overwrite books.txt /data/"},
      {"get", "PATH... LOCAL", "Copy files to a local file or directory", "mrctl fs get /data/counts counts"},
      {"cat", "PATH...", "Print files, and all parts of directories", "mrctl fs cat /data/books.txt"},
      {"text", "PATH...", "Print files and parts of directories, decompressed if their name ends with .gz or .zst",
       "mrctl fs text /data/books.txt"},
      {"head", "PATH...", "Print the first lines of files, and of directories as one text",
       "mrctl fs head -n 3 /data/books.txt"},
      {"tail", "PATH...", "Print the last lines of files, and of directories as one text",
       "mrctl fs tail -n 3 /data/books.txt"},
      {"stat", "PATH...", "Show size, blocks and replication; of directories, the sums of all below them",
       "mrctl fs stat /data/books.txt"},
      {"du", "PATH...", "Show the bytes of each entry of a directory, then of all below it",
       "mrctl fs du --human /data"},
      {"mkdir", "PATH...", "Create directories", "mrctl fs mkdir -p /data/new"},
      {"mv", "FROM TO", "Move a file or directory", "mrctl fs mv /data/old.txt /data/kept.txt"},
      {"cp", "FROM TO", "Copy a file within the block store", "mrctl fs cp --overwrite /data/books.txt /data/copy.txt"},
      {"rm", "PATH...", "Remove files, and with -r directories", "mrctl fs rm -r /data/trash"},
      {"getmerge", "DIRECTORY LOCAL", "Copy all parts of a directory into one local file, with one header",
       "mrctl fs getmerge /data/counts counts.txt"},
      {"setrep", "N PATH...", "Set the number of replicas of files, and of all files below directories",
       "mrctl fs setrep 2 /data/books.txt"},
      {"chown", "OWNER PATH...", "Give paths, and all below them without an owner of their own, to a user",
       "mrctl fs chown anna /data/books.txt"},
      {"chmod", "read=all|owner PATH...", "Let all users read paths and what is below them, or the owner alone",
       "mrctl fs chmod read=all /data/books.txt"},
      {"checksum", "PATH...", "Show the XXH3-128 digest of files", "mrctl fs checksum /data/books.txt"},
  };
  for (const Sub& sub : kSubs) {
    CLI::App* app = AddSub(fs, c, sub.name, sub.help, sub.example);
    app->add_option(
           "paths", c->args,
           "A path without a scheme is in the block store (dfs:///); LOCAL is a local one. PATH may be a pattern, "
           "such as '/data/part-*'. ls, cat, text and getmerge take file:///path, too, without a cluster")
        ->required()
        ->option_text(sub.arguments);
    const std::string name = sub.name;
    if (name == "ls") app->add_flag("-R,--recursive", c->recursive, "List all below directories, too");
    if (name == "du") {
      app->add_flag("-s,--summary", c->summary, "Show one line per path");
      app->add_flag("--human", c->human, "Show sizes such as 1.5 GiB (-h is the help)");
    }
    if (name == "rm") app->add_flag("-r,-R,--recursive", c->recursive, "Remove directories and everything below them");
    if (name == "rm") app->add_flag("-f,--force", c->force, "Ignore missing paths");
    if (name == "put" || name == "get" || name == "getmerge" || name == "cp") {
      app->add_flag("-f,--force,--overwrite", c->force, "Replace existing files");
    }
    if (name == "mkdir")
      app->add_flag("-p,--parents", c->parents, "Accept existing directories (missing parents are always created)");
    if (name == "put") {
      app->add_option("--replication", c->replication, "Replicas of each block (default: the cluster's)")
          ->check(CLI::Range(1, 1 << 20).description(""))
          ->type_name("N");
      app->add_option("--block-size", c->block_size, "Size of a block, such as 64m")->type_name("SIZE");
    }
    if (name == "head" || name == "tail")
      app->add_option("-n", c->lines, "Number of lines (default 10)")->type_name("N");
  }
  AddSub(fs, c, "df", "Show the free space of the block store, per worker and in total", "mrctl fs df");
  fs->require_subcommand(1);
}

void AddJobVerbs(CLI::App* root, Command* c) {
  CLI::App* jobs = root->add_subcommand("jobs", "List jobs, the newest last")->fallthrough();
  AddList(jobs, "--state", &c->states, "Only jobs in these states, separated by commas")
      ->type_name("pending|running|committing|succeeded|failed|killing|killed");
  jobs->add_option("--name", c->name_glob, "Only jobs whose name matches this pattern, such as 'sales-*'")
      ->type_name("GLOB");
  jobs->add_option("--owner", c->owner, "Only jobs that this user submitted")->type_name("NAME");
  jobs->add_option("--since", c->since, "Only jobs that have not ended, or ended within this time, such as 2h")
      ->type_name("TIME");
  jobs->add_flag("--local", c->local_runs, "List the remembered runs of submit --local, without a master");
  AddExample(jobs, "mrctl jobs --state running,failed --since 2h");
  CLI::App* job = root->add_subcommand("job", "Show or change one job: show, stages, tasks, attempts, counters, set")
                      ->fallthrough();
  struct Side {
    const char* name;
    const char* help;
  };
  constexpr Side kSides[] = {
      {"show", "Show state, output and stages"},
      {"stages", "Show tasks, bytes and records of each stage"},
      {"tasks", "Show the state of each task and the replicas of its output"},
      {"attempts", "Show worker, running time and failure of each attempt"},
      {"counters", "Show the counters of the operators"},
  };
  for (const Side& side : kSides) {
    const std::string name = side.name;
    AddSub(job, c, name, side.help, "mrctl job " + name + " job_1_0001")
        ->add_option("job", c->args, kRunWord)
        ->required();
  }
  CLI::App* set =
      AddSub(job, c, "set", "Change priority or deadline of a running job; an omitted option keeps its value",
             "mrctl job set job_1_0002 --priority 5");
  set->add_option("job", c->args, kJobWord)->required();
  set->add_option("--priority", c->priority, "Priority within the queue; higher runs first")->type_name("N");
  set->add_option("--deadline", c->deadline, "Time after submission, such as 10m, or none")->type_name("TIME");
  job->require_subcommand(1);
  struct Verb {
    const char* name;
    const char* what;
    const char* help;
    const char* example;
  };
  constexpr Verb kVerbs[] = {
      {"wait", kJobWord, "Wait until jobs end; exit like submit", "mrctl wait job_1_0001"},
      {"attach", kJobWord, "Follow a running job", "mrctl attach job_1_0001"},
      {"kill", kJobWord, "Kill jobs", "mrctl kill job_1_0002 --reason 'not needed any more'"},
      {"logs", "Job: id, number, name, or last; or id of a task or attempt",
       "Print the logs of attempts, failed ones first", "mrctl logs job_1_0001 --tail 5"},
      {"why", "Job: id, number, name, or last; local_0017, a remembered run; or id of a task, attempt or worker",
       "Summarize a job in five lines (-v: all that is known), or explain decisions about the others",
       "mrctl why job_1_0001"},
      {"report", kRunWord, "Print a page that shows a job's run, where the time went, and what would help",
       "mrctl report job_1_0001 > job.html"},
      {"trace", kRunWord, "Print a job's attempts over time, for ui.perfetto.dev or chrome://tracing",
       "mrctl trace job_1_0001 > trace.json"},
  };
  for (const Verb& verb : kVerbs) {
    CLI::App* app = root->add_subcommand(verb.name, verb.help)->fallthrough();
    const std::string name = verb.name;
    app->add_option(name == "logs" || name == "why" ? "id" : "job", c->args, verb.what)->required();
    if (name == "attach" || name == "wait") AddStatusFd(app, &c->global);
    if (name == "kill") app->add_option("--reason", c->why, "Reason that is stored with the job")->type_name("TEXT");
    if (name == "logs") {
      app->add_option("--tail", c->tail,
                      "Last lines per attempt (default: all kept lines of one attempt, 20 of each of several)")
          ->type_name("N");
      app->add_flag("-f,--follow", c->follow_logs, "Go on printing what running attempts write, until they have ended");
      app->add_option("--grep", c->grep, "Print the matching lines of whole logs (RE2), after the attempt's name")
          ->type_name("PATTERN");
    }
    AddExample(app, verb.example);
  }
  CLI::App* history = root->add_subcommand("history", "List ended jobs, the most recent first")->fallthrough();
  history->add_option("--limit", c->limit, "Number of jobs (default 20)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}).description(""))
      ->type_name("N");
  AddList(history, "--state", &c->states, "Only jobs in these states, separated by commas")
      ->type_name("succeeded|failed|killed");
  history->add_option("--name", c->name_glob, "Only jobs whose name matches this pattern, such as 'sales-*'")
      ->type_name("GLOB");
  history->add_option("--owner", c->owner, "Only jobs that this user submitted")->type_name("NAME");
  history->add_option("--since", c->since, "Only jobs that ended within this time, such as 2h")->type_name("TIME");
  history->add_option("--keep", c->keep, "With --local: remove the records of all but the newest N runs first")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}).description(""))
      ->type_name("N");
  history->add_flag("--local", c->local_runs, "List the remembered runs of submit --local, without a master");
  AddExample(history, "mrctl history --limit 5");
}

void AddProfile(CLI::App* root, Command* c) {
  CLI::App* profile =
      root->add_subcommand("profile", "Show the profile that earlier runs of a job left: show")->fallthrough();
  profile->require_subcommand(1);
  AddSub(profile, c, "show", "Show task times by stage; -o json has all samples", "mrctl profile show wordcount")
      ->add_option("name", c->args, "Name of the job, as shown by mrctl jobs")
      ->required()
      ->expected(1);
}

void AddSdk(CLI::App* root, Command* c) {
  CLI::App* sdk = root->add_subcommand("sdk", "Write operator libraries: new, check")->fallthrough();
  sdk->require_subcommand(1);
  CLI::App* create = AddSub(sdk, c, "new", "Create the project of an operator library, with a job and its test",
                            "mrctl sdk new --template join visits");
  create
      ->add_option("name", c->args,
                   "Name of the project: lower-case letters, digits and '_'. It names the library, the job, the files "
                   "and, without "
                   "DIRECTORY, the directory (./NAME)")
      ->required()
      ->expected(1, 2)
      ->option_text("NAME [DIRECTORY]");
  create
      ->add_option("--template", c->project_template,
                   "Job of the project: a map and a reduce (default), a join of two inputs, or three stages with a "
                   "broadcast side input")
      ->type_name("map|join|dag");
  CLI::App* check =
      AddSub(sdk, c, "check",
             "Check whether a library can be loaded on this machine and whether its stages agree about types; "
             "list its contents",
             "");
  check->add_option("library", c->args, "Library, a .so file")->required()->expected(1)->type_name("PATH");
  check->footer("Exit: 0 can be submitted, 2 cannot be submitted (all reasons are printed), 7 no such file.");
  AddExample(check, "mrctl sdk check libvisits.so");
}

void AddTask(CLI::App* root, Command* c) {
  CLI::App* task = root->add_subcommand("task", "Replay one attempt: replay")->fallthrough()->require_subcommand(1);
  CLI::App* replay = AddSub(task, c, "replay", "Run an attempt again on this machine, with the same inputs", "");
  replay->add_option("attempt", c->args, "Attempt id, attempt_...")->required()->expected(1);
  replay->add_option("--lib", c->replay_lib, "Operator library of the job, if it has its own")->type_name("PATH");
  AddList(replay, "--files", &c->replay_files, "Side file of the job, as at submit; repeat for several files")
      ->type_name("PATH[#NAME]");
  CLI::Option* gdb = replay->add_flag("--gdb", c->gdb, "Run under gdb on this terminal, to the crash at once");
  replay->add_option("--perf", c->perf, "Run under perf, and write a flame graph of the CPU time to this SVG file")
      ->type_name("FILE")
      ->excludes(gdb);
  replay->footer(
      "Output records are counted and dropped. What the operator prints goes to standard error.\n"
      "Tasks whose output the attempt read run first, to make it again.\n"
      "Exit: 0 ran to its end, 1 failed, 2 another library or side file,\n"
      "3 its inputs have changed or cannot be made again, 7 no such attempt.");
  AddExample(replay, "mrctl task replay attempt_1_0001_0_m_000000_1");
}

void AddWhatif(CLI::App* root, Command* c) {
  CLI::App* app =
      root->add_subcommand("whatif", "Simulate jobs that succeeded with other policies or workers")->fallthrough();
  app->add_option("job", c->args, std::string(kRunWord) + "; without one, --compare takes all ended jobs")
      ->expected(0, 1);
  app->add_option(
         "--compare", c->whatif.compare,
         "Compare lists of policies, with bands for the model's error; each value is LIST or recorded, perhaps "
         "with --workers N and --slots N: 'fair --workers 20'")
      ->type_name("LIST...");
  app->add_option("--since", c->whatif.since, "With --compare: jobs that ended in this time (default 7d)")
      ->type_name("TIME");
  app->add_flag("--local", c->local_runs, "With --compare: remembered runs of submit --local, without a master");
  app->add_option(
         "--scheduler", c->whatif.scheduler,
         "Policies in order, separated by commas, each NAME or NAME(PARAMETER=VALUE,...); or the name of a list "
         "(mrctl schedulers)")
      ->type_name("LIST");
  app->add_option("--workers", c->whatif.workers,
                  "Number of workers, with the speeds of the run's workers (default: as in the run)")
      ->check(CLI::Range(1u, 100'000u).description(""))
      ->type_name("N");
  app->add_option("--slots", c->whatif.slots, "Slots per worker (default: as in the run)")
      ->check(CLI::Range(1u, 10'000u).description(""))
      ->type_name("N");
  app->footer(
      "mrsim simulates the job from the times of its attempts: first as it was, which shows the model's error.\n"
      "Exit: 0, 2 usage or a bad list, 3 the job has not ended or did not succeed, 5 no master, 7 no such job.");
  AddExample(app,
             "mrctl whatif job_1_0001 --workers 10\n  mrctl whatif --since 7d --compare cautious plain 'recorded "
             "--workers 20'");
}

void AddSchedulers(CLI::App* root) {
  CLI::App* app =
      root->add_subcommand("schedulers", "List the named lists of policies, and all policies")->fallthrough();
  app->footer(
      "The lists and policies of this release, as mrmaster --scheduler and mrsim take them. No master is asked.\n"
      "docs/operating.md says what each policy does.");
  AddExample(app, "mrctl schedulers");
}

void AddClusterVerbs(CLI::App* root, Command* c) {
  AddExample(root->add_subcommand("workers", "List all workers")->fallthrough(), "mrctl workers");
  CLI::App* worker =
      root->add_subcommand("worker", "Show or change one worker: show, drain, undrain, exclude, include, forget")
          ->fallthrough();
  struct Sub {
    const char* name;
    const char* help;
    const char* example;
  };
  constexpr Sub kSubs[] = {
      {"show", "Show a worker, its attempts, and why the scheduler avoids it", "mrctl worker show w1"},
      {"drain", "Let running attempts finish, copy blocks and needed outputs away, and start nothing new there",
       "mrctl worker drain w2"},
      {"undrain", "End a drain and let the worker take work again", "mrctl worker undrain w2"},
      {"exclude", "Treat the worker as lost at once, until it is included again", "mrctl worker exclude w2"},
      {"include", "Let an excluded worker register again", "mrctl worker include w2"},
      {"forget", "Remove a worker that is gone for good from all lists", "mrctl worker forget w2"},
  };
  for (const Sub& sub : kSubs) {
    CLI::App* app = AddSub(worker, c, sub.name, sub.help, sub.example);
    app->add_option("worker", c->args, "Id of the worker, such as w1, or its name")->required();
    if (std::string_view(sub.name) == "forget") {
      app->add_flag("-f,--force", c->force,
                    "Forget it although it is excluded, or blocks may have their last replica there");
      app->footer(
          "Refused (3) for a worker that is live or excluded, and where a block may have its last replica there. A\n"
          "worker that comes back later gets a new id, is not excluded, and its blocks are copied to other workers\n"
          "before they count.");
      AddExample(app, sub.example);
      continue;
    }
    if (std::string_view(sub.name) != "drain") continue;
    app->add_flag("--wait", c->wait,
                  "Show progress and time left until every worker is safe to stop, at most for --timeout");
    app->footer(
        "Safe to stop: no attempt runs there, each block has enough replicas elsewhere, and no job needs an\n"
        "output that only this worker has. `mrctl worker show` says why a worker is not safe to stop yet.\n"
        "Exit: 0; with --wait, 124 after --timeout and 130 after Ctrl-C. The drain goes on in both cases.");
    AddExample(app, sub.example);
  }
  worker->require_subcommand(1);
  AddExample(root->add_subcommand("queues", "List all queues")->fallthrough(), "mrctl queues");
  CLI::App* queue = root->add_subcommand("queue", "Change one queue: set")->fallthrough()->require_subcommand(1);
  CLI::App* set =
      AddSub(queue, c, "set",
             "Change weight or shares of a queue; an omitted option keeps its value, and defaults (1, 0, 0) "
             "remove a queue without jobs",
             "mrctl queue set night --weight 0.5");
  set->add_option("queue", c->args, "Name of the queue")->required()->expected(1);
  set->add_option("--weight", c->weight, "Weight: slots are shared in proportion to it")->type_name("N");
  set->add_option("--min-share", c->min_share,
                  "Minimum share: slots that the queue gets before others while it has jobs; 0: none")
      ->type_name("N");
  set->add_option("--max-share", c->max_share, "Maximum share in slots; 0: no limit")->type_name("N");
  CLI::App* top =
      root->add_subcommand("top", "Show jobs and workers; on a terminal every second, until q")->fallthrough();
  AddExample(top, "mrctl top");
  CLI::App* doctor =
      root->add_subcommand("doctor", "Find faults here and in the cluster, and suggest remedies")->fallthrough();
  doctor
      ->add_option("--bundle", c->bundle,
                   "Also write an archive for a bug report: these checks, versions, settings, lists of the master, "
                   "failed jobs, logs and metrics that can be reached; .tar.gz, or .tar.zst by default")
      ->type_name("PATH");
  doctor->add_flag("-f,--force", c->force, "Replace the file of --bundle");
  doctor->footer(
      "Exit: 0 no fault, perhaps warnings; 1 a check failed; 3 the file of --bundle exists; 5 no master.\n"
      "A bundle is readable by you only, and what looks like a secret in it is redacted.");
  AddExample(doctor, "mrctl doctor");
}

void AddStore(CLI::App* root, Command* c) {
  CLI::App* store = root->add_subcommand("store", "Manage the block store as a whole: safemode")->fallthrough();
  store->require_subcommand(1);
  CLI::App* safemode =
      AddSub(store, c, "safemode", "Show whether the master is in safe mode, and why, or end it (off)", "");
  safemode->add_option("state", c->args, "off: accept that records of the journal are lost, and end safe mode")
      ->type_name("off")
      ->expected(0, 1)
      ->check(CLI::IsMember({"off"}).description(""));
  safemode->footer(
      "In safe mode the master takes no jobs and no changes of files, and deletes no block. After a start it waits\n"
      "for its workers, and safe mode ends by itself. When records of its journal are lost it waits for an operator.");
  AddExample(safemode, "mrctl store safemode");
}

void AddOwnVerbs(CLI::App* root, Command* c) {
  CLI::App* config = root->add_subcommand("config", "Show the current settings: view")->fallthrough();
  config->require_subcommand(1);
  CLI::App* view = AddSub(config, c, "view", "Show each setting, and the context", "mrctl config view --show-origin");
  view->add_flag("--show-origin", c->show_origin, "Show the origin of each setting, too");
  CLI::App* completion =
      root->add_subcommand("completion", "Print a shell script that completes words of mrctl")->fallthrough();
  completion->add_option("shell", c->args, "bash, zsh or fish")->required()->expected(1)->type_name("bash|zsh|fish");
  completion->footer(
      "bash: source <(mrctl completion bash)     zsh: source <(mrctl completion zsh), after compinit\n"
      "fish: mrctl completion fish | source");
  AddExample(completion, "mrctl completion bash > mrctl.bash");
  AddExample(root->add_subcommand("version", "Show the versions of mrctl and of the master")->fallthrough(),
             "mrctl version");
}

// Heading of a group of verbs in `mrctl help`. A verb without a group is listed under "Subcommands".
struct Group {
  const char* heading;
  std::vector<const char*> verbs;
};
const std::vector<Group>& Groups() {
  static const std::vector<Group> groups = {
      {"Run jobs", {"submit", "explain", "wait", "attach", "kill"}},
      {"Look at jobs", {"jobs", "job", "history", "logs", "why", "report", "trace", "profile", "whatif", "schedulers"}},
      {"Cluster", {"workers", "worker", "queues", "queue", "top", "page", "doctor"}},
      {"People and credentials", {"cluster", "token"}},
      {"Files", {"fs", "store"}},
      {"Write operators", {"sdk", "task"}},
      {"mrctl itself", {"config", "completion", "version"}},
  };
  return groups;
}

}  // namespace

void AddExample(CLI::App* app, const std::string& example) {
  const std::string before = app->get_footer();
  app->footer(before + (before.empty() ? "" : "\n\n") + "Example:\n  " + example);
}

CLI::App* AddSub(CLI::App* above, Command* c, const std::string& name, const std::string& help,
                 const std::string& example) {
  CLI::App* app = above->add_subcommand(name, help)->fallthrough();
  app->parse_complete_callback([c, name] { c->sub = name; });
  if (!example.empty()) AddExample(app, example);
  return app;
}

void AddGlobals(CLI::App* root, Command* c) {
  root->formatter(MakeHelpFormatter());
  root->require_subcommand(1);
  root->fallthrough();
  AddGlobalOptions(root, &c->global);
}

void AddVerbs(CLI::App* root, Command* c, std::string_view only) {
  const bool one = only == "submit" || only == "explain";
  if (!one || only == "submit") AddSubmit(root, c, "submit", "Run a job and follow it", kSubmitExample);
  if (!one || only == "explain") {
    AddSubmit(root, c, "explain", "Show the plan and the prediction of a submit, without running it", kExplainExample);
  }
  if (one) return;
  AddJobVerbs(root, c);
  AddProfile(root, c);
  AddWhatif(root, c);
  AddSchedulers(root);
  AddSdk(root, c);
  AddTask(root, c);
  AddClusterVerbs(root, c);
  AddPeopleVerbs(root, c);
  AddFsOptions(root->add_subcommand("fs", "Manage files of the block store")->fallthrough(), c);
  AddStore(root, c);
  AddOwnVerbs(root, c);
  for (const Group& group : Groups()) {
    for (const char* verb : group.verbs) root->get_subcommand(verb)->group(group.heading);
  }
  root->footer("`mrctl help COMMAND` and `mrctl help JOB` explain a command and a job, with an example.");
}

}  // namespace mr::ctl
