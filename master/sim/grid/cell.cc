#include "master/sim/grid/cell.h"

#include <set>

#include "common/base/text.h"
#include "master/sched/defaults.h"
#include "master/sched/scheduler.h"
#include "master/sim/studies/document.h"
#include "master/sim/studies/report.h"

namespace mr::sim {

namespace {

constexpr std::string_view kDefault = "default";
// Limits of a file's numbers: larger ones would end in hours of simulation.
constexpr double kMostRate = 1e12, kMostSeconds = 3600;
constexpr uint32_t kMostWorkers = 20'000, kMostSlots = 100, kMostJobs = 100'000, kMostCells = 1000;

const std::vector<std::pair<double, std::string_view>>& Networks() {
  static const std::vector<std::pair<double, std::string_view>> names = {
      {125e6, "1Gb"}, {1.25e9, "10Gb"}, {3.125e9, "25Gb"}};
  return names;
}

// Prints a number as short as possible: .5, 600, 12.5.
std::string Short(double value) {
  const std::string text = Printed("%.6g", value);
  return text.starts_with("0.") ? text.substr(1) : text;
}

std::string NetworkName(double rate) {
  for (const auto& [value, name] : Networks()) {
    if (value == rate) return std::string(name);
  }
  return Short(rate / 1e6) + "MB";
}

std::string NameOf(const GridCell& c, bool recorded) {
  std::string name = c.workload + Printed("-load%.0f", 100 * c.load);
  if (!recorded) {
    name += "-net" + NetworkName(c.network) + "-disk" + Short(c.disk / 1e6) + "MB-reduces" + Short(c.reduces) + "-" +
            c.stragglers;
  }
  name += "-" + Short(c.task_seconds) + Printed("s-%ux%u", c.workers, c.slots);
  if (c.slow > 0) name += Printed("-slow%.0f", 100 * c.slow);
  if (c.bursts) name += "-bursts";
  if (c.deadlines) name += "-deadlines";
  if (c.noise) name += "-noise";
  return name;
}

// Reads numbers of the task model from the table over those that are set.
void ReadTasks(Fields* f, TaskModel* m) {
  VisitNumbers(m, [f](std::string_view key, auto& value, double lowest, double highest) {
    double number = AsNumber(value);
    f->Number(key, &number, lowest, highest);
    SetNumber(number, &value);
  });
}

// Reads the parameters of a source from calibrated.toml, over `m`.
Status ReadCalibrated(const std::string& source, const std::string& text, TaskModel* m) {
  const std::string file = "calibrated.toml";
  MR_ASSIGN_OR_RETURN(const Node root, ParseToml(text, file));
  FirstError error{file, {}};
  Fields f(root, "the calibration", &error);
  for (const Node* table : f.Tables("source")) {
    Fields of(*table, "a source", &error);
    std::string name;
    of.Text("name", &name);
    const Node* tasks = of.Any("task");
    if (name != source || tasks == nullptr) continue;
    // A source's luck has all that it does not separate, so the default's luck goes.
    m->luck = m->skew = m->machine = {};
    Fields numbers(*tasks, "the source '" + name + "'", &error);
    ReadTasks(&numbers, m);
    numbers.Done();
    return error.status;
  }
  MR_RETURN_IF_ERROR(error.status);
  return InvalidArgument(file + ": there is no fitted source '" + source + "'");
}

void ParseLists(Fields* f, Grid* grid) {
  f->Text("judged", &grid->judged);
  f->Texts("references", &grid->references);
  f->Whole("quick_seeds", &grid->quick_seeds, 1, 1000);
  if (grid->judged == kDefault) grid->judged = sched::kDefaultPolicies;
  if (grid->references.empty()) f->Wrong("references", "must name a list at least");
  std::vector<std::string> lists = grid->references;
  lists.push_back(grid->judged);
  for (const std::string& list : lists) {
    const Status known = sched::Scheduler::CheckPolicies(list);
    if (!known.ok()) f->Wrong("the list '" + list + "': " + known.message());
  }
}

void ParseSources(Fields* f, Grid* grid) {
  const Node* tables = f->Any("workload");
  if (tables == nullptr) return f->Wrong("has no [workload.NAME]");
  for (const auto& [name, table] : tables->fields) {
    Fields of(table, "workload '" + name + "'", f->error());
    GridSource& source = grid->sources[name];
    of.Text("source", &source.workload);
    of.Text("format", &source.format);
    of.Text("family", &source.family);
    of.Flag("recorded", &source.recorded);
    of.Require("source");
    of.Done();
    if (source.family.empty()) source.family = name;
  }
}

void ParseStragglers(Fields* f, const std::string& calibrated, Grid* grid) {
  const Node* tables = f->Any("stragglers");
  if (tables == nullptr) return f->Wrong("has no [stragglers.NAME]");
  for (const auto& [name, table] : tables->fields) {
    Fields of(table, "stragglers '" + name + "'", f->error());
    GridStragglers& model = grid->stragglers[name];
    model.tasks = grid->tasks;
    model.family = name;
    std::string source;
    of.Text("calibrated", &source);
    of.Text("family", &model.family);
    if (!source.empty()) {
      const Status read = ReadCalibrated(source, calibrated, &model.tasks);
      if (!read.ok()) of.Wrong("calibrated", read.message());
    }
    ReadTasks(&of, &model.tasks);
    of.Done();
  }
}

GridCell ParseCell(const Node& table, const Grid& grid, FirstError* error) {
  Fields f(table, "a cell", error);
  GridCell c;
  double load = 50, slow = 0;
  f.Text("workload", &c.workload);
  f.Number("load", &load, 1, 95);
  f.Number("task_seconds", &c.task_seconds, .01, kMostSeconds);
  f.Whole("workers", &c.workers, 1, kMostWorkers);
  f.Whole("slots", &c.slots, 1, kMostSlots);
  f.Number("slow", &slow, 0, 50);
  f.Flag("bursts", &c.bursts);
  f.Flag("deadlines", &c.deadlines);
  f.Flag("noise", &c.noise);
  f.Number("slot_time", &c.slot_time, .1, 10);
  f.Whole("jobs", &c.jobs, 1, kMostJobs);
  f.Flag("quick", &c.quick);
  c.load = load / 100;
  c.slow = slow / 100;
  for (const char* key : {"workload", "load", "task_seconds", "workers", "jobs"}) f.Require(key);
  const auto source = grid.sources.find(c.workload);
  if (source == grid.sources.end()) {
    f.Wrong("workload", "is '" + c.workload + "': there is no [workload." + c.workload + "]");
  } else if (!source->second.recorded) {
    f.Number("network", &c.network, 1e3, kMostRate);
    f.Number("disk", &c.disk, 1e3, kMostRate);
    f.Number("reduces", &c.reduces, 0, 10);
    f.Text("stragglers", &c.stragglers);
    for (const char* key : {"network", "disk", "reduces", "stragglers"}) f.Require(key);
    if (!grid.stragglers.contains(c.stragglers)) {
      f.Wrong("stragglers", "is '" + c.stragglers + "': there is no [stragglers." + c.stragglers + "]");
    }
    c.name = NameOf(c, false);
  } else {
    c.name = NameOf(c, true);
  }
  f.Done();
  return c;
}

}  // namespace

Result<Grid> ParseGrid(const std::string& text, const std::string& file, const std::string& calibrated) {
  MR_ASSIGN_OR_RETURN(const Node root, ParseToml(text, file));
  Grid grid;
  FirstError error{file, {}};
  Fields f(root, "the grid", &error);
  ParseLists(&f, &grid);
  static const Node kNoTable;
  const Node* table = f.Any("tasks");
  Fields numbers(table == nullptr ? kNoTable : *table, "tasks", &error);
  ReadTasks(&numbers, &grid.tasks);
  numbers.Done();
  ParseSources(&f, &grid);
  ParseStragglers(&f, calibrated, &grid);
  std::set<std::string> names;
  for (const Node* cell : f.Tables("cells")) {
    grid.cells.push_back(ParseCell(*cell, grid, &error));
    if (!names.insert(grid.cells.back().name).second) {
      error.At(cell->line, "two cells are equal: " + grid.cells.back().name);
    }
  }
  f.Done();
  if (grid.cells.empty() || grid.cells.size() > kMostCells) f.Wrong("cells", "must be 1 to 1000 tables");
  MR_RETURN_IF_ERROR(error.status);
  return grid;
}

std::map<std::string, std::string> LevelsOf(const Grid& grid, const GridCell& c) {
  const GridSource& source = grid.sources.find(c.workload)->second;
  std::map<std::string, std::string> levels = {{"workload", source.family},
                                               {"load", Short(100 * c.load)},
                                               {"task_seconds", Short(c.task_seconds)},
                                               {"workers", std::to_string(c.workers)},
                                               {"slow", Short(100 * c.slow)},
                                               {"arrivals", c.bursts ? "bursts" : "poisson"},
                                               {"deadlines", c.deadlines ? "mixed in" : "none"},
                                               {"noise", c.noise ? "noise" : "exact"}};
  if (source.recorded) return levels;
  levels["network"] = NetworkName(c.network);
  levels["disk"] = Short(c.disk / 1e6) + "MB";
  levels["reduces"] = Short(c.reduces);
  levels["stragglers"] = grid.stragglers.find(c.stragglers)->second.family;
  return levels;
}

}  // namespace mr::sim
