// Renders a plan for explain: stages as boxes, one below the other, with the edges beside them.
//
//      +------+
//      | map  |  wordcount.map, tasks by splits
//      |      |  <- text of file:///in
//   .--|      |  -> port 0: sorted, combined
//   |  +------+
//   |
//   |  +------+
//   |  | sum  |  wordcount.reduce, tasks by size
//   '->|      |  <- all_to_all from map, grouped
//      |      |  -> files (text)
//      +------+
//
// A port has its own lane, from the stage that writes it down to the last stage that reads it.
#include <algorithm>
#include <map>
#include <utility>

#include "common/base/text.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

using PortOf = std::pair<size_t, uint32_t>;  // stage, port
constexpr size_t kLaneWidth = 3;

std::string InputText(const Plan& plan, const PlanInput& input, const std::vector<std::string>& inputs) {
  if (!input.files) {
    std::string text = input.kind + " from " + plan.stages[input.from].name;
    if (input.port != 0) text += " port " + std::to_string(input.port);
    if (input.grouped) text += ", grouped";
    if (input.splits) text += ", large partitions are shared";
    if (!input.format.empty()) text += ", read as " + input.format;
    return text + (input.quotes ? ", quotes of csv" : "");
  }
  std::string text = input.format + " of ";
  if (!input.uris.empty()) return text + input.uris[0] + (input.uris.size() > 1 ? ", ..." : "");
  if (input.input < 0 || static_cast<size_t>(input.input) >= inputs.size()) {
    return text + (inputs.empty() ? "--input" : inputs[0] + (inputs.size() > 1 ? ", ..." : ""));
  }
  return text + inputs[static_cast<size_t>(input.input)];
}

std::string PortText(const PlanPort& port, size_t number) {
  if (port.files) return (port.name.empty() ? "files (" : "files '" + port.name + "' (") + port.format + ")";
  return "port " + std::to_string(number) + ": " + (port.sorted ? "sorted" : "in the order of emission") +
         (port.combine ? ", combined" : "") + (port.custom_partition ? ", own partition" : "");
}

std::string TasksText(const Plan& plan, const PlanStage& stage, const Explained* explained) {
  for (size_t i = 0; explained != nullptr && i < explained->stages.size(); ++i) {
    if (explained->stages[i].name != stage.name) continue;
    const uint32_t tasks = explained->stages[i].tasks;
    return std::to_string(tasks) + (tasks == 1 ? " task" : " tasks");
  }
  for (const PlanInput& input : stage.inputs) {
    if (input.files) return "tasks by splits";
    if (input.kind == "one_to_one") return "tasks as " + plan.stages[input.from].name;
  }
  if (stage.tasks == 0) return "tasks by size";
  return std::to_string(stage.tasks) + (stage.tasks == 1 ? " task" : " tasks");
}

// The lanes to the left of the boxes.
class Lanes {
 public:
  explicit Lanes(const Plan& plan) {
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      for (const PlanInput& in : plan.stages[s].inputs) {
        if (!in.files) ++readers_[{in.from, in.port}];
      }
    }
  }
  size_t width() const { return open_.size() * kLaneWidth; }
  // Starts the lane of a port that is read.
  std::string Begin(PortOf port) {
    if (!readers_.contains(port)) return Row();
    const size_t lane = static_cast<size_t>(std::find(open_.begin(), open_.end(), false) - open_.begin());
    if (lane == open_.size()) open_.push_back(false);
    std::string row = Row();
    open_[lane] = true;
    lane_of_[port] = lane;
    return Bent(lane, '.', '-', row);
  }
  std::string Read(PortOf port) {
    const size_t lane = lane_of_.at(port);
    const bool last = --readers_[port] == 0;
    std::string row = Bent(lane, last ? '\'' : '+', '>', Row());
    open_[lane] = !last;
    return row;
  }
  std::string Row() const {
    std::string row(width(), ' ');
    for (size_t lane = 0; lane < open_.size(); ++lane) {
      if (open_[lane]) row[Column(lane)] = '|';
    }
    return row;
  }

 private:
  // Lane 0 is next to the boxes.
  size_t Column(size_t lane) const { return (open_.size() - 1 - lane) * kLaneWidth; }
  std::string Bent(size_t lane, char corner, char last, std::string row) const {
    row[Column(lane)] = corner;
    for (size_t i = Column(lane) + 1; i < row.size(); ++i) {
      if (row[i] == ' ') row[i] = '-';
    }
    row.back() = last;
    return row;
  }

  std::map<PortOf, int> readers_;
  std::map<PortOf, size_t> lane_of_;
  std::vector<bool> open_;
};

// One row of the drawing. Gutters get their final width at the end, since a later lane makes the rows above it wider.
struct Row {
  std::string gutter, text;
};

std::string Picture(const Plan& plan, const std::vector<std::string>& inputs, const Explained* explained) {
  size_t widest = 0;
  for (const PlanStage& stage : plan.stages) widest = std::max(widest, stage.name.size());
  const std::string border = "+" + std::string(widest + 2, '-') + "+";
  const std::string side = "| " + std::string(widest, ' ') + " |  ";
  Lanes lanes(plan);
  std::vector<Row> rows;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const PlanStage& stage = plan.stages[s];
    if (s > 0) rows.push_back({lanes.Row(), ""});
    rows.push_back({lanes.Row(), border});
    std::string name = stage.name;
    name.resize(widest, ' ');
    rows.push_back({lanes.Row(), "| " + name + " |  " + stage.op + ", " + TasksText(plan, stage, explained)});
    for (const PlanInput& in : stage.inputs) {
      rows.push_back(
          {in.files ? lanes.Row() : lanes.Read({in.from, in.port}), side + "<- " + InputText(plan, in, inputs)});
    }
    for (uint32_t p = 0; p < stage.ports.size(); ++p) {
      rows.push_back({lanes.Begin({s, p}), side + "-> " + PortText(stage.ports[p], p)});
    }
    rows.push_back({lanes.Row(), border});
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = std::string(lanes.width() - row.gutter.size(), ' ') + row.gutter + row.text;
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string RenderPlan(const std::string& job, const Plan& plan, const std::vector<std::string>& inputs,
                       const std::string& output, const Explained* explained, uint64_t deadline_us, OutputForm form) {
  if (form != OutputForm::kTable) return JsonPlan(job, plan, inputs, output, explained, form);
  std::string memory;
  for (const PlanStage& stage : plan.stages) {
    if (stage.memory_bytes == 0) continue;
    memory += (memory.empty() ? "memory  " : ", ") + stage.name + " " + HumanBytes(stage.memory_bytes) + " per attempt";
  }
  if (!memory.empty()) memory += "\n";
  std::string notes;
  for (const std::string& note : plan.notes) notes += "note    " + note + "\n";
  return "job     " + job + "\noutput  " + (output.empty() ? "-" : output) + "\n" + memory + notes + "\n" +
         Picture(plan, inputs, explained) + (explained == nullptr ? "" : "\n" + ExplainText(*explained, deadline_us));
}

}  // namespace mr::ctl
