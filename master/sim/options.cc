// Parses the command line. CLI11 takes nine seconds to compile, so nothing else is here.
#include "master/sim/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>

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
  CLI::App* replay = app->add_subcommand("replay", "replay a master's journal and compare its digests; what-if");
  replay
      ->add_option("JOURNAL", c->journal,
                   "a master's --data, or the directory 'journal' in it; for what-if also a history file "
                   "(- is standard input)")
      ->required();
  replay->add_option("--scheduler", c->change.scheduler, "what-if: list of policies");
  replay->add_option("--workers", c->change.workers, "what-if: number of workers, with the recorded speeds")
      ->check(CLI::Range(1u, 100'000u));
  replay->add_option("--slots", c->change.slots, "what-if: slots per worker")->check(CLI::Range(1u, 10'000u));
  replay->add_option("--job", c->job, "what-if: only this job, and the jobs that ran beside it");
  replay->add_option("--write-history", c->history_out, "write the jobs' history to this file");
  replay->add_option("--write-model", c->model_out,
                     "write costs, delays and speeds of the history to this file, for mrsim run --model");
  replay->add_option("-o", c->form, "table or json")->check(CLI::IsMember({"table", "json"}));
  replay->footer(
      "Exit: 0 equal, 1 diverged, 2 usage, 3 of another scheduler version (what-if: the\n"
      "jobs cannot be simulated), 7 no such journal, 9 torn at its end\n"
      "(equal up to there), 10 damaged (equal up to there), 70 internal.");
  return replay;
}

}  // namespace

Result<Options> ParseOptions(std::vector<std::string> args) {
  Options o;
  CLI::App app{"Runs workloads on a modelled cluster in virtual time, under the master's own scheduler.", "mrsim"};
  app.footer("Exit: 0 done, 1 an invariant (with --check: a band) did not hold, 2 usage, 7 no such file, 70 internal.");
  app.require_subcommand(1);
  CLI::App* run = app.add_subcommand("run", "a workload on a cluster: completion times, slot-seconds, bytes");
  run->add_option("--workload", o.workload,
                  "a trace, or generate:facebook|bing|recurring|mumak|google[,jobs=N][,gap=SECONDS]")
      ->required();
  run->add_option(
      "--format", o.format,
      "format of the trace, if its first line does not show it: swim, rumen, google, alibaba, tpch[:EXECUTORS], "
      "wfinstances, coflow");
  run->add_option("--cluster", o.cluster, "WORKERSxSLOTS (150x12), caps per kind (62x4m2r), or a .toml file");
  run->add_option("--model", o.model,
                  "model file of replay --write-model: costs and delays, and its workers without --cluster");
  run->add_option("--data", o.data, "directory of traces, which may be in its folders (default: MR_DATA)");
  run->add_option("--report-period", o.report_period, "period of progress reports, as 1s; 0s: none");
  run->add_option("-o", o.form, "table or json")->check(CLI::IsMember({"table", "json"}));
  run->add_flag("--no-progress", o.no_progress, "no progress bar");
  CLI::App* swarm = app.add_subcommand("swarm", "random clusters, jobs and faults; invariants after each event");
  swarm->add_option("--count", o.count, "number of configurations; number i has seed S + i")
      ->check(CLI::Range(1u, 10'000'000u));
  swarm->add_flag("--master", o.master, "the whole master with its journal, its restarts and the messages to it");
  swarm->add_flag("--first", o.first, "end at the first broken configuration");
  CLI::App* replay = AddReplay(&app, &o.replay);
  CLI::App* reproduce = app.add_subcommand("reproduce", "figures of a paper: its numbers and ours");
  reproduce->add_option("figure", o.figure, "a study, or one of its figures, as late or late:fig10")->required();
  reproduce->add_option("--seeds", o.seeds, "number of seeds, for medians")->check(CLI::Range(1u, 1000u));
  reproduce->add_option("--data", o.data, "directory of traces (default: MR_DATA)");
  reproduce->add_option("-o", o.form, "table or json")->check(CLI::IsMember({"table", "json"}));
  reproduce->add_flag("--check", o.check, "exit with 1 if a band is missed");
  reproduce->add_flag("--no-progress", o.no_progress, "no progress line");
  swarm->add_flag("--no-progress", o.no_progress, "no progress line");
  CLI::Option* one = run->add_option("--scheduler", o.scheduler, "policies, comma-separated");
  CLI::Option* many = run->add_option("--compare", o.compare,
                                      "two lists or more, each one value, on the same luck: "
                                      "--compare " +
                                          std::string(sched::kPlainPolicies) + " '" + sched::kExamplePolicies + "'");
  run->add_option("--ablate", o.ablate, "this list, and it without each of its policies in turn")
      ->excludes(one)
      ->excludes(many);
  many->excludes(one);
  run->add_option("--seeds", o.run_seeds, "number of seeds from --seed on, for medians")->check(CLI::Range(1u, 1000u));
  CLI::Option* plot = run->add_option("--plot", o.plot, "write distributions of completion to this file, as SVG");
  run->add_option("--plot-job", o.plot_job, "with --plot: also draw the slots of the N-th job")
      ->check(CLI::Range(1u, 100'000'000u))
      ->needs(plot);
  std::string swarm_scheduler = "any";
  swarm->add_option("--scheduler", swarm_scheduler, "policies, comma-separated; any: a random list each time");
  for (CLI::App* verb : {run, swarm}) {
    verb->add_option("--seed", o.seed, "seed of all chance")->check(IsWhole);
  }
  std::reverse(args.begin(), args.end());  // CLI11 takes a vector in reverse
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    o.help = run->parsed()         ? run->help()
             : swarm->parsed()     ? swarm->help()
             : replay->parsed()    ? replay->help()
             : reproduce->parsed() ? reproduce->help()
                                   : app.help();
    return o;
  } catch (const CLI::ParseError& e) {
    return InvalidArgument(std::string(e.what()) + "; see mrsim --help");
  }
  if (swarm->parsed()) o.scheduler = swarm_scheduler;
  o.verb = app.get_subcommands().front()->get_name();
  return o;
}

}  // namespace mr::sim
