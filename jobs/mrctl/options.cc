#include "jobs/mrctl/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "common/base/text.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_file.h"

namespace mr::ctl {
namespace {

constexpr char kSubmitFooter[] =
    "Form: [OPTIONS] JOB [JOB FLAGS] [-- ARGUMENTS]\n"
    "JOB is a built-in job (wordcount, grep, sort, join, stream, topwords, triangles), a job of --lib,\n"
    "a .toml or .json job file, or - for one on standard input. `mrctl submit JOB --help` shows its flags.\n"
    "Words behind JOB: a flag that JOB claims is JOB's, one that submit knows is submit's, all else is\n"
    "JOB's; behind -- everything is JOB's.\n"
    "Exit: 0 succeeded, 1 failed, 2 usage, 3 rejected, 4 killed, 5 no master, 6 not allowed, 7 not found,\n"
    "8 missed its deadline (--strict-deadline), 70 internal, 124 --timeout ran out, 130 interrupted.";

// A repeatable option: one value each time it is written.
void AddList(CLI::App* app, const char* name, std::vector<std::string>* values, const char* help) {
  app->add_option(name, *values, help)->allow_extra_args(false);
}

void AddGlobalOptions(CLI::App* app, GlobalOptions* g) {
  app->add_option("--master", g->master, "HOST:PORT of the master (MR_MASTER; default 127.0.0.1:7070)");
  app->add_option("-o", g->form, "table, json (one document) or ndjson");
  app->add_flag("-q,--quiet", g->quiet, "only results and errors");
  app->add_flag("-v,--verbose", g->verbose, "say more on stderr");
  app->add_flag("--no-color", g->no_color, "no colour (also NO_COLOR)");
  app->add_flag("--no-progress", g->no_progress, "no progress lines");
  app->add_option("--timeout", g->timeout, "give up after this time, as 30s; exit 124");
}

void AddSubmitOptions(CLI::App* app, SubmitOptions* s) {
  AddList(app, "--input", &s->inputs, "file, directory or glob; repeatable; the job numbers them");
  app->add_option("--format", s->format, "of the inputs: text kv csv jsonl fixed:N record");
  app->add_option("--output", s->output, "directory that must not exist, or - for standard output");
  app->add_option("--output-format", s->output_format, "text, raw, fixed:N or record; compressed as text.gz, text.zst");
  app->add_flag("--overwrite", s->overwrite, "replace an existing output when the job succeeds");
  app->add_option("--reduces", s->reduces, "tasks of stages whose number is open");
  app->add_option("--lib", s->lib, "operator library (.so) with the job");
  app->add_flag("--local{2}", s->local, "run here: a private cluster of N workers (--local=N, default 2)");
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
  app->add_option("--speculation", s->speculation, "on, off or auto: copies of slow attempts (auto: as the list has it)");
  app->add_option("--clone", s->clone, "on, off or auto: several attempts from the start");
  app->add_option("--max-attempts", s->max_attempts, "failures of one task that fail the job (4)");
  app->add_option("--memory", s->memory, "of each attempt, as 512m");
}

void AddFsOptions(CLI::App* fs, Command* c) {
  struct Sub { const char* name; const char* help; };
  constexpr Sub kSubs[] = {
      {"ls", "PATH...: what is in a directory"},
      {"put", "LOCAL... PATH: copy in (- is standard input)"},
      {"get", "PATH... LOCAL: copy out"},
      {"cat", "PATH...: to standard output"},
      {"head", "PATH: first lines"},
      {"tail", "PATH: last lines"},
      {"stat", "PATH...: size, blocks, replication"},
      {"du", "PATH...: bytes below"},
      {"mkdir", "PATH..."},
      {"mv", "FROM TO"},
      {"rm", "[-r] PATH..."},
      {"getmerge", "DIRECTORY LOCAL: its parts as one file"},
  };
  for (const Sub& sub : kSubs) {
    CLI::App* app = fs->add_subcommand(sub.name, sub.help)->fallthrough();
    app->add_option("paths", c->args, "paths; a bare one is dfs:///")->required();
    const std::string name = sub.name;
    app->parse_complete_callback([c, name] { c->sub = name; });
    if (name == "rm") app->add_flag("-r,-R,--recursive", c->recursive, "directories too");
    if (name == "rm") app->add_flag("-f,--force", c->force, "absent is fine");
    if (name == "put" || name == "get" || name == "getmerge") {
      app->add_flag("-f,--force,--overwrite", c->force, "replace what exists");
    }
    if (name == "mkdir") app->add_flag("-p,--parents", c->parents, "existing is fine");
    if (name == "put") {
      app->add_option("--replication", c->replication, "copies of each block");
      app->add_option("--block-size", c->block_size, "as 64m");
    }
    if (name == "head" || name == "tail") app->add_option("-n", c->lines, "lines (10)");
  }
  fs->require_subcommand(1);
}

void AddJobVerbs(CLI::App* root, Command* c) {
  CLI::App* job = root->add_subcommand("job", "one job: show, stages, tasks, attempts, counters, set")->fallthrough();
  for (const char* name : {"show", "stages", "tasks", "attempts", "counters"}) {
    CLI::App* app = job->add_subcommand(name)->fallthrough();
    app->add_option("id", c->args, "job_...")->required();
    app->parse_complete_callback([c, name] { c->sub = name; });
  }
  CLI::App* set = job->add_subcommand("set", "priority and deadline of a running job; what is not given stays as it is");
  set->fallthrough()->add_option("id", c->args, "job_...")->required();
  set->add_option("--priority", c->priority, "higher goes first within its queue");
  set->add_option("--deadline", c->deadline, "time from its submission, as 10m, or none");
  set->parse_complete_callback([c] { c->sub = "set"; });
  job->require_subcommand(1);
  root->add_subcommand("jobs", "all jobs")->fallthrough();
  struct Verb { const char* name; const char* what; const char* help; };
  constexpr Verb kVerbs[] = {
      {"wait", "job_...", "until the job has ended; exits as submit would"},
      {"attach", "job_...", "follow a running job"},
      {"kill", "job_...", "end jobs"},
      {"logs", "job, task or attempt", "what attempts wrote, those that failed first"},
      {"why", "job, task, attempt or worker", "the scheduler's reasons"},
  };
  for (const Verb& verb : kVerbs) {
    CLI::App* app = root->add_subcommand(verb.name, verb.help)->fallthrough();
    app->add_option("id", c->args, verb.what)->required();
    if (std::string(verb.name) == "kill") app->add_option("--reason", c->why, "kept with the job");
    if (std::string(verb.name) == "logs") {
      app->add_option("--tail", c->tail, "last lines of each attempt (of several: 20; of one: all that is kept)");
    }
  }
}

void AddWhatif(CLI::App* root, Command* c) {
  CLI::App* app = root->add_subcommand("whatif", "a job that succeeded, simulated under another list or number of workers")->fallthrough();
  app->add_option("id", c->args, "job_...")->required();
  app->add_option("--scheduler", c->whatif.scheduler, "policies, comma-separated, as fair,late(cap=0.2)");
  app->add_option("--workers", c->whatif.workers, "so many workers, as fast as those that there were")->check(CLI::Range(1u, 100'000u));
  app->add_option("--slots", c->whatif.slots, "so many slots on each")->check(CLI::Range(1u, 10'000u));
  app->footer("Simulated with mrsim from the times of the job's attempts; first as it was, which shows the model's error.\n"
              "Exit: 0, 2 usage or a bad list, 3 the job has not ended or did not succeed, 5 no master, 7 no such job.");
}

void Build(CLI::App* root, Command* c) {
  root->require_subcommand(1);
  root->fallthrough();
  AddGlobalOptions(root, &c->global);
  for (const char* name : {"submit", "explain"}) {
    CLI::App* app = root->add_subcommand(name, std::string(name) == "submit" ? "run a job and follow it"
                                                                             : "show what submit would run");
    app->fallthrough()->footer(kSubmitFooter);
    AddSubmitOptions(app, &c->submit);
  }
  AddJobVerbs(root, c);
  AddWhatif(root, c);
  root->add_subcommand("workers", "all workers")->fallthrough();
  CLI::App* worker = root->add_subcommand("worker", "one worker: drain, undrain")->fallthrough();
  for (const char* name : {"drain", "undrain"}) {
    CLI::App* app = worker->add_subcommand(name)->fallthrough();
    app->add_option("id", c->args, "w...")->required();
    app->parse_complete_callback([c, name] { c->sub = name; });
  }
  worker->require_subcommand(1);
  root->add_subcommand("queues", "all queues")->fallthrough();
  CLI::App* queue = root->add_subcommand("queue", "one queue: set")->fallthrough()->require_subcommand(1);
  CLI::App* set = queue->add_subcommand("set", "shares of a queue; what is not given stays as it is")->fallthrough();
  set->add_option("queue", c->args, "its name")->required()->expected(1);
  set->add_option("--weight", c->weight, "slots in proportion to it");
  set->add_option("--min-share", c->min_share, "slots that it gets before others");
  set->add_option("--max-share", c->max_share, "slots that it never exceeds; 0 = no limit");
  set->parse_complete_callback([c] { c->sub = "set"; });
  CLI::App* profile = root->add_subcommand("profile", "what earlier runs of a job taught: show")->fallthrough();
  profile->require_subcommand(1);
  CLI::App* show = profile->add_subcommand("show", "stages, with how long their tasks took; -o json has all samples");
  show->fallthrough()->add_option("name", c->args, "name of the job, as mrctl jobs has it")->required()->expected(1);
  show->parse_complete_callback([c] { c->sub = "show"; });
  AddFsOptions(root->add_subcommand("fs", "the block store's files")->fallthrough(), c);
  root->add_subcommand("version", "of mrctl and of the master")->fallthrough();
}

OptionKind KindIn(const CLI::App* app, std::string_view name) {
  const CLI::Option* option = app->get_option_no_throw(std::string(name));
  if (option == nullptr) return OptionKind::kUnknown;
  return option->get_items_expected_max() == 0 || std::string(name) == "--local" ? OptionKind::kFlag
                                                                                  : OptionKind::kValue;
}

// Names of all options that can stand behind a verb, for suggestions.
std::vector<std::string> OptionNames(const CLI::App* root, const CLI::App* sub) {
  std::vector<std::string> names;
  for (const CLI::App* app : {root, sub}) {
    if (app == nullptr) continue;
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string Suggest(const std::string& word, const std::vector<std::string>& names) {
  std::vector<std::string_view> views(names.begin(), names.end());
  return DidYouMean(word, views);
}

// Whether they are mistyped only the job's plan can say.
std::vector<std::pair<std::string, std::string>> NearOurs(const std::vector<std::string>& words,
                                                          const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::vector<std::pair<std::string, std::string>> near;
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::string ours = Nearest(name, views); !ours.empty()) near.emplace_back(name, std::move(ours));
  }
  return near;
}

Status UnknownWord(const CLI::App* root, const CLI::App* sub, const std::vector<std::string>& extras,
                   const std::string& fallback) {
  for (const std::string& word : extras) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    return InvalidArgument("unknown option " + name + Suggest(name, OptionNames(root, sub)));
  }
  return InvalidArgument(extras.empty() ? fallback : "unexpected '" + extras[0] + "'");
}

// The verb's place in argv: the first word that is no global option and no value of one.
size_t FindVerb(const CLI::App* root, const std::vector<std::string>& argv) {
  for (size_t i = 0; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.empty() || word[0] != '-') return i;
    const std::string name = word.substr(0, 2) == "--" ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const bool has_value = word.size() > name.size();
    if (KindIn(root, name) == OptionKind::kValue && !has_value) ++i;
  }
  return argv.size();
}

}  // namespace

Result<Command> ParseCommandLine(const std::vector<std::string>& argv) {
  Command command;
  CLI::App root("Runs and watches jobs of a Paceline cluster.", "mrctl");
  Build(&root, &command);
  std::vector<std::string> words = argv;
  const size_t at = FindVerb(&root, argv);
  const CLI::App* sub = nullptr;
  std::vector<std::string> verbs = {"help"};
  for (const CLI::App* s : root.get_subcommands({})) verbs.push_back(s->get_name());
  if (at < argv.size()) {
    command.verb = argv[at];
    if (command.verb == "help") {
      command.help = root.help();
      return command;
    }
    for (const CLI::App* s : root.get_subcommands({})) {
      if (s->get_name() == command.verb) sub = s;
    }
    if (sub == nullptr) {
      return WithHint(InvalidArgument("unknown command '" + command.verb + "'" + Suggest(command.verb, verbs)),
                      "mrctl help lists the commands");
    }
    if (command.verb == "submit" || command.verb == "explain") {
      const auto lookup = [&](std::string_view name) {
        const OptionKind kind = KindIn(sub, name);
        return kind != OptionKind::kUnknown ? kind : KindIn(&root, name);
      };
      auto split = SplitSubmitArgv({argv.begin() + static_cast<ptrdiff_t>(at) + 1, argv.end()}, lookup, BuiltinClaims);
      words.resize(at + 1);
      words.insert(words.end(), split.ours.begin(), split.ours.end());
      command.submit.job = std::move(split.job);
      command.submit.job_args = std::move(split.job_args);
      command.submit.job_help = split.job_help;
      command.submit.near_ours = NearOurs(command.submit.job_args, OptionNames(&root, sub));
    }
  }
  const std::string job = command.submit.job;
  try {
    std::reverse(words.begin(), words.end());
    root.parse(words);
  } catch (const CLI::CallForHelp&) {
    command.help = root.help();
    return command;
  } catch (const CLI::ExtrasError& error) {
    return UnknownWord(&root, sub, root.remaining(true), error.what());
  } catch (const CLI::ParseError& error) {
    if (at >= argv.size()) {
      return WithHint(InvalidArgument("a command is needed"), "mrctl help lists the commands");
    }
    // What stands before a missing word may be the mistyped option that swallowed it.
    return WithHint(InvalidArgument(command.verb + ": " + error.what()), "mrctl " + command.verb + " --help shows its form");
  }
  if (command.verb == "explain") command.submit.dry_run = true;
  if ((command.verb == "submit" || command.verb == "explain") && command.submit.job.empty()) {
    return WithHint(InvalidArgument("JOB is missing"), "for example: mrctl submit --local wordcount --input FILE");
  }
  if (command.submit.local < 0 || command.submit.local > kMaxLocalWorkers) {
    return InvalidArgument("--local takes 1 to " + std::to_string(kMaxLocalWorkers) + " workers");
  }
  return command;
}

Result<OutputForm> ParseOutputForm(const std::string& word) {
  if (word.empty() || word == "table") return OutputForm::kTable;
  if (word == "json") return OutputForm::kJson;
  if (word == "ndjson") return OutputForm::kNdjson;
  constexpr std::string_view kWords[] = {"table", "json", "ndjson"};
  return InvalidArgument("-o takes table, json or ndjson, not '" + word + "'" + DidYouMean(word, kWords));
}

}  // namespace mr::ctl
