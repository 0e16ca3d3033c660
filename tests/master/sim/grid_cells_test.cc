// The cells of the built-in grid, the files of grids, and runs of small ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "master/sched/defaults.h"
#include "master/sim/grid/expected.h"
#include "master/sim/grid/report.h"
#include "master/sim/grid/world.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;

Grid BuiltIn() {
  const GridFiles files = BuiltInGrid();
  auto grid = ParseGrid(std::string(files.grid), "grid.toml", std::string(files.calibrated));
  EXPECT_TRUE(grid.ok()) << grid.status().message();
  return *std::move(grid);
}

// Returns the pairs of levels that no cell has, out of those that can be.
//
// Cannot be: pairs with 10,000 workers, since at most two cells have so many; and recorded times with a disk, a
// network, reduces or a model of stragglers, which do not act on them.
std::vector<std::string> Missing(const Grid& grid) {
  const std::map<std::string, std::vector<std::string>> factors = {
      {"workload", {"facebook", "bing", "swim", "measured", "trace"}},
      {"load", {"10", "30", "50", "70", "90"}},
      {"network", {"12.5MB", "1Gb", "10Gb", "25Gb"}},
      {"disk", {"60MB", "240MB", "1000MB"}},
      {"reduces", {"0", ".125", ".5", "1"}},
      {"task_seconds", {".3", "3", "30", "600"}},
      {"workers", {"8", "50", "150", "1000", "10000"}},
      {"slow", {"0", "5", "10"}},
      {"arrivals", {"poisson", "bursts"}},
      {"deadlines", {"none", "mixed in"}},
      {"noise", {"exact", "noise"}},
      {"stragglers", {"none", "light", "default", "calibrated"}}};
  const std::set<std::string> of_bytes = {"network", "disk", "reduces", "stragglers"};
  std::vector<std::map<std::string, std::string>> cells;
  for (const GridCell& cell : grid.cells) cells.push_back(LevelsOf(grid, cell));
  std::vector<std::string> missing;
  for (auto a = factors.begin(); a != factors.end(); ++a) {
    for (auto b = std::next(a); b != factors.end(); ++b) {
      for (const std::string& x : a->second) {
        for (const std::string& y : b->second) {
          if (x == "10000" || y == "10000") continue;
          if (of_bytes.contains(a->first) && (y == "measured" || y == "trace")) continue;
          const bool there = std::any_of(cells.begin(), cells.end(), [&](const auto& levels) {
            const auto at = levels.find(a->first), bt = levels.find(b->first);
            return at != levels.end() && bt != levels.end() && at->second == x && bt->second == y;
          });
          if (!there) missing.push_back(a->first + " " + x + " with " + b->first + " " + y);
        }
      }
    }
  }
  return missing;
}

TEST(GridCellsTest, EachPairOfLevelsIsInACell) {
  const Grid grid = BuiltIn();
  EXPECT_THAT(Missing(grid), testing::IsEmpty());
  Grid less = grid;
  less.cells.erase(less.cells.begin(), less.cells.begin() + 20);
  EXPECT_THAT(Missing(less), testing::Not(testing::IsEmpty()));
}

