#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

PlanStage BoxStage(const std::string& name, std::vector<PlanInput> inputs, size_t ports, bool files = false) {
  PlanStage stage;
  stage.name = name;
  stage.op = "o." + name;
  stage.inputs = std::move(inputs);
  stage.ports.resize(ports);
  if (files) {
    stage.ports[0].files = true;
    stage.ports[0].format = "text";
  }
  return stage;
}

PlanInput BoxEdge(const std::string& kind, uint32_t from, bool grouped = false, uint32_t port = 0) {
  PlanInput in;
  in.kind = kind;
  in.from = from;
  in.port = port;
  in.grouped = grouped;
  return in;
}

TEST(RenderPlanTest, AnEdgeIsALaneFromItsPortToItsLastReader) {
  PlanInput files;
  files.files = true;
  files.input = -1;
  files.format = "text";
  Plan plan;
  plan.stages = {BoxStage("read", {files}, 2), BoxStage("count", {BoxEdge("all_to_all", 0, true)}, 1),
                 BoxStage("write", {BoxEdge("one_to_one", 1), BoxEdge("broadcast", 0, false, 1)}, 1, true)};
  plan.stages[0].ports[0].sorted = true;
  plan.stages[1].inputs.push_back(BoxEdge("broadcast", 0, false, 1));
  plan.stages[1].tasks = 2;
  EXPECT_EQ(RenderPlan("job", plan, {"file:///in"}, "", nullptr, 0, OutputForm::kTable),
            "job     job\n"
            "output  -\n"
            "\n"
            "      +-------+\n"
            "      | read  |  o.read, tasks by splits\n"
            "      |       |  <- text of file:///in\n"
            "   .--|       |  -> port 0: sorted\n"
            ".--|--|       |  -> port 1: in the order of emission\n"
            "|  |  +-------+\n"
            "|  |\n"
            "|  |  +-------+\n"
            "|  |  | count |  o.count, 2 tasks\n"
            "|  '->|       |  <- all_to_all from read, grouped\n"
            "+---->|       |  <- broadcast from read port 1\n"
            "|  .--|       |  -> port 0: in the order of emission\n"
            "|  |  +-------+\n"
            "|  |\n"
            "|  |  +-------+\n"
            "|  |  | write |  o.write, tasks as count\n"
            "|  '->|       |  <- one_to_one from count\n"
            "'---->|       |  <- broadcast from read port 1\n"
            "      |       |  -> files (text)\n"
            "      +-------+\n");
}

}  // namespace
}  // namespace mr::ctl
