#include "tests/master/host/taught_job.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "common/base/text.h"
#include "common/io/files.h"
#include "common/rpc/spec_wire.h"
#include "master/core/spec_check.h"
#include "master/host/profiles.h"
#include "tests/master/host/fake_worker.h"

namespace mr::test {

void TeachTwoStages(const std::string& input, const std::string& profiles) {
  capnp::MallocMessageBuilder message;
  auto wire = message.initRoot<rpc::JobSpec>();
  FillTwoStages(wire, input, "/out", 2);
  const auto spec = master::CheckSpec(rpc::FromWire(wire.asReader()));
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  const sched::JobGraph graph = master::GraphOf(*spec);
  sched::RunProfile run;
  run.runs = 4;
  for (size_t s = 0; s < 2; ++s) {
    sched::StageRuns stage;
    stage.name = graph.stages[s].name;
    stage.inputs = graph.stages[s].inputs;
    stage.tasks = s == 0 ? 3 : 2;
    stage.run = {s == 0 ? 1000.0f : 500.0f};
    stage.input_bytes = 10'000;
    run.stages.push_back(stage);
  }
  ASSERT_TRUE(MakeDirectories(ParentOf(profiles)).ok());
  master::ProfileStore store(profiles);
  ASSERT_TRUE(store.Add(spec->name, sched::PlanShape(graph), {1, 1}, 1, run).ok());
}

}  // namespace mr::test
