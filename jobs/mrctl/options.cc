// What each verb is called, takes and says of itself. The examples are run by tests/cluster/examples_test.cc, which
// says what they may count on.
#include "jobs/mrctl/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string_view>

#include "jobs/mrctl/option_tree.h"

namespace mr::ctl {
namespace {

constexpr char kSubmitFooter[] =
    "Form: [OPTIONS] JOB [JOB FLAGS] [-- ARGUMENTS]\n"
    "JOB is a built-in job (aggregate, distinct, grep, invertedindex, join, pagerank, sessionize, sort, stream,\n"
    "terasort, topk, topwords, triangles, wordcount), a job of --lib, a .toml or .json job file, or - for one on\n"
    "standard input. `mrctl submit JOB --help` shows its flags.\n"
    "A job file has these options as keys; [[step]] tables chain jobs, each reading what the one before writes.\n"
    "Words behind JOB: a flag that JOB claims is JOB's, one that submit knows is submit's, all else is\n"
    "JOB's; behind -- everything is JOB's.\n"
    "Exit: 0 succeeded, 1 failed, 2 usage, 3 rejected, 4 killed, 5 no master, 6 not allowed, 7 not found,\n"
    "8 missed its deadline (--strict-deadline), 70 internal, 124 --timeout ran out, 130 interrupted.";

// A repeatable option: one value each time it is written.
CLI::Option* AddList(CLI::App* app, const char* name, std::vector<std::string>* values, const char* help) {
  return app->add_option(name, *values, help)->allow_extra_args(false);
}

constexpr char kSubmitExample[] = "mrctl submit wordcount --input /data/books.txt --output /data/words";
constexpr char kExplainExample[] = "mrctl explain wordcount --input /data/books.txt --output /data/words2";

// Behind what the footer says already.
void AddExample(CLI::App* app, const std::string& example) {
  const std::string before = app->get_footer();
  app->footer(before + (before.empty() ? "" : "\n") + "Example:\n  " + example);
}

// A verb below another; its word goes to Command::sub.
CLI::App* AddSub(CLI::App* above, Command* c, const std::string& name, const std::string& help,
                 const std::string& example) {
  CLI::App* app = above->add_subcommand(name, help)->fallthrough();
  app->parse_complete_callback([c, name] { c->sub = name; });
  if (!example.empty()) AddExample(app, example);
  return app;
}

void AddGlobalOptions(CLI::App* app, GlobalOptions* g) {
  app->add_option("--master", g->master, "HOST:PORT of the master (MR_MASTER; default 127.0.0.1:7070)");
  app->add_option("-o", g->form, "for people, as one document, or a line for each element")
      ->type_name("table|json|ndjson");
  app->add_flag("-q,--quiet", g->quiet, "only results and errors");
  app->add_flag("-v,--verbose", g->verbose, "say more on stderr");
  app->add_flag("--no-color", g->no_color, "no colour (also NO_COLOR)");
  app->add_flag("--no-progress", g->no_progress, "no progress lines");
  app->add_option("--timeout", g->timeout, "give up after this time, as 30s; exit 124");
}

void AddSubmitOptions(CLI::App* app, SubmitOptions* s) {
  AddList(app, "--input", &s->inputs, "file, directory or glob; repeatable; the job numbers them")->type_name("PATH");
  app->add_option("--format", s->format, "of the inputs: text kv csv jsonl fixed:N record");
  app->add_option("--output", s->output, "directory that must not exist, or - for standard output")->type_name("PATH");
  app->add_option("--output-format", s->output_format, "text, raw, fixed:N or record; compressed as text.gz, text.zst");
  app->add_flag("--overwrite", s->overwrite, "replace an existing output when the job succeeds");
  app->add_option("--reduces", s->reduces,
                  "number of reduce tasks; 0 for a map-only job (default: chosen from the input size)");
  app->add_option("--lib", s->lib, "operator library (.so) with the job")->type_name("PATH");
  app->add_flag("--local{2}", s->local, "run here: a private cluster of N workers (--local=N, default 2)");
  app->add_option("--keep-logs", s->keep_logs,
                  "with --local: put what its attempts and daemons wrote into this directory")
      ->type_name("PATH");
  app->add_flag("--detach", s->detach, "print the job's id and do not wait");
  app->add_flag("--dry-run", s->dry_run, "show the plan and stop (mrctl explain)");
  app->add_option("--name", s->name, "name of the job, for people");
  app->add_option("--queue", s->queue, "queue");
  app->add_option("--priority", s->priority, "higher goes first within its queue");
  app->add_option("--deadline", s->deadline, "time the job should be done in, as 10m");
  app->add_flag("--strict-deadline", s->strict_deadline, "exit 8 when it succeeds but later");
  app->add_flag("--best-effort", s->best_effort, "run also where the deadline cannot be met");
  AddList(app, "--conf", &s->conf, "KEY=VALUE: sort_buffer, max_split_bytes, jockey.utility (TIME:WORTH,...)");
  AddList(app, "--env", &s->env, "NAME=VALUE that operators see");
  AddList(app, "--label", &s->labels, "KEY=VALUE that is kept with the job");
  app->add_option("--submission-id", s->submission_id, "the same id and job again gives the same job");
  app->add_option("--scheduler", s->scheduler, "policies of the job in place of the cluster's, or none");
  app->add_option("--speculation", s->speculation, "copies of slow attempts (auto: as the list has it)")
      ->type_name("on|off|auto");
  app->add_option("--clone", s->clone, "several attempts from the start")->type_name("on|off|auto");
  app->add_option("--max-attempts", s->max_attempts, "failures of one task that fail the job (4)");
  app->add_option("--memory", s->memory, "of each attempt, as 512m");
  app->add_option("--max-bad-records", s->max_bad_records, "records that may be skipped, in the whole job (0)")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 53).description(""));  // the help needs no 2^53
  app->add_option(
      "--task-timeout", s->task_timeout,
      "end an attempt that takes no input, gives no output and changes no counter for this time (10m; 0 never)");
  app->add_flag("--strict-inputs", s->strict_inputs, "fail when a local input grows while the job runs");
  AddList(app, "--files", &s->files, "a file that every attempt finds as $MR_FILES_DIR/NAME; repeatable")
      ->type_name("PATH[#NAME]");
}

