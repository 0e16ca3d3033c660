#include "master/sim/studies/study.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "common/base/text.h"
#include "master/sched/pipeline.h"
#include "master/sched/scheduler.h"
#include "master/sim/studies/run_kinds.h"

namespace mr::sim {

namespace {

struct NamedRun {
  std::string name;
  MeasuredRun run;
};
struct Formula {
  Expression value;
  std::string at;  // file and line
};

// Calls `parse` with the fields of each table in a section, by name.
template <class F>
void EachOf(Fields* f, std::string_view section, F parse) {
  const Node* tables = f->Any(section);
  if (tables == nullptr) return;
  for (const auto& [name, table] : tables->fields) {
    Fields fields(table, std::string(section) + " '" + name + "'", f->error());
    if (table.kind == Node::Kind::kTable) parse(name, &fields);
  }
  if (tables->kind != Node::Kind::kTable)
    f->Wrong(section, "must be a table of tables, as [" + std::string(section) + ".NAME]");
}

void ParseLists(Fields* f, StudyParts* parts) {
  parts->lists["default"] = sched::kDefaultPolicies;
  const Node* lists = f->Any("lists");
  if (lists == nullptr) return;
  Fields fields(*lists, "lists", f->error());
  for (const auto& [name, value] : lists->fields) {
    std::string list;
    fields.Text(name, &list);
    const Status right = sched::Scheduler::CheckPolicies(list);
    if (!right.ok()) fields.Wrong(name, "is no list: " + right.message());
    if (!parts->lists.emplace(name, list).second) fields.Wrong(name, "is the master's own list");
  }
}

// In the file's order: a function may use those above it.
Macros ParseFunctions(Fields* f) {
  Macros macros;
  const Node* functions = f->Any("functions");
  if (functions == nullptr) return macros;
  std::vector<std::pair<const std::string*, const Node*>> ordered;
  for (const auto& [head, body] : functions->fields) ordered.emplace_back(&head, &body);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second->line < b.second->line; });
  Fields fields(*functions, "functions", f->error());
  for (const auto& [head, node] : ordered) {
    std::string body;
    fields.Text(*head, &body);
    const Status added = AddMacro(*head, body, &macros);
    if (!added.ok()) f->error()->At(node->line, "functions: " + added.message());
  }
  return macros;
}

StudyParts ParseParts(Fields* f) {
  StudyParts parts;
  std::map<std::string, Program> programs;
  ParseLists(f, &parts);
  if (const Node* reasons = f->Any("reasons")) {
    Fields fields(*reasons, "reasons", f->error());
    for (const auto& [name, text] : reasons->fields) fields.Text(name, &parts.reasons[name]);
  }
  EachOf(f, "program", [&](const std::string& name, Fields* of) { programs[name] = ParseProgram(of); });
  EachOf(f, "cluster", [&](const std::string& name, Fields* of) { parts.clusters[name] = ParseClusterSetup(of); });
  EachOf(f, "tasks", [&](const std::string& name, Fields* of) { parts.tasks[name] = ParseTaskSetup(of); });
  EachOf(f, "jobs", [&](const std::string& name, Fields* of) { parts.jobs[name] = ParseJobSetup(of, name, programs); });
  for (const Node* table : f->Tables("recurring")) {
    Fields job(*table, "a recurring job", f->error());
    JockeyShape& shape = parts.recurring.emplace_back();
    job.Text("name", &shape.name);
    job.Whole("stages", &shape.stages, 2, 10'000);
    job.Whole("barriers", &shape.barriers, 0, 10'000);
    job.Whole("tasks", &shape.tasks, 1, 1'000'000);
    job.Number("median", &shape.median, 1e-3, 1e6);
    job.Number("p90", &shape.p90, 1e-3, 1e6);
    for (const char* key : {"name", "stages", "tasks", "median", "p90"}) job.Require(key);
    if (shape.barriers >= shape.stages) job.Wrong("barriers", "must be fewer than the stages");
    if (shape.p90 <= shape.median) job.Wrong("p90", "must be above the median");
    job.Done();
  }
  return parts;
}

// Band of a number without a given one, as a share of the number.
constexpr double kQuarter = .25;

// Reads the paper's number, the band, and the reason: a text, or the name of one in [reasons]. Each number of a paper
// has a band with two ends, unless it is itself an end: "more than 5".
void ParseBand(Fields* f, const StudyParts& parts, Line* line) {
  double share = 0, below = 0;
  bool gain = false, mean = line->mean;
  f->Flag("mean", &mean);
  f->Number("paper", &line->paper, -1e12, 1e12);
  f->Number("low", &line->low, -1e12, 1e12);
  f->Number("high", &line->high, -1e12, 1e12);
  f->Number("within", &share, 0, 10);
  f->Number("below", &below, 0, 1e12);
  f->Flag("gain", &gain);
  f->Text("because", &line->because);
  const auto reason = parts.reasons.find(line->because);
  if (reason != parts.reasons.end()) line->because = reason->second;
  const bool ends = f->Has("low") || f->Has("high");
  const int bands = int{f->Has("within")} + int{f->Has("below")} + int{gain} + int{ends};
  if (bands > 1) f->Wrong("has several bands: one of 'within', 'below', 'gain', 'low' and 'high'");
  if (bands > int{ends} && !f->Has("paper")) f->Wrong("its band wants 'paper'");
  if (line->low > line->high) f->Wrong("low", "is above 'high'");
  if (gain) *line = Gain(line->what, line->paper, line->because);
  if (f->Has("within")) *line = Within(line->what, line->paper, share, line->because);
  if (f->Has("below")) line->low = line->paper - below, line->high = line->paper + below;
  if (f->Has("paper") && bands == 0) *line = Within(line->what, line->paper, kQuarter, line->because);
  line->mean = mean;
  if (!f->Has("paper")) return;
  const bool open = !std::isfinite(line->low) || !std::isfinite(line->high);
  if (open && line->low != line->paper && line->high != line->paper) {
    f->Wrong("its band has one end, which is not the paper's number: give the other end");
  }
}

bool IsName(const std::string& name) {
  const auto right = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), right);
}