TEST(GridCellsTest, ThereAreFewCellsAndEachSourceIsInOne) {
  const Grid grid = BuiltIn();
  EXPECT_LE(grid.cells.size(), 48u);
  EXPECT_LE(std::count_if(grid.cells.begin(), grid.cells.end(), [](const auto& c) { return c.workers == 10'000; }), 2);
  std::set<std::string> workloads, stragglers;
  size_t quick = 0;
  for (const GridCell& cell : grid.cells) {
    workloads.insert(cell.workload);
    stragglers.insert(cell.stragglers);
    quick += cell.quick;
    EXPECT_TRUE(!cell.quick || grid.sources.at(cell.workload).generated()) << cell.name << ": CI has no traces";
  }
  for (const auto& [name, source] : grid.sources) EXPECT_TRUE(workloads.contains(name)) << name;
  for (const auto& [name, model] : grid.stragglers) EXPECT_TRUE(stragglers.contains(name)) << name;
  EXPECT_GE(quick, 3u);
}

TEST(GridCellsTest, NamesAreUniqueAndSayWhatTheCellIs) {
  const Grid grid = BuiltIn();
  std::set<std::string> names;
  for (const GridCell& cell : grid.cells) {
    EXPECT_TRUE(names.insert(cell.name).second) << cell.name;
    EXPECT_TRUE(cell.name.starts_with(cell.workload + "-load")) << cell.name;
    for (auto [factor, level] : LevelsOf(grid, cell)) {
      const bool usual = level == "poisson" || level == "none" || level == "exact" || level == "0";
      if (factor == "workload" || factor == "stragglers" || usual) continue;
      if (factor == "deadlines") level = "deadlines";
      EXPECT_THAT(cell.name, HasSubstr(level)) << factor;
    }
  }
}

// Equal information: no list may look earlier than another.
TEST(GridCellsTest, TheReferenceHasTheMinimumAgeOfTheDefault) {
  const std::string list = sched::kDefaultPolicies, key = "late(min_age=";
  const size_t at = list.find(key);
  ASSERT_NE(at, std::string::npos);
  const std::string age = list.substr(at, list.find_first_of(",)", at) - at);
  EXPECT_THAT(BuiltIn().references, testing::ElementsAre("fair", "fair," + age + ")"));
  EXPECT_EQ(BuiltIn().judged, list);
}

constexpr char kSmall[] = R"(
judged = "fair"
references = ["fair", "fifo"]
cells = [
  { workload = "g", load = 50, task_seconds = 3, network = 125e6, disk = 240e6, reduces = 0.5, stragglers = "s", )"
                          R"(workers = 5, jobs = 20 },
  { workload = "g", load = 90, task_seconds = 3, network = 125e6, disk = 240e6, reduces = 0, stragglers = "s", )"
                          R"(workers = 5, slow = 10, bursts = true, deadlines = true, jobs = 20 },
  { workload = "r", load = 30, task_seconds = 0.5, workers = 50, jobs = 20, noise = true },
  { workload = "t", load = 30, task_seconds = 0.5, workers = 50, jobs = 20 },
]
[workload.g]
source = "generate:facebook"
[workload.r]
source = "generate:google"
recorded = true
[workload.t]
source = "nowhere.tsv"
recorded = true
[stragglers.s]
calibrated = "x"
startup = 5
)";
constexpr char kCalibration[] = "[[source]]\nname = \"x\"\n[source.task]\nskew_sigma = 0.25\n";

Grid Small() {
  auto grid = ParseGrid(kSmall, "small.toml", kCalibration);
  EXPECT_TRUE(grid.ok()) << grid.status().message();
  return *std::move(grid);
}

TEST(GridCellsTest, FilesAreCheckedAndCalibratedModelsRead) {
  const Grid grid = Small();
  EXPECT_EQ(grid.cells[0].name, "g-load50-net1Gb-disk240MB-reduces.5-s-3s-5x4");
  EXPECT_EQ(grid.cells[2].name, "r-load30-.5s-50x4-noise");
  const TaskModel tasks = TasksOf(grid, grid.cells[1]);
  EXPECT_EQ(tasks.skew.sigma, .25);
  EXPECT_TRUE(tasks.luck.none()) << "what the source separates takes the place of the default's luck";
  EXPECT_NEAR(tasks.startup, .3, 1e-9) << "a tenth of a task";
  EXPECT_EQ(tasks.machine.tail, .1);
  EXPECT_EQ(tasks.machine_lasts, 60);
  const auto error = [](const std::string& from, const std::string& to) {
    std::string text = kSmall;
    text.replace(text.find(from), from.size(), to);
    return ParseGrid(text, "small.toml", kCalibration).status().message();
  };
  EXPECT_THAT(error("load = 50", "laod = 50"), HasSubstr("small.toml:5: a cell: "));
  EXPECT_THAT(error("stragglers = \"s\"", "stragglers = \"z\""), HasSubstr("there is no [stragglers.z]"));
  EXPECT_THAT(error("calibrated = \"x\"", "calibrated = \"y\""), HasSubstr("there is no fitted source 'y'"));
  EXPECT_THAT(error("judged = \"fair\"", "judged = \"unfair\""), HasSubstr("the list 'unfair'"));
  EXPECT_THAT(error("\"t\", load", "\"r\", noise = true, load"), HasSubstr("two cells are equal"));
}

// The slot time of the jobs, over all slots from the first submit to the last.
TEST(GridCellsTest, ArrivalsMeetTheLoad) {
  const Grid grid = Small();
  for (size_t c = 0; c < 3; ++c) {
    const GridCell& cell = grid.cells[c];
    const auto source = LoadSource(grid.sources.at(cell.workload), "");
    ASSERT_TRUE(source.ok());
    for (uint64_t seed = 1; seed < 4; ++seed) {
      const auto e = MakeWorld(grid, cell, *source, seed);
      ASSERT_TRUE(e.ok()) << e.status().message();
      double work = 0;
      size_t deadlines = 0;
      const Surroundings around{e->cluster.workers[0].disk, e->cluster.workers[0].down, 1 + cell.load * 3};
      for (const JobModel& job : e->jobs) {
        work += ExpectedSlotSeconds(job, e->tasks, around);
        deadlines += job.deadline > 0;
      }
      EXPECT_NEAR(work / (e->jobs.back().submit * e->cluster.slots()), cell.load, 1e-9) << cell.name;
      EXPECT_EQ(e->jobs.size(), 20u);
      EXPECT_EQ(deadlines, cell.deadlines ? 1u : 0u);
    }
  }
}

// Some of mumak's reduces have 69 bytes, and take hours here. The engine moves no flow by less than a byte per second.
TEST(GridCellsTest, RecordedTimesAreKeptWhateverTheirBytes) {
  Grid grid = Small();
  grid.sources.at("r").workload = "generate:mumak";
  GridCell cell = grid.cells[2];
  cell.task_seconds = 600;
  cell.workers = 8;
  cell.load = .9;
  cell.jobs = 9;
  auto e = MakeWorld(grid, cell, *LoadSource(grid.sources.at("r"), ""), 1);
  ASSERT_TRUE(e.ok()) << e.status().message();
  double expected = 0;
  for (const JobModel& job : e->jobs) expected += ExpectedSlotSeconds(job, e->tasks, {1, 1, 1});
  e->policies = "fair";
  Simulation run(*std::move(e));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(run.totals().busy / expected, 1, .05);
}

TEST(GridCellsTest, ResultsDoNotDependOnThreadsAndMissingTracesAreSkipped) {
  const Grid grid = Small();
  GridOptions o;
  o.lists = {"fair", "fifo", "fair"};
  o.references = 2;
  o.cells = {0, 1, 2, 3};
  o.seeds = 3;
  const auto one = RunGrid(grid, o);
  ASSERT_TRUE(one.ok()) << one.status().message();
  o.threads = 3;
  const auto three = RunGrid(grid, o);
  const GridReport report = ReportOf(grid, o, *one);
  const std::string json = Json(report), table = Table(report);
  EXPECT_EQ(json, Json(ReportOf(grid, o, *three)));
  EXPECT_THAT(table, HasSubstr("SKIP  t-load30-.5s-50x4: it needs traces"));
  EXPECT_THAT(table, HasSubstr("4 cells, 0 failed, 1 skipped"));
  EXPECT_THAT(json, HasSubstr("\"skipped\":"));
  EXPECT_THAT(json, HasSubstr("\"slot_time\":{\"ratio\":1,\"low\":1,\"high\":1,"));
  EXPECT_EQ(report.rows[0].verdicts.size(), 1u);
}

}  // namespace
}  // namespace mr::sim
