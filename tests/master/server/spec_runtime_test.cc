// The settings of a spec for the surroundings of attempts: side files, bad records, memory of a stage.
#include "master/server/spec.h"

#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace mr::master {
namespace {

using testing::HasSubstr;

const std::string kSha256(64, 'a');

// One stage that reads files and writes files, changed.
Result<JobSpec> Read(const std::function<void(rpc::JobSpec::Builder)>& change) {
  capnp::MallocMessageBuilder message;
  auto spec = message.initRoot<rpc::JobSpec>();
  spec.setName("job");
  spec.initOutput().setUri("file:///out");
  auto stage = spec.initStages(1)[0];
  stage.setName("map");
  stage.setOperator("m");
  auto files = stage.initInputs(1)[0].initFiles();
  files.initUris(1).set(0, "file:///in");
  files.setFormat("text");
  stage.initPorts(1)[0].initFiles().setFormat("text");
  change(spec);
  return ReadSpec(spec.asReader());
}

void SetFiles(rpc::JobSpec::Builder spec, const std::vector<std::pair<std::string, std::string>>& list) {
  auto files = spec.initFiles(static_cast<unsigned>(list.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    files[i].setName(list[i].first.c_str());
    files[i].setSha256(list[i].second.c_str());
  }
}

// A map, a stage that shares its fat partitions, one that reads that one-to-one, changed.
Result<JobSpec> ReadShared(const std::function<void(rpc::JobSpec::Builder)>& change) {
  capnp::MallocMessageBuilder message;
  auto spec = message.initRoot<rpc::JobSpec>();
  spec.setName("job");
  spec.initOutput().setUri("file:///out");
  auto stages = spec.initStages(3);
  for (unsigned s = 0; s < 3; ++s) {
    stages[s].setName("s" + std::to_string(s));
    stages[s].setOperator("o");
    auto input = stages[s].initInputs(1)[0];
    if (s == 0) {
      auto files = input.initFiles();
      files.initUris(1).set(0, "file:///in");
      files.setFormat("text");
    } else {
      input.initEdge().setStage(s - 1);
      input.getEdge().setKind(s == 1 ? rpc::EdgeKind::ALL_TO_ALL : rpc::EdgeKind::ONE_TO_ONE);
      input.getEdge().setSplits(s == 1);
    }
    if (s < 2) {
      stages[s].initPorts(1)[0].initShuffle();
    } else {
      stages[s].initPorts(1)[0].initFiles().setFormat("text");
    }
  }
  change(spec);
  return ReadSpec(spec.asReader());
}

TEST(SpecTest, FatPartitionsAreSharedWhereNoOtherEdgeFixesTheTasksOfAReader) {
  auto spec = ReadShared([](auto) {});
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_TRUE(spec->stages[1].splits());
  spec = ReadShared([](auto s) {
    auto ports = s.getStages()[0].initPorts(2);
    ports[0].initShuffle();
    ports[1].initShuffle();
    auto inputs = s.getStages()[2].initInputs(2);
    inputs[0].initEdge().setStage(1);
    inputs[0].getEdge().setKind(rpc::EdgeKind::ONE_TO_ONE);
    inputs[1].initEdge().setKind(rpc::EdgeKind::ALL_TO_ALL);
    inputs[1].getEdge().setPort(1);
  });
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_FALSE(spec->stages[1].splits());
  spec = ReadShared([](auto s) { s.getStages()[1].getInputs()[0].getEdge().setKind(rpc::EdgeKind::MANY_TO_ONE); });
  EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(spec.status().message(), HasSubstr("only partitions of an all-to-all edge can be split"));
}

TEST(SpecTest, HasSideFilesUnderTheirNames) {
  const auto spec = Read([](auto s) {
    SetFiles(s, {{"a.txt", kSha256}, {"b", kSha256}});
    s.setMaxBadRecords(5);
  });
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  ASSERT_EQ(spec->files.size(), 2u);
  EXPECT_EQ(spec->files[0].name, "a.txt");
  EXPECT_EQ(spec->max_bad_records, 5u);
}

TEST(SpecTest, RefusesSideFilesThatCannotBe) {
  const auto refused = [](const std::vector<std::pair<std::string, std::string>>& files, const std::string& said) {
    const auto spec = Read([&](auto s) { SetFiles(s, files); });
    EXPECT_EQ(spec.status().code(), Code::kInvalidArgument) << said;
    EXPECT_THAT(spec.status().message(), HasSubstr(said));
  };
  refused({{"a", kSha256}, {"a", kSha256}}, "two side files have the name 'a'");
  refused({{"..", kSha256}}, "is no name of a file");
  refused({{"../../etc/passwd", kSha256}}, "is no name of a file");
  refused({{"", kSha256}}, "is no name of a file");
  refused({{"a", "../../x"}}, "must be named by its SHA-256");
  refused(std::vector<std::pair<std::string, std::string>>(101, {"a", kSha256}), "more than 100 side files");
}

// The names of a final stage's ports.
Status WithOutputs(const std::vector<std::string>& names, bool shuffle_too = false) {
  return Read([&](auto s) {
           auto ports = s.getStages()[0].initPorts(static_cast<unsigned>(names.size() + shuffle_too));
           for (unsigned i = 0; i < names.size(); ++i) {
             ports[i].initFiles().setFormat("text");
             ports[i].getFiles().setName(names[i].c_str());
           }
           if (shuffle_too) ports[static_cast<unsigned>(names.size())].initShuffle();
         })
      .status();
}

TEST(SpecTest, FurtherOutputsHaveNamesOfTheirOwn) {
  EXPECT_TRUE(WithOutputs({"", "errors", "a.b_c-1"}).ok());
  for (const char* name : {"", "part", "_hidden", ".hidden", "a/b", "../up", "a b"}) {
    EXPECT_THAT(WithOutputs({"", name}).message(), HasSubstr("is no name of a further output")) << name;
  }
  EXPECT_THAT(WithOutputs({"main"}).message(), HasSubstr("is no name of a further output"));
  EXPECT_THAT(WithOutputs({"", "a", "a"}).message(), HasSubstr("two outputs have the name 'a'"));
  EXPECT_THAT(WithOutputs({""}, true).message(), HasSubstr("either shuffle ports or files ports"));
}

TEST(SpecTest, MemoryOfAStageGoesBeforeThatOfTheJob) {
  const auto graph = [](uint64_t job, uint64_t stage) {
    const auto spec = Read([&](auto s) {
      s.setMemoryBytes(job);
      s.getStages()[0].setMemoryBytes(stage);
    });
    EXPECT_TRUE(spec.ok()) << spec.status().ToString();
    return GraphOf(*spec).stages[0].memory_bytes;
  };
  EXPECT_EQ(graph(0, 0), 0u);
  EXPECT_EQ(graph(100, 0), 100u);
  EXPECT_EQ(graph(100, 30), 30u);
  EXPECT_EQ(graph(0, 30), 30u);
}

}  // namespace
}  // namespace mr::master
