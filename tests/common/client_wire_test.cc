// Tests of the translation of client.capnp: what is sent is what is read.
#include "common/rpc/client_wire.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

namespace mr {
namespace {

template <class Wire, class T>
T Arrived(const T& value) {
  capnp::MallocMessageBuilder message;
  rpc::ToWire(value, message.initRoot<Wire>());
  return rpc::FromWire(message.getRoot<Wire>().asReader());
}

JobStatus WholeJob() {
  JobStatus job;
  job.id = {1, 2};
  job.name = "name";
  job.queue = "queue";
  job.output_uri = "file:///out";
  job.error = "error\nof lines";
  job.submission_id = "submission";
  job.output_digest = {3, 4};
  job.last_failure = "failure";
  job.state = JobState::kKilling;
  job.priority = -5;
  job.submitted_unix_ms = 6;
  job.elapsed_us = 7;
  job.output_bytes = 8;
  job.output_records = 9;
  job.output_parts = 10;
  job.stages = {{"map", true, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, {}};
  job.causes = {{"first", 21, 22, 23}};
  job.clones = CloneStatus{24, 25, 26, 27, 28, 29, 30, UINT64_MAX, true, 31, 32, 33, 34, 35, 36};
  job.steering = SteeringStatus{{{37.5, .25, 38, 39, 40.125, 41}}, 42.000001};
  job.deadline = DeadlineStatus{43, true, true, true, 44, 45, 46, 47, 1.5, 48, 49};
  job.warnings = {"warning", ""};
  job.hung = {"hung"};
  job.skew = {{47, 48, "key", true, true, 49, 50, 51, 52, 53, 54, "text"}};
  return job;
}

TEST(ClientWireTest, AJobArrivesAsItWasSent) {
  EXPECT_EQ(Arrived<rpc::JobStatus>(WholeJob()), WholeJob());
  EXPECT_EQ(Arrived<rpc::JobStatus>(JobStatus{}), JobStatus{}) << "without what it does not have";
  JobStatus counted;
  counted.counters = {{"group", "name", 1}};
  EXPECT_EQ(Arrived<rpc::JobStatus>(counted).counters, std::nullopt) << "they have pages of their own";
}

TEST(ClientWireTest, TheWireHasMicrosecondsAndTheNumbersOfStates) {
  capnp::MallocMessageBuilder message;
  auto wire = message.initRoot<rpc::JobStatus>();
  JobStatus job = WholeJob();
  job.steering->points[0].left_s = -1;
  rpc::ToWire(job, wire);
  EXPECT_EQ(wire.getSteering().getPoints()[0].getAtUs(), 37'500'000u);
  EXPECT_EQ(wire.getSteering().getPoints()[0].getLeftUs(), 0u);
  EXPECT_EQ(wire.getSteering().getHeldUs(), 42'000'001u);
  EXPECT_EQ(wire.getElapsedUs(), 7u);
  EXPECT_EQ(wire.getState(), rpc::JobState::KILLING);
  EXPECT_EQ(wire.getClones().getLentExtraUs(), 36u);
  EXPECT_EQ(wire.getDeadline().getHeld(), 46u);
}

TEST(ClientWireTest, AStateThatALaterReleaseAddedIsUnknown) {
  capnp::MallocMessageBuilder message;
  auto wire = message.initRoot<rpc::JobStatus>();
  wire.setState(static_cast<rpc::JobState>(99));
  EXPECT_EQ(rpc::FromWire(wire.asReader()).state, JobState::kUnknown);
}

TEST(ClientWireTest, QueuesDrainsAndTheJournalArriveAsTheyWereSent) {
  const QueueStatus queue{"night", 2.5, 1, 2, 3, 4, true};
  EXPECT_EQ(Arrived<rpc::QueueStatus>(queue), queue);
  const DrainStatus drain{true,      true,     1,        2,     3, 4, 5, 6, 7, 8, 9, {{10, 11}, {12, 13}},
                          {"waits"}, {"left"}, {"thin"}, "note"};
  EXPECT_EQ(Arrived<rpc::DrainStatus>(drain), drain);
  const JournalStatus journal{true, 1, 2, 3, 4, "w5", "text", true, {"passed", "over"}, true, 6, 7, "failure"};
  EXPECT_EQ(Arrived<rpc::JournalStatus>(journal), journal);
}

TEST(ClientWireTest, RowsOfListsArriveAsTheyWereSent) {
  const JobId job{1, 2};
  TaskStatus task;
  task.id = Name(TaskId{job, 3, 4}, TaskLetter::kReduce);
  task.state = "running";
  task.worker = "w5";
  task.replicas = {"w6", "w7"};
  task.stage = 3;
  task.attempts = 8;
  task.generation = 9;
  task.input_bytes = 10;
  task.output_bytes = 11;
  task.output_records = 12;
  capnp::MallocMessageBuilder message;
  rpc::ToWire(task, message.initRoot<rpc::TaskStatus>());
  EXPECT_EQ(rpc::FromWire(job, message.getRoot<rpc::TaskStatus>().asReader()), task);

  AttemptStatus attempt;
  attempt.id = Name(AttemptId{{job, 3, 4}, 5}, TaskLetter::kReduce);
  attempt.state = "failed";
  attempt.cause = "clone";
  attempt.worker = "w6";
  attempt.message = "message";
  attempt.reason = "reason";
  attempt.progress = .5;
  attempt.ran_us = 7;
  attempt.launched_us = 8;
  attempt.started_us = 9;
  attempt.ended_us = 10;
  attempt.inputs_us = 11;
  attempt.sort_us = 12;
  attempt.reduce_us = 13;
  attempt.won = true;
  attempt.failure = "user";
  EXPECT_EQ(Arrived<rpc::AttemptStatus>(attempt), attempt);

  WorkerStatus worker{"w1", "name", "host:1", "rack", "live", 2, 3, 4, 5, 6, 7, 8, 9, 10, {"a", "b"}, 11, true, 1};
  EXPECT_EQ(Arrived<rpc::WorkerStatus>(worker), worker);

  const DecisionStatus decision{1, "launched", attempt.id, "w2", "reason"};
  EXPECT_EQ(Arrived<rpc::Decision>(decision), decision);
}

}  // namespace
}  // namespace mr
