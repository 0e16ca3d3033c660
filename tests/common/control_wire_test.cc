// Tests of the translation of control.capnp: what is sent is what is read, within the limits of both sides.
#include "common/rpc/control_wire.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "common/rpc/wire_walk.h"

namespace mr {
namespace {

const Replica kReplica{{{{1, 2}, 3, 4}, 5}, 6, {7}, 8};
const auto kPlace = std::make_shared<const ReplicaLocation>(
    ReplicaLocation{kReplica.output, 6, {7}, 8, "host:9", {10, 11}, {{12, 13, {14, 15}, 16}}, 17});

// There and back.
template <class Wire, class T>
T Sent(const T& value) {
  capnp::MallocMessageBuilder message;
  rpc::ToWire(value, message.initRoot<Wire>());
  return rpc::FromWire(message.getRoot<Wire>().asReader());
}

report::Finished WholeFinished() {
  report::Finished f;
  f.output.manifest = {1, 2, {3, 4}};
  f.output.partitions = 5;
  f.output.rows = {{6, 7, {8, 9}, 10}, {}};
  f.output.partition_kib = {11, 12};
  f.output.files = {{"part-r-00000", "/out/part", 13, 14, {15, 16}, {{{{17}, 18, 19, 20}, {{21}, {22}}}}}};
  f.consumed = {{23, 24, 25, {26, 27}}};
  f.ran = Micros(28);
  f.waited = Micros(29);
  f.counters = {{"group", "name", -30}};
  f.bad_records = {"line 31"};
  f.hot_keys = {{32, 33, 34, std::string("\0x", 2), true, 35, 36}};
  f.grown = {"file:///grown"};
  return f;
}

TEST(ControlWireTest, EveryKindOfReportArrivesAsItWasSent) {
  const std::vector<Report> all = {
      {{{{1, 2}, 3, 4}, 5}, report::Started{}},
      {{{{1, 2}, 3, 4}, 5}, WholeFinished()},
      {{{{1, 2}, 3, 4}, 5}, report::Failed{FailureKind::kPreempted, "why", "byte 7", "tail", "a log\n\xff", 48}},
      {{{{1, 2}, 3, 4}, 5}, report::Refused{"no slot"}},
      {{{{1, 2}, 3, 4}, 5}, report::Killed{}},
      {{{{1, 2}, 3, 4}, 5}, report::FetchFailed{kReplica, "gone", true}},
      {{{{1, 2}, 3, 4}, 5}, report::FetchDone{kReplica, 9, Micros(10), 11}},
      {{{{1, 2}, 3, 4}, 5}, report::ReplicaMade{kReplica}},
      {{{{1, 2}, 3, 4}, 5}, report::ReplicaNotMade{kReplica, "disk full", true}},
  };
  ASSERT_EQ(all.size() + 1, std::variant_size_v<decltype(Report::what)>) << "all but Unknown";
  for (const Report& report : all) EXPECT_EQ(Sent<rpc::Report>(report), report) << report.what.index();
}

TEST(ControlWireTest, ALaunchArrivesAsItWasSent) {
  LaunchCommand launch{{{{1, 2}, 3, 4}, 5}, 6, {}, {{7, 8, 9, 10, 11}}, true};
  SplitToRead& split = launch.splits.emplace_back();
  split.input = 12;
  split.uri = "dfs:///" + std::string(100'000, 'x');  // a path is never cut
  split.offset = 13;
  split.length = 14;
  split.file_bytes = 15;
  split.version = {16, -17, 18, 19};
  split.view = 20;
  split.blocks = {{{{21}, 22, 23, 24}, 25, {}, {"a:1", "b:2"}, {"w3 (c:3)"}}};
  EXPECT_EQ(Sent<rpc::Launch>(launch), launch);
}

// The command that arrives where `command` is sent, if it is of the same kind.
template <class T>
T SentCommand(const T& command) {
  const Command sent = Sent<rpc::Command>(Command(command));
  EXPECT_EQ(sent.index(), Command(command).index());
  return std::holds_alternative<T>(sent) ? std::get<T>(sent) : T{};
}

TEST(ControlWireTest, EveryKindOfCommandArrivesAsItWasSent) {
  const AttemptId attempt{{{1, 2}, 3, 4}, 5};
  const BlockRef block{{1}, 2, 3, 4};
  EXPECT_EQ(SentCommand(LaunchCommand{attempt, 6, {}, {}, true}), (LaunchCommand{attempt, 6, {}, {}, true}));
  StageInfo stage;
  stage.id = {{1, 2}, 3};
  stage.spec.name = "map";
  EXPECT_EQ(SentCommand(stage), stage);
  EXPECT_EQ(SentCommand(command::Kill{attempt}).attempt, attempt);
  EXPECT_EQ(SentCommand(command::TakeBack{attempt}).attempt, attempt);
  EXPECT_EQ(SentCommand(command::DropReplica{kReplica}).replica, kReplica);
  EXPECT_EQ(SentCommand(command::EndJob{{1, 2}}).job, (JobId{1, 2}));
  EXPECT_EQ(SentCommand(command::DeleteBlock{block}).block, block);
  EXPECT_EQ(SentCommand(command::EmptyQuarantine{block}).block, block);
  EXPECT_TRUE(SentCommand(command::Drain{true}).on);
  const auto replicate = SentCommand(command::ReplicateBlock{block, "host:1"});
  EXPECT_EQ(replicate.block, block);
  EXPECT_EQ(replicate.to_address, "host:1");
  const auto bind = SentCommand(command::Bind{attempt, 3, kPlace});
  EXPECT_EQ(bind.reader, attempt);
  EXPECT_EQ(*bind.replica, *kPlace);
  EXPECT_EQ(*SentCommand(command::ReplicateOutput{{{1, 2}, 3}, kPlace}).from, *kPlace);
  const auto delta = SentCommand(DirectoryDelta{{{1, 2}, 3}, 4, {kPlace, kPlace}, {kReplica}});
  EXPECT_EQ(delta.stage, (StageId{{1, 2}, 3}));
  EXPECT_EQ(delta.version, 4u);
  ASSERT_EQ(delta.added.size(), 2u);
  EXPECT_EQ(*delta.added[1], *kPlace);
  EXPECT_EQ(delta.removed, std::vector<Replica>{kReplica});
  EXPECT_EQ(std::variant_size_v<Command>, 14u) << "all but Unknown are above";
}

TEST(ControlWireTest, ABatchArrivesAsItWasSent) {
  capnp::MallocMessageBuilder message;
  auto wire = message.initRoot<rpc::CommandBatch>();
  wire.setMasterEpoch(1);
  wire.setSequence(2);
  rpc::ToWire(Answer{3, Verdict::kDiffers}, wire.initAnswers(1)[0]);
  rpc::ToWire(command::Drain{true}, wire.initCommands(2)[1]);
  const CommandBatch batch = rpc::FromWire(wire.asReader());
  EXPECT_EQ(batch.master_epoch, 1u);
  EXPECT_EQ(batch.sequence, 2u);
  EXPECT_EQ(batch.answers, (std::vector<Answer>{{3, Verdict::kDiffers}}));
  ASSERT_EQ(batch.commands.size(), 2u);
  EXPECT_TRUE(std::get<command::Drain>(batch.commands[1]).on);
}

TEST(ControlWireTest, TextsAndListsKeepTheirLimits) {
  Report report{{{{1, 2}, 3, 4}, 5}, report::Failed{FailureKind::kUser, std::string(10'000, 'm'), "", ""}};
  EXPECT_EQ(std::get<report::Failed>(Sent<rpc::Report>(report).what).message.size(), rpc::kCutBytes);
  std::get<report::Failed>(report.what).log = std::string(kKeptLogBytes + 1, 'l');
  EXPECT_GT(rpc::WireSize(report), kKeptLogBytes);
  EXPECT_EQ(std::get<report::Failed>(Sent<rpc::Report>(report).what).log.size(), kKeptLogBytes);
  report::Finished many = WholeFinished();
  many.output.rows.resize(kInlineRows + 1);
  many.output.partition_kib.resize(kSizedRows + 1);
  many.bad_records.resize(kMaxBadRecords + 1);
  many.hot_keys.resize(kMaxHotKeys + 1);
  many.grown.resize(kMaxGrown + 1);
  report.what = many;
  const auto read = std::get<report::Finished>(Sent<rpc::Report>(report).what);
  EXPECT_EQ(read.output.rows.size(), kInlineRows);
  EXPECT_EQ(read.output.partition_kib.size(), kSizedRows);
  EXPECT_EQ(read.bad_records.size(), kMaxBadRecords);
  EXPECT_EQ(read.hot_keys.size(), kMaxHotKeys);
  EXPECT_EQ(read.grown.size(), kMaxGrown);
  many = WholeFinished();
  many.bad_records = many.grown = {std::string(10'000, 'l')};
  many.hot_keys[0].prefix = std::string(kHotKeyPrefix + 1, 'p');
  report.what = many;
  const auto cut = std::get<report::Finished>(Sent<rpc::Report>(report).what);
  EXPECT_EQ(cut.bad_records[0].size(), rpc::kCutBytes);
  EXPECT_EQ(cut.grown[0].size(), rpc::kCutBytes);
  EXPECT_EQ(cut.hot_keys[0].prefix.size(), kHotKeyPrefix);
  report.what = report::Refused{std::string("no\0slot", 7)};
  EXPECT_EQ(Sent<rpc::Report>(report), report);
  report.what = report::FetchDone{kReplica, 1, Duration{-5}, 1};
  EXPECT_EQ(std::get<report::FetchDone>(Sent<rpc::Report>(report).what).took, Duration{}) << "no time is negative";
}

TEST(ControlWireTest, ValuesThatALaterReleaseAddedAreReadAsTheLeastHarmful) {
  capnp::MallocMessageBuilder message;
  auto wire = message.initRoot<rpc::Report>();
  rpc::ToWire(AttemptId{{{1, 2}, 3, 4}, 5}, wire.initAttempt());
  wire.initFailed().setKind(static_cast<rpc::FailureKind>(99));
  const Report failed = rpc::FromWire(wire.asReader());
  EXPECT_EQ(std::get<report::Failed>(failed.what).kind, FailureKind::kEnvironment) << "not charged to the user";
  EXPECT_EQ(rpc::FromWire(static_cast<rpc::Verdict>(99)), Verdict::kStale);
  for (uint8_t v = 0; v <= static_cast<uint8_t>(Verdict::kLater); ++v) {
    EXPECT_EQ(rpc::FromWire(rpc::ToWire(static_cast<Verdict>(v))), static_cast<Verdict>(v));
  }
}

TEST(ControlWireTest, AReportTakesNoMoreThanItsBoundSays) {
  report::Finished long_one = WholeFinished();
  for (uint32_t i = 0; i < 2000; ++i) long_one.consumed.push_back({0, i, 1, {i, i}});
  for (int i = 0; i < 200; ++i) long_one.counters.push_back({std::string(90, 'g'), std::string(90, 'n'), i});
  long_one.bad_records.assign(kMaxBadRecords, std::string(8000, 'b'));
  const Report report{{{{1, 2}, 3, 4}, 5}, long_one};
  capnp::MallocMessageBuilder message;
  rpc::ToWire(report, message.initRoot<rpc::Report>());
  EXPECT_LE(message.sizeInWords() * sizeof(capnp::word), rpc::WireSize(report));
}

}  // namespace
}  // namespace mr
