// Tests of the translation of job specs: what is sent is what is read, and equal specs have equal bytes.
#include "common/rpc/spec_wire.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "common/base/fields.h"

namespace mr {
namespace {

JobSpec WholeSpec() {
  JobSpec s;
  s.name = "name";
  s.queue = "queue";
  s.library = std::string(64, 'a');
  s.priority = -1;
  s.output_uri = "dfs:///out";
  s.overwrite = true;
  s.conf = {{"sort_buffer", "4m"}};
  s.env = {{"KEY", "value"}};
  s.labels = {{"team", "a"}, {"use", ""}};
  s.max_failures = 2;
  s.memory_bytes = 3;
  s.sort_buffer_bytes = 4;
  s.policies = {"fifo", "late(cap=0.2)"};
  s.deadline = Millis(5);
  s.best_effort = true;
  s.utility = {{Millis(6), 0.5}, {Millis(7), -1}};
  s.speculation = Wish::kOff;
  s.clones = Wish::kOn;
  s.max_bad_records = 8;
  s.files = {{"words", std::string(64, 'b'), 9}};
  s.task_timeout = Millis(10);
  s.strict_inputs = true;
  s.allow_network = true;
  s.min_tier = 19;
  StageSpec& map = s.stages.emplace_back();
  map.name = "map";
  map.operator_name = "o";
  map.config = std::string("\0x", 2);
  map.tasks = 11;
  map.task_bytes = 12;
  map.memory_bytes = 13;
  map.flags = 14;
  map.builtin = true;
  map.inputs.emplace_back().files = {{"dfs:///a", "dfs:///b"}, "text", 15, 16};
  PortSpec& shuffle = map.ports.emplace_back();
  shuffle.sorted = shuffle.combine = shuffle.custom_partition = true;
  StageSpec& reduce = s.stages.emplace_back();
  reduce.name = "reduce";
  reduce.operator_name = "p";
  InputSpec& edge = reduce.inputs.emplace_back();
  edge.is_edge = true;
  edge.kind = EdgeKind::kOneToOne;
  edge.stage = 17;
  edge.port = 18;
  edge.grouped = edge.quotes = edge.splits = true;
  edge.format = "csv";
  edge.written = "text";
  edge.file = "f";
  edge.sample_bytes = 19;
  PortSpec& files = reduce.ports.emplace_back();
  files.files = true;
  files.format = "record";
  files.name = "errors";
  return s;
}

JobSpec Sent(const JobSpec& spec) {
  capnp::MallocMessageBuilder message;
  rpc::ToWire(spec, message.initRoot<rpc::JobSpec>());
  return rpc::FromWire(message.getRoot<rpc::JobSpec>().asReader());
}

TEST(SpecWireTest, ASpecArrivesAsItWasSentAndIsReadFromItsBytes) {
  for (const JobSpec& spec : {WholeSpec(), JobSpec{}}) {
    EXPECT_EQ(Sent(spec), spec);
    const std::string bytes = rpc::CanonicalBytes(spec);
    EXPECT_EQ(rpc::SpecOfBytes(bytes).value(), spec);
    EXPECT_EQ(rpc::CanonicalBytes(Sent(spec)), bytes);
    JobSpec decoded;
    ASSERT_TRUE(DecodeFields(EncodeFields(spec), &decoded));
    EXPECT_EQ(decoded, spec);
  }
}

// Jobs that mrctl 0.1 submitted are found again by their submission id and these bytes.
TEST(SpecWireTest, TheBytesAreThoseOfTheFirstRelease) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<rpc::JobSpec>();
  out.setName("job");
  out.setQueue("");
  out.setPriority(0);
  out.setLibrary("");
  out.getOutput().setUri("dfs:///out");
  out.getOutput().setOverwrite(false);
  out.initFiles(0);
  out.initUtility(0);
  out.setSortBufferBytes(0);
  out.initConf(0);
  auto env = out.initEnv(1);
  env[0].setKey("K");
  env[0].setValue("");
  out.initLabels(0);
  out.initPolicies(0);
  auto stages = out.initStages(2);
  for (unsigned s = 0; s < 2; ++s) {
    stages[s].setName(s == 0 ? "map" : "reduce");
    stages[s].setOperator("o");
    stages[s].setConfig(capnp::Data::Reader());
    auto input = stages[s].initInputs(1)[0];
    auto port = stages[s].initPorts(1)[0];
    if (s == 0) {
      auto files = input.initFiles();
      files.initUris(1).set(0, "dfs:///in");
      files.setFormat("text");
      port.initShuffle().setSorted(true);
    } else {
      auto edge = input.initEdge();
      edge.setKind(rpc::EdgeKind::ALL_TO_ALL);
      edge.setGrouped(true);
      port.initFiles().setFormat("text");
      port.getFiles().setName("");
    }
  }
  const std::string bytes = rpc::CanonicalBytes(out.asReader());
  EXPECT_EQ(rpc::CanonicalBytes(rpc::FromWire(out.asReader())), bytes);
  EXPECT_EQ(rpc::CanonicalBytes(rpc::SpecOfBytes(bytes).value()), bytes);
}

TEST(SpecWireTest, ReadsOneElementMoreThanALimitAllows) {
  JobSpec spec = WholeSpec();
  spec.stages[0].config.resize(kMaxConfigBytes + 5);
  spec.stages[0].inputs[0].files.uris.resize(kMaxUris + 5);
  spec.utility.resize(kMaxUtilityPoints + 5);
  spec.files.resize(kMaxSideFiles + 5);
  const JobSpec read = Sent(spec);
  EXPECT_EQ(read.stages[0].config.size(), kMaxConfigBytes + 1);
  EXPECT_EQ(read.stages[0].inputs[0].files.uris.size(), kMaxUris + 1);
  EXPECT_EQ(read.utility.size(), kMaxUtilityPoints + 1);
  EXPECT_EQ(read.files.size(), kMaxSideFiles + 1);
  spec.stages.resize(kMaxStages + 5);
  EXPECT_EQ(Sent(spec).stages.size(), kMaxStages + 1);
}

TEST(SpecWireTest, ValuesThatALaterReleaseAddedAreUnknown) {
  capnp::MallocMessageBuilder message;
  auto wire = message.initRoot<rpc::JobSpec>();
  wire.setClones(static_cast<rpc::Wish>(300));
  wire.setDeadlineMs(UINT64_MAX);
  auto edge = wire.initStages(1)[0].initInputs(1)[0].initEdge();
  edge.setKind(static_cast<rpc::EdgeKind>(5));
  const JobSpec spec = rpc::FromWire(wire.asReader());
  EXPECT_FALSE(Known(spec.clones));
  EXPECT_FALSE(Known(spec.stages[0].inputs[0].kind));
  EXPECT_FALSE(spec.stages[0].inputs[0].unknown);
  EXPECT_GT(spec.deadline, Seconds(1ll << 32));
}

TEST(SpecWireTest, DamagedBytesAreRefused) {
  const std::string bytes = rpc::CanonicalBytes(WholeSpec());
  EXPECT_EQ(rpc::SpecOfBytes(std::string_view(bytes).substr(0, 64)).status().code(), Code::kCorrupted);
  EXPECT_EQ(rpc::SpecOfBytes("").status().code(), Code::kCorrupted);
}

TEST(SpecWireTest, TheInfoOfAStageArrivesAsItWasSent) {
  const JobSpec spec = WholeSpec();
  StageInfo info{{{1, 2}, 3}, "library", spec.stages[1], 4, {5, 6}, spec.env, 7, 8, 9, "file:///staging", "job"};
  info.files = spec.files;
  info.max_bad_records = 10;
  info.task_timeout = Millis(11);
  info.strict_inputs = true;
  info.allow_network = true;
  info.min_tier = 12;
  info.owner = "ann";
  capnp::MallocMessageBuilder message;
  rpc::ToWire(info, message.initRoot<rpc::StageInfo>());
  EXPECT_EQ(rpc::FromWire(message.getRoot<rpc::StageInfo>().asReader()), info);
}

}  // namespace
}  // namespace mr