class FigureParser {
 public:
  FigureParser(const StudyParts& parts, const Macros& macros, FirstError* error)
      : parts_(parts), macros_(macros), error_(error) {}

  Figure Parse(const Node& table) {
    Figure figure;
    Fields f(table, "a figure", error_);
    f.Text("id", &figure.id);
    f.Text("what", &figure.what);
    for (const char* key : {"id", "what", "runs", "lines"}) f.Require(key);
    for (const auto& [name, list] : parts_.lists) {
      const std::string hole = "{" + name + "}";
      const size_t at = figure.what.find(hole);
      if (at != std::string::npos) figure.what.replace(at, hole.size(), list);
    }
    std::set<std::string_view> given;  // by the figure for all its runs
    for (const RunKind& kind : RunKinds()) given.insert(kind.from_figure.begin(), kind.from_figure.end());
    for (const std::string_view key : given) f.Any(key);
    if (const Node* runs = f.Any("runs")) {
      for (const Node& run : runs->items) AddRun(run, table);
    }
    for (const Node* line : f.Tables("lines")) AddLine(*line, &figure);
    for (const Node* change : f.Tables("override")) Override(*change, &figure);
    f.Done();
    figure.run = [runs = std::move(runs_), formulas = std::move(formulas_)](const RunContext& c) {
      return Run(runs, formulas, c);
    };
    return figure;
  }

 private:
  static Result<std::vector<double>> Run(const std::vector<NamedRun>& runs, const std::vector<Formula>& formulas,
                                         const RunContext& given) {
    Memory memory;
    RunContext c = given;
    c.memory = &memory;
    std::map<std::string, Measures> measured;
    for (const NamedRun& run : runs) {
      Result<Measures> measures = run.run(c);
      if (!c.skipped->empty()) return std::vector<double>{};
      MR_RETURN_IF_ERROR(measures.status());
      measured[run.name] = std::move(*measures);
    }
    std::vector<double> out;
    for (const Formula& formula : formulas) {
      const Result<double> value = formula.value.Evaluate(measured);
      if (!value.ok()) return value.status().With(formula.at);
      out.push_back(*value);
    }
    return out;
  }

  // A run is a table, or a name alone: of a list, with the figure's cluster, tasks and jobs.
  void AddRun(const Node& node, const Node& figure) {
    Node table = node;
    if (node.kind == Node::Kind::kText) {
      table = Node{};
      table.line = node.line;
      table.fields["name"] = node;
    }
    std::string name;
    Fields f(table, "a run", error_);
    f.Text("name", &name);
    if (!IsName(name)) f.Wrong("name", "must be a word of letters, digits and '_'");
    std::vector<std::string_view> names;
    for (const RunKind& kind : RunKinds()) names.push_back(kind.name);
    const RunKind& kind = RunKinds()[f.Choice("kind", names, 0)];
    for (const std::string_view key : kind.from_figure) {
      const auto given = figure.fields.find(key);
      if (given != figure.fields.end()) table.fields.emplace(key, given->second);
    }
    runs_.push_back({name, kind.parse(&f, parts_)});
    f.Done();
    if (!measures_.emplace(name, &kind.measures).second) f.Wrong("name", "is that of another run, '" + name + "'");
  }

  void AddLine(const Node& node, Figure* figure) {
    Line line;
    std::string value;
    Fields f(node, "a line", error_);
    f.Text("what", &line.what);
    f.Text("value", &value);
    f.Require("what");
    f.Require("value");
    ParseBand(&f, parts_, &line);
    f.Done();
    Formula formula;
    formula.at = error_->file + ":" + std::to_string(node.line);
    auto parsed = Expression::Parse(value, macros_);
    if (!parsed.ok()) return f.Wrong("value", parsed.status().message());
    for (const auto& [run, measure] : parsed->Reads()) Check(run, measure, &f);
    formula.value = std::move(*parsed);
    formulas_.push_back(std::move(formula));
    figure->lines.push_back(std::move(line));
  }