void AddFsOptions(CLI::App* fs, Command* c) {
  struct Sub {
    const char* name;
    const char* help;
    const char* example;
  };
  constexpr Sub kSubs[] = {
      {"ls", "PATH...: what is in a directory", "mrctl fs ls /data"},
      {"put", "LOCAL... PATH: copy in (- is standard input)", "mrctl fs put --overwrite books.txt /data/"},
      {"get", "PATH... LOCAL: copy out", "mrctl fs get /data/counts counts"},
      {"cat", "PATH...: to standard output", "mrctl fs cat /data/books.txt"},
      {"head", "PATH: first lines", "mrctl fs head -n 3 /data/books.txt"},
      {"tail", "PATH: last lines", "mrctl fs tail -n 3 /data/books.txt"},
      {"stat", "PATH...: size, blocks, replication", "mrctl fs stat /data/books.txt"},
      {"du", "PATH...: bytes below", "mrctl fs du /data"},
      {"mkdir", "PATH...", "mrctl fs mkdir -p /data/new"},
      {"mv", "FROM TO", "mrctl fs mv /data/old.txt /data/kept.txt"},
      {"cp", "FROM TO: a second file of the same bytes", "mrctl fs cp --overwrite /data/books.txt /data/copy.txt"},
      {"rm", "[-r] PATH...", "mrctl fs rm -r /data/trash"},
      {"getmerge", "DIRECTORY LOCAL: its parts as one file", "mrctl fs getmerge /data/counts counts.txt"},
      {"checksum", "PATH...: XXH3-128 of the bytes of files", "mrctl fs checksum /data/books.txt"},
  };
  for (const Sub& sub : kSubs) {
    CLI::App* app = AddSub(fs, c, sub.name, sub.help, sub.example);
    app->add_option("paths", c->args, "paths; a bare one is dfs:///")->required();
    const std::string name = sub.name;
    if (name == "rm") app->add_flag("-r,-R,--recursive", c->recursive, "directories too");
    if (name == "rm") app->add_flag("-f,--force", c->force, "absent is fine");
    if (name == "put" || name == "get" || name == "getmerge" || name == "cp") {
      app->add_flag("-f,--force,--overwrite", c->force, "replace what exists");
    }
    if (name == "mkdir") app->add_flag("-p,--parents", c->parents, "existing is fine");
    if (name == "put") {
      app->add_option("--replication", c->replication, "copies of each block");
      app->add_option("--block-size", c->block_size, "as 64m");
    }
    if (name == "head" || name == "tail") app->add_option("-n", c->lines, "lines (10)");
  }
  AddSub(fs, c, "df", "room of the block store, on each worker and in all", "mrctl fs df");
  fs->require_subcommand(1);
}

