// Parses the command line. CLI11 takes nine seconds to compile, so nothing else is here.
#include "master/sim/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>

#include "master/sched/named_lists.h"

namespace mr::sim {

namespace {

// Refuses -1 and numbers of 2^64 or more, which CLI11 would read as the largest number.
std::string IsWhole(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? "" : "'" + text + "' is not a whole number below 2^64";
}

CLI::App* AddReplay(CLI::App* app, ReplayCommand* c) {
  CLI::App* replay = app->add_subcommand(
      "replay", "Replay a master's journal and compare digests, or simulate its history under other settings");
  replay
      ->add_option("JOURNAL", c->journal,
                   "The master's --data directory, or the directory 'journal' in it; for what-if also a history file "
                   "(- is standard input)")
      ->required();
  replay->add_option("--scheduler", c->change.scheduler,
                     "What-if: list of policies, or a list's name (default: as recorded)");
  replay
      ->add_option("--workers", c->change.workers,
                   "What-if: number of workers, with the recorded speeds (default: as recorded)")
      ->check(CLI::Range(1u, 100'000u));
  replay->add_option("--slots", c->change.slots, "What-if: slots per worker (default: as recorded)")
      ->check(CLI::Range(1u, 10'000u));
  replay
      ->add_option("--compare", c->compare,
                   "Compare lists on the recorded jobs, with bands for the model's error: each value is a list of "
                   "policies, or a list's name, or 'recorded', which may be followed by --workers N and --slots N")
      ->excludes("--scheduler")
      ->excludes("--workers")
      ->excludes("--slots");
  replay->add_flag("--all-jobs", c->all_jobs, "With --compare: a line for each job, also of many (-o json has all)");
  replay->add_option("--job", c->job, "What-if: only this job, and the jobs that ran beside it (default: all jobs)");
  replay->add_option("--attempt", c->attempt,
                     "First print the journal's events and decisions that name this attempt, with the codes of "
                     "reasons, and the event that ended it. Progress reports are left out. Names have the letter m, "
                     "also those of reduces");
  replay->add_option("--write-history", c->history_out, "Write the jobs' history to this file");
  replay->add_option("--write-model", c->model_out,
                     "Write costs, delays and speeds of the history to this file, for mrsim run --model");
  replay->add_option("-o", c->form, "Output format: table (default) or json")->check(CLI::IsMember({"table", "json"}));
  replay->footer(
      "Exit: 0 equal, 1 diverged, 2 usage, 3 of another scheduler version (what-if: the\n"
      "jobs cannot be simulated), 7 no such journal, 9 torn at its end\n"
      "(equal up to there), 10 damaged (equal up to there), 70 internal.");
  return replay;
}

CLI::App* AddCalibrate(CLI::App* app, CalibrateCommand* c) {
  CLI::App* calibrate = app->add_subcommand(
      "calibrate", "Fit the straggler factors of the model (machine, skew, luck) to recorded traces");
  calibrate->add_option("SOURCE", c->sources,
                        "hadoop-rumen, wfinstances, google2011-sub, tpch-spark-decima, or a trace file (default: these "
                        "four)");
  calibrate->add_option("--data", c->data, "Directory of traces (default: MR_DATA)");
  calibrate
      ->add_option("-o", c->form, "Output format: table (default), or toml, with the keys of a model file per source")
      ->check(CLI::IsMember({"table", "toml"}));
  return calibrate;
}

// Adds the options of run that are a grid's alone.
CLI::Option* AddGrid(CLI::App* run, GridCommand* c) {
  CLI::Option* grid =
      run->add_option("--grid", c->file,
                      "Run the cells of this file (default: the built-in grid), and compare the list that it judges, "
                      "the master's default, with its references in each. --compare: further lists")
          ->expected(0, 1);
  run->add_option("--cell", c->cells, "With --grid: only the cell of this name, or cells with this in their names")
      ->needs(grid);
  run->add_option("--against", c->against,
                  "With --grid: references in place of the grid's. {budget} in a list is the number from 0 to 1 for "
                  "which it takes as much slot time in the cell as the list that is judged")
      ->needs(grid);
  run->add_option("--part", c->part, "With --grid: ci runs the cells for CI only, on fewer seeds")
      ->check(CLI::IsMember({"ci"}))
      ->needs(grid);
  run->add_option("--jobs", c->threads, "With --grid: number of threads (default: number of cores)")
      ->check(CLI::Range(1u, 1000u))
      ->needs(grid);
  run->add_flag("--check", c->check, "With --grid: exit 1 if a cell fails")->needs(grid);
  return grid;
}

// Copies what a grid shares with other runs. Errors: kInvalidArgument: an option that a grid does not have.
Status FinishGrid(const CLI::App& run, Options* o) {
  GridCommand& c = o->grid;
  for (const char* option :
       {"--workload", "--cluster", "--model", "--scheduler", "--ablate", "--plot", "--format", "--report-period"}) {
    if (run.count(option) > 0) return InvalidArgument(std::string("--grid and ") + option + " exclude each other");
  }
  c.on = true;
  if (run.count("--seeds") > 0) c.seeds = o->run_seeds;
  c.seed = o->seed;
  c.compare = o->compare;
  c.data = o->data;
  c.form = o->form;
  c.no_progress = o->no_progress;
  return Status::Ok();
}

}  // namespace

Result<Options> ParseOptions(std::vector<std::string> args) {
  Options o;
  CLI::App app{"Runs workloads on a modelled cluster in virtual time, under the master's own scheduler.", "mrsim"};
  app.footer(
      "`mrsim help COMMAND` explains a command.\n"
      "Exit: 0 done, 1 an invariant (with --check: a band) did not hold, 2 usage, 7 no such file, 70 internal.");
  app.require_subcommand(1);
  CLI::App* run =
      app.add_subcommand("run", "Run a workload on a modelled cluster; print completion times, slot-seconds and bytes");
  run->add_option("--workload", o.workload,
                  "Trace file, or generate:facebook|bing|recurring|mumak|google[,jobs=N][,gap=SECONDS]; required "
                  "without --grid");
  CLI::Option* grid = AddGrid(run, &o.grid);
  run->add_option("--format", o.format,
                  "Format of the trace (default: by its first line): swim, rumen, google, alibaba, tpch[:EXECUTORS], "
                  "wfinstances, coflow or bdb");
  run->add_option("--cluster", o.cluster,
                  "Cluster: WORKERSxSLOTS (default 150x12), caps per kind (62x4m2r), or a .toml file");
  run->add_option("--model", o.model,
                  "Model file of replay --write-model: costs and delays; without --cluster also the workers");
  run->add_option("--data", o.data, "Directory of traces, searched with its subdirectories (default: MR_DATA)");
  run->add_option("--report-period", o.report_period, "Period of progress reports, such as 1s; 0s: no reports");
  run->add_option("-o", o.form, "Output format: table (default) or json")->check(CLI::IsMember({"table", "json"}));
  run->add_flag("--no-progress", o.no_progress, "Print no progress bar");
  CLI::App* swarm =
      app.add_subcommand("swarm", "Run random clusters, jobs and faults; check all invariants after each event");
  swarm->add_option("--count", o.count, "Number of configurations (default 100); number i, from 0, has seed --seed + i")
      ->check(CLI::Range(1u, 10'000'000u));
  swarm->add_flag("--master", o.master,
                  "Run the whole master with its journal, restarts and messages, instead of the scheduler alone");
  swarm->add_flag("--first", o.first, "Stop at the first broken configuration");
  CLI::App* schedulers = app.add_subcommand("schedulers", "Print the named lists of policies, and all policies");
  schedulers->add_option("-o", o.form, "Output format: table (default) or json")
      ->check(CLI::IsMember({"table", "json"}));
  CLI::App* replay = AddReplay(&app, &o.replay);
  CLI::App* calibrate = AddCalibrate(&app, &o.calibrate);
  CLI::App* reproduce = app.add_subcommand("reproduce", "Reproduce figures of a paper; print its numbers and ours");
  reproduce->add_option("figure", o.figure, "Study, or one of its figures, such as late or late:fig10")->required();
  reproduce->add_option("--seeds", o.seeds, "Number of seeds; results are medians over them (default 5)")
      ->check(CLI::Range(1u, 1000u));
  reproduce->add_option("--data", o.data, "Directory of traces (default: MR_DATA)");
  reproduce->add_option("-o", o.form, "Output format: table (default) or json")
      ->check(CLI::IsMember({"table", "json"}));
  reproduce->add_flag("--check", o.check, "Exit 1 if a band is missed");
  reproduce->add_flag("--no-progress", o.no_progress, "Print no progress line");
  swarm->add_flag("--no-progress", o.no_progress, "Print no progress line");
  CLI::Option* one =
      run->add_option("--scheduler", o.scheduler,
                      "List of policies, separated by commas, or a list's name (mrsim schedulers; default " +
                          std::string(sched::kPlainPolicies) + ")");
  CLI::Option* many =
      run->add_option("--compare", o.compare,
                      "Two or more lists of policies (or names of lists), each one value, compared with the same luck: "
                      "--compare " +
                          std::string(sched::kPlainPolicies) + " '" + sched::kExamplePolicies + "'");
  run->add_option("--ablate", o.ablate, "Compare this list with the list without each of its policies in turn")
      ->excludes(one)
      ->excludes(many);
  many->excludes(one);
  run->add_option("--seeds", o.run_seeds,
                  "Number of seeds, from --seed on; results are medians over them (default 1; with --grid 20)")
      ->check(CLI::Range(1u, 1000u));
  CLI::Option* plot = run->add_option("--plot", o.plot, "Write distributions of completion times to this file, as SVG");
  run->add_option("--plot-job", o.plot_job, "With --plot: also draw the slots of the N-th job")
      ->check(CLI::Range(1u, 100'000'000u))
      ->needs(plot);
  std::string swarm_scheduler = "any";
  swarm->add_option("--scheduler", swarm_scheduler,
                    "List of policies, separated by commas; any (default): a random list per configuration");
  for (CLI::App* verb : {run, swarm}) {
    verb->add_option("--seed", o.seed, "Seed of all random numbers (default 1)")->check(IsWhole);
  }
  // `mrsim help run` is `mrsim run --help`.
  if (!args.empty() && args[0] == "help") {
    args.erase(args.begin());
    args.emplace_back("--help");
  }
  std::reverse(args.begin(), args.end());  // CLI11 takes a vector in reverse
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    o.help = run->parsed()          ? run->help()
             : swarm->parsed()      ? swarm->help()
             : replay->parsed()     ? replay->help()
             : reproduce->parsed()  ? reproduce->help()
             : calibrate->parsed()  ? calibrate->help()
             : schedulers->parsed() ? schedulers->help()
                                    : app.help();
    return o;
  } catch (const CLI::ParseError& e) {
    return InvalidArgument(std::string(e.what()) + "; see mrsim --help");
  }
  if (swarm->parsed()) o.scheduler = swarm_scheduler;
  for (std::string* list : {&o.scheduler, &o.ablate, &o.replay.change.scheduler}) *list = sched::PoliciesOf(*list);
  for (std::string& list : o.compare) list = sched::PoliciesOf(list);
  o.verb = app.get_subcommands().front()->get_name();
  if (grid->count() > 0) {
    MR_RETURN_IF_ERROR(FinishGrid(*run, &o));
  } else if (o.verb == "run" && o.workload.empty()) {
    return InvalidArgument("--workload is required; see mrsim run --help");
  }
  return o;
}

}  // namespace mr::sim