  void Check(const std::string& run, const std::string& measure, Fields* f) {
    const auto it = measures_.find(run);
    if (it == measures_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [name, measures] : measures_) names.push_back(name);
      return f->Wrong("value", "reads the run '" + run + "', which the figure has not" + DidYouMean(run, names));
    }
    const auto& known = *it->second;
    if (std::find(known.begin(), known.end(), measure) != known.end()) return;
    f->Wrong("value",
             measure.empty()
                 ? "wants a measurement of the run '" + run + "', as " + run + "." + std::string(known[0])
                 : "reads '" + measure + "', which the run '" + run + "' has not" + DidYouMean(measure, known));
  }

  // Replaces the numbers in a line of another figure by those of this figure.
  void Override(const Node& node, Figure* figure) {
    Line line;
    Fields f(node, "an override", error_);
    f.Text("line", &line.what);
    f.Require("line");
    ParseBand(&f, parts_, &line);
    f.Done();
    const auto same = [&](const Line& l) { return l.what == line.what; };
    const auto it = std::find_if(figure->lines.begin(), figure->lines.end(), same);
    if (it == figure->lines.end()) return f.Wrong("line", "is none of the figure's: '" + line.what + "'");
    *it = std::move(line);
  }

  const StudyParts& parts_;
  const Macros& macros_;
  FirstError* const error_;
  std::vector<NamedRun> runs_;
  std::vector<Formula> formulas_;
  std::map<std::string, const std::vector<std::string_view>*> measures_;
};

// Completes a figure that is `like` another one with the keys that it lacks.
Node Completed(const Node& figure, const std::map<std::string, Node>& above, FirstError* error) {
  Node out = figure;
  const auto like = figure.fields.find("like");
  if (like == figure.fields.end()) return out;
  const auto it = above.find(like->second.text);
  if (it == above.end()) {
    error->At(like->second.line, "a figure: there is no figure '" + like->second.text + "' above this one");
    return out;
  }
  for (const auto& [key, value] : it->second.fields) {
    if (key != "override") out.fields.emplace(key, value);
  }
  out.fields.erase("like");
  return out;
}

}  // namespace

Line Gain(std::string what, double paper, std::string because) {
  const double quarter = kQuarter * (paper - 1);
  return {std::move(what), paper, paper - quarter, paper + quarter, std::move(because)};
}

Line Within(std::string what, double paper, double share, std::string because) {
  return {std::move(what), paper, paper - share * std::fabs(paper), paper + share * std::fabs(paper),
          std::move(because)};
}

Result<Study> ParseStudy(const std::string& text, const std::string& file) {
  MR_ASSIGN_OR_RETURN(const Node root, ParseToml(text, file));
  FirstError error{file, Status::Ok()};
  Fields f(root, "the study", &error);
  Study study;
  f.Text("name", &study.name);
  f.Text("title", &study.title);
  for (const char* key : {"name", "title", "figure"}) f.Require(key);
  for (const Node* table : f.Tables("parameter")) {
    Fields parameter(*table, "a parameter", &error);
    Parameter& p = study.parameters.emplace_back();
    parameter.Text("name", &p.name);
    parameter.Text("value", &p.value);
    parameter.Text("source", &p.source);
    for (const char* key : {"name", "value", "source"}) parameter.Require(key);
    parameter.Done();
  }
  const StudyParts parts = ParseParts(&f);
  const Macros macros = ParseFunctions(&f);
  std::map<std::string, Node> above;
  for (const Node* table : f.Tables("figure")) {
    const Node completed = Completed(*table, above, &error);
    study.figures.push_back(FigureParser(parts, macros, &error).Parse(completed));
    if (!above.emplace(study.figures.back().id, completed).second) {
      error.At(table->line, "there are two figures '" + study.figures.back().id + "'");
    }
  }
  f.Done();
  MR_RETURN_IF_ERROR(error.status);
  return study;
}

Result<Experiment> ExperimentOf(const std::string& study, const std::string& cluster, const std::string& tasks,
                                const std::string& jobs, const std::string& list, RunContext context) {
  for (const BuiltInStudy& known : BuiltInStudies()) {
    if (known.name != study) continue;
    MR_ASSIGN_OR_RETURN(const Node root, ParseToml(std::string(known.text), study));
    FirstError error{study, Status::Ok()};
    Fields f(root, "the study", &error);
    const StudyParts parts = ParseParts(&f);
    MR_RETURN_IF_ERROR(error.status);
    MR_ASSIGN_OR_RETURN(const ClusterSetup of_cluster, ClusterNamed(cluster, parts));
    const auto of_tasks = parts.tasks.find(tasks), of_jobs = parts.jobs.find(jobs);
    if (of_tasks == parts.tasks.end() || of_jobs == parts.jobs.end()) break;
    const auto named = parts.lists.find(list);
    Memory memory;
    context.memory = &memory;
    return MakeExperiment(of_cluster, of_tasks->second, of_jobs->second, 0,
                          named == parts.lists.end() ? list : named->second, context);
  }
  return InvalidArgument("there is no such study, cluster, tasks or jobs");
}

}  // namespace mr::sim