void AddJobVerbs(CLI::App* root, Command* c) {
  AddExample(root->add_subcommand("jobs", "all jobs")->fallthrough(), "mrctl jobs");
  CLI::App* job = root->add_subcommand("job", "one job: show, stages, tasks, attempts, counters, set")->fallthrough();
  struct Side {
    const char* name;
    const char* help;
  };
  constexpr Side kSides[] = {
      {"show", "its state, output and stages"},
      {"stages", "tasks, bytes and records of each"},
      {"tasks", "which are done, and where their outputs are"},
      {"attempts", "where each ran, how long, and what failed it"},
      {"counters", "what its operators counted"},
  };
  for (const Side& side : kSides) {
    const std::string name = side.name;
    AddSub(job, c, name, side.help, "mrctl job " + name + " job_1_0001")
        ->add_option("id", c->args, "job_...")
        ->required();
  }
  CLI::App* set = AddSub(job, c, "set", "priority and deadline of a running job; what is not given stays as it is",
                         "mrctl job set job_1_0002 --priority 5");
  set->add_option("id", c->args, "job_...")->required();
  set->add_option("--priority", c->priority, "higher goes first within its queue");
  set->add_option("--deadline", c->deadline, "time from its submission, as 10m, or none");
  job->require_subcommand(1);
  struct Verb {
    const char* name;
    const char* what;
    const char* help;
    const char* example;
  };
  constexpr Verb kVerbs[] = {
      {"wait", "job_...", "until the job has ended; exits as submit would", "mrctl wait job_1_0001"},
      {"attach", "job_...", "follow a running job", "mrctl attach job_1_0001"},
      {"kill", "job_...", "end jobs", "mrctl kill job_1_0002 --reason 'not needed any more'"},
      {"logs", "job, task or attempt", "what attempts wrote, those that failed first",
       "mrctl logs job_1_0001 --tail 5"},
      {"why", "job, task, attempt or worker", "the scheduler's reasons", "mrctl why job_1_0001"},
      {"trace", "job_...", "an ended job's attempts over time, for ui.perfetto.dev or chrome://tracing",
       "mrctl trace job_1_0001 > trace.json"},
  };
  for (const Verb& verb : kVerbs) {
    CLI::App* app = root->add_subcommand(verb.name, verb.help)->fallthrough();
    const std::string name = verb.name;
    app->add_option("id", c->args, verb.what)->required();
    if (name == "kill") app->add_option("--reason", c->why, "kept with the job");
    if (name == "logs") {
      app->add_option("--tail", c->tail, "last lines of each attempt (of several: 20; of one: all that is kept)");
    }
    AddExample(app, verb.example);
  }
  CLI::App* history = root->add_subcommand("history", "jobs that have ended, the last one first")->fallthrough();
  history->add_option("--limit", c->limit, "so many (20)")->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}));
  AddExample(history, "mrctl history --limit 5");
}

void AddProfile(CLI::App* root, Command* c) {
  CLI::App* profile = root->add_subcommand("profile", "what earlier runs of a job taught: show")->fallthrough();
  profile->require_subcommand(1);
  AddSub(profile, c, "show", "stages, with how long their tasks took; -o json has all samples",
         "mrctl profile show wordcount")
      ->add_option("name", c->args, "name of the job, as mrctl jobs has it")
      ->required()
      ->expected(1);
}

void AddSdk(CLI::App* root, Command* c) {
  CLI::App* sdk = root->add_subcommand("sdk", "for writers of operators: new, check")->fallthrough();
  sdk->require_subcommand(1);
  AddSub(sdk, c, "new", "write a project of an operator library that builds and passes its test",
         "mrctl sdk new wordstats")
      ->add_option("name", c->args, "NAME [DIRECTORY (default: ./NAME)]")
      ->required()
      ->expected(1, 2);
  CLI::App* check =
      AddSub(sdk, c, "check",
             "whether a library can be loaded on this machine, what is in it, and whether its stages agree "
             "about types",
             "");
  check->add_option("library", c->args, "LIBRARY.so")->required()->expected(1)->type_name("PATH");
  check->footer("Exit: 0 it can be submitted, 2 it cannot (all reasons are told), 7 no such file.");
  AddExample(check, "mrctl sdk check libvisits.so");
}

