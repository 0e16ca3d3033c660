// Jobs of two stages, and steps applied to them as the core does. A spec is kept as the bytes of its fields.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "master/core/jobs.h"

namespace mr::test {

inline Result<JobSpec> ReadSpec(std::string_view bytes) {
  JobSpec spec;
  if (!DecodeFields(bytes, &spec)) return Corrupted("no spec");
  return spec;
}

// Returns the SubmitExtra of the n-th job: maps with so many partitions, and a reduce that reads them.
inline master::SubmitExtra TwoStages(uint32_t n, uint32_t maps, uint32_t partitions, bool utility = false) {
  JobSpec spec;
  spec.name = "two stages";
  spec.output_uri = "file:///out" + std::to_string(n);
  if (utility) spec.utility = {{{}, 1}, {Seconds(60), 0}};
  spec.stages.resize(2);
  for (StageSpec& stage : spec.stages) {
    stage.inputs.resize(1);
    stage.ports.resize(1);
  }
  spec.stages[0].name = "count";
  spec.stages[1].name = "sum";
  spec.stages[1].inputs[0].is_edge = true;
  spec.stages[1].ports[0].files = true;
  master::SubmitExtra extra{EncodeFields(spec), "id" + std::to_string(n), 1, {}};
  extra.plan.stages = {{maps, {partitions}, {{0, "file:///input", 0, 10, 10}}, 10, {}}, {1, {1}, {}, 10, {}}};
  return extra;
}

inline master::ReplicaChange Fold(master::Jobs* jobs, sched::StampedEvent stamped, const std::string& extra,
                                  const std::vector<sched::Decision>& decisions, uint64_t sequence,
                                  const master::StepChanges& changes = {}) {
  master::EventRecord record{std::move(stamped), extra};
  if (std::holds_alternative<sched::JobSubmitted>(record.stamped.event)) {
    master::SubmitExtra submit;
    EXPECT_TRUE(master::DecodeSubmit(extra, &submit));
    auto spec = ReadSpec(submit.spec);
    EXPECT_TRUE(spec.ok()) << spec.status().ToString();
    record.spec = std::make_shared<const JobSpec>(*std::move(spec));
  }
  return jobs->Apply(record, decisions, changes, sequence);
}

}  // namespace mr::test
