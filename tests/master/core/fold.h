// Folds events into a job table as the core does, with the spec of a submission read from its extra.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "master/core/job_table.h"
#include "master/host/spec_bytes.h"

namespace mr::test {

inline master::JobTable::Change Fold(master::JobTable* table, sched::StampedEvent stamped, const std::string& extra,
                                     const std::vector<sched::Decision>& decisions, uint64_t sequence) {
  master::EventRecord record{std::move(stamped), extra};
  if (std::holds_alternative<sched::JobSubmitted>(record.stamped.event)) {
    master::SubmitExtra submit;
    EXPECT_TRUE(master::DecodeSubmit(extra, &submit));
    auto spec = master::SpecOf(submit.spec);
    EXPECT_TRUE(spec.ok()) << spec.status().ToString();
    record.spec = std::make_shared<const JobSpec>(*std::move(spec));
  }
  return table->Fold(record, decisions, sequence);
}

}  // namespace mr::test