void AddTask(CLI::App* root, Command* c) {
  CLI::App* task = root->add_subcommand("task", "one attempt: replay")->fallthrough()->require_subcommand(1);
  CLI::App* replay = AddSub(task, c, "replay", "run an attempt that reads only files again, on this machine", "");
  replay->add_option("attempt", c->args, "attempt_...")->required()->expected(1);
  replay->add_option("--lib", c->replay_lib, "the operator library of the job, where it has its own")
      ->type_name("PATH");
  AddList(replay, "--files", &c->replay_files, "a side file of the job, as submit had it; repeatable")
      ->type_name("PATH[#NAME]");
  replay->add_flag("--gdb", c->gdb, "under gdb, on this terminal");
  replay->footer(
      "Its output is counted and dropped; what the operator prints goes to standard error.\n"
      "Exit: 0 it ran to its end, 1 it failed, 2 another library or side file,\n"
      "3 it reads what other tasks wrote, 7 no such attempt.");
  AddExample(replay, "mrctl task replay attempt_1_0001_0_m_000000_1");
}

void AddWhatif(CLI::App* root, Command* c) {
  CLI::App* app =
      root->add_subcommand("whatif", "a job that succeeded, simulated under another list or number of workers")
          ->fallthrough();
  app->add_option("id", c->args, "job_...")->required();
  app->add_option("--scheduler", c->whatif.scheduler, "policies, comma-separated, as fair,late(cap=0.2)");
  app->add_option("--workers", c->whatif.workers, "so many workers, as fast as those that there were")
      ->check(CLI::Range(1u, 100'000u));
  app->add_option("--slots", c->whatif.slots, "so many slots on each")->check(CLI::Range(1u, 10'000u));
  app->footer(
      "Simulated with mrsim from the times of the job's attempts; first as it was, which shows the model's error.\n"
      "Exit: 0, 2 usage or a bad list, 3 the job has not ended or did not succeed, 5 no master, 7 no such job.");
  AddExample(app, "mrctl whatif job_1_0001 --workers 10");
}

void AddClusterVerbs(CLI::App* root, Command* c) {
  AddExample(root->add_subcommand("workers", "all workers")->fallthrough(), "mrctl workers");
  CLI::App* worker =
      root->add_subcommand("worker", "one worker: show, drain, undrain, exclude, include")->fallthrough();
  struct Sub {
    const char* name;
    const char* help;
    const char* example;
  };
  constexpr Sub kSubs[] = {
      {"show", "what it is, what runs on it, and what the scheduler holds against it", "mrctl worker show w1"},
      {"drain", "let running attempts finish, copy the blocks away, and start nothing new there",
       "mrctl worker drain w2"},
      {"undrain", "let it take work again; ends a drain", "mrctl worker undrain w2"},
      {"exclude", "give it up at once: what it runs runs elsewhere, and it may not come back",
       "mrctl worker exclude w2"},
      {"include", "one that was excluded may register again", "mrctl worker include w2"},
  };
  for (const Sub& sub : kSubs) {
    CLI::App* app = AddSub(worker, c, sub.name, sub.help, sub.example);
    app->add_option("id", c->args, "w...")->required();
    if (std::string_view(sub.name) != "drain") continue;
    app->add_flag("--wait", c->wait, "show progress until each of them is safe to stop, at most for --timeout");
    app->footer(
        "Safe to stop: no attempt runs there, each block has enough replicas elsewhere, and no job needs an\n"
        "output that only this worker has. `mrctl worker show` says what it waits for.\n"
        "Exit: 0, with --wait 124 where --timeout came first; the drain goes on, as after Ctrl-C (130).");
    AddExample(app, sub.example);
  }
  worker->require_subcommand(1);
  AddExample(root->add_subcommand("queues", "all queues")->fallthrough(), "mrctl queues");
  CLI::App* queue = root->add_subcommand("queue", "one queue: set")->fallthrough()->require_subcommand(1);
  CLI::App* set = AddSub(queue, c, "set", "shares of a queue; what is not given stays as it is",
                         "mrctl queue set night --weight 0.5");
  set->add_option("queue", c->args, "its name")->required()->expected(1);
  set->add_option("--weight", c->weight, "slots in proportion to it");
  set->add_option("--min-share", c->min_share, "slots that it gets before others");
  set->add_option("--max-share", c->max_share, "slots that it never exceeds; 0 = no limit");
  CLI::App* top = root->add_subcommand("top", "jobs and workers, again every second on a terminal")->fallthrough();
  AddExample(top, "mrctl top");
  CLI::App* doctor =
      root->add_subcommand("doctor", "what is wrong here and in the cluster, and what to do")->fallthrough();
  doctor->footer("Exit: 0 all is well or only warned of, 1 a check failed, 5 no master.");
  AddExample(doctor, "mrctl doctor");
}

void AddStore(CLI::App* root, Command* c) {
  CLI::App* store = root->add_subcommand("store", "the block store as a whole: safemode")->fallthrough();
  store->require_subcommand(1);
  CLI::App* safemode = AddSub(store, c, "safemode", "whether the master is in safe mode, and why; off: end it", "");
  safemode->add_option("state", c->args, "off: accept that records of the journal are lost")
      ->type_name("off")
      ->expected(0, 1)
      ->check(CLI::IsMember({"off"}).description(""));
  safemode->footer(
      "In safe mode the master takes no jobs and no changes of files, and deletes no block. It waits for\n"
      "workers after a start (this ends by itself), or for an operator when records of its journal are lost.");
  AddExample(safemode, "mrctl store safemode");
}

void AddOwnVerbs(CLI::App* root, Command* c) {
  CLI::App* config = root->add_subcommand("config", "the settings that are in force: view")->fallthrough();
  config->require_subcommand(1);
  CLI::App* view = AddSub(config, c, "view", "each setting, and the context", "mrctl config view --show-origin");
  view->add_flag("--show-origin", c->show_origin, "and what set it");
  CLI::App* completion =
      root->add_subcommand("completion", "a script by which a shell completes words of mrctl")->fallthrough();
  completion->add_option("shell", c->args, "bash or zsh")->required()->expected(1)->type_name("bash|zsh");
  completion->footer("bash: source <(mrctl completion bash)     zsh: source <(mrctl completion zsh), behind compinit");
  AddExample(completion, "mrctl completion bash > mrctl.bash");
  AddExample(root->add_subcommand("version", "of mrctl and of the master")->fallthrough(), "mrctl version");
}

// Heading of a verb in `mrctl help`; a verb that is not here stands under "Subcommands".
struct Group {
  const char* heading;
  std::vector<const char*> verbs;
};
const std::vector<Group>& Groups() {
  static const std::vector<Group> groups = {
      {"Run jobs", {"submit", "explain", "wait", "attach", "kill"}},
      {"Look at jobs", {"jobs", "job", "history", "logs", "why", "trace", "profile", "whatif"}},
      {"Cluster", {"workers", "worker", "queues", "queue", "top", "doctor"}},
      {"Files", {"fs", "store"}},
      {"Write operators", {"sdk", "task"}},
      {"mrctl itself", {"config", "completion", "version"}},
  };
  return groups;
}

}  // namespace

void BuildOptionTree(CLI::App* root, Command* c) {
  root->require_subcommand(1);
  root->fallthrough();
  AddGlobalOptions(root, &c->global);
  CLI::App* submit = root->add_subcommand("submit", "run a job and follow it")->fallthrough();
  CLI::App* explain = root->add_subcommand("explain", "show what submit would run")->fallthrough();
  for (CLI::App* app : {submit, explain}) {
    app->footer(kSubmitFooter);
    AddSubmitOptions(app, &c->submit);
    AddExample(app, app == submit ? kSubmitExample : kExplainExample);
  }
  AddJobVerbs(root, c);
  AddProfile(root, c);
  AddWhatif(root, c);
  AddSdk(root, c);
  AddTask(root, c);
  AddClusterVerbs(root, c);
  AddFsOptions(root->add_subcommand("fs", "the block store's files")->fallthrough(), c);
  AddStore(root, c);
  AddOwnVerbs(root, c);
  for (const Group& group : Groups()) {
    for (const char* verb : group.verbs) root->get_subcommand(verb)->group(group.heading);
  }
  root->footer("mrctl VERB --help tells more of each, with an example.");
}

}  // namespace mr::ctl
