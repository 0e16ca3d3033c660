#include "paceline/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "paceline/testing/json.h"

namespace mr {
namespace {

using testing::HasSubstr;

std::string Refusal(const JobPlan& plan) {
  try {
    plan.Json();
  } catch (const JobError& e) {
    return e.what();
  }
  return "";
}

TEST(JobPlanTest, WritesTheDocument) {
  JobPlan plan;
  auto& map = plan.Map("a \"map\"", "op.map")
                  .Configure(Config().Set("x", 3))
                  .ReadUris({"l.csv"}, {.format = "csv", .sample_bytes = 9})
                  .Shuffle({.combine = true, .custom_partition = true})
                  .Shuffle({.sorted = false});
  plan.Reduce("r", "op.reduce").Group(map).Read(Edge::kBroadcast, map, 1).WriteFiles("raw");
  const sdk::JsonValue json = sdk::JsonReader::Parse(plan.Json());
  EXPECT_EQ(json["version"].number, 1);
  const auto& a = json["stages"].items.at(0);
  EXPECT_EQ(a["name"].text, "a \"map\"");
  EXPECT_EQ(Config::Decode(sdk::FromBase64(a["config"].text)).Int("x"), 3);
  EXPECT_EQ(a["inputs"].items.at(0)["files"]["uris"].items.at(0).text, "l.csv");
  EXPECT_EQ(a["inputs"].items.at(0)["files"]["sample_bytes"].number, 9);
  EXPECT_EQ(a["ports"].items.at(0)["shuffle"]["partition"].text, "custom");
  EXPECT_FALSE(a["ports"].items.at(1)["shuffle"]["sorted"].boolean);
  const auto& r = json["stages"].items.at(1);
  EXPECT_EQ(r["inputs"].items.at(0)["edge"]["kind"].text, "all_to_all");
  EXPECT_TRUE(r["inputs"].items.at(0)["edge"]["grouped"].boolean);
  EXPECT_EQ(r["inputs"].items.at(1)["edge"]["kind"].text, "broadcast");
  EXPECT_EQ(r["inputs"].items.at(1)["edge"]["port"].number, 1);
  EXPECT_EQ(r["ports"].items.at(0)["files"]["format"].text, "raw");
}

TEST(JobPlanTest, AFileWithoutANameIsRefusedWithItsStage) {
  JobPlan plan;
  auto& stage = plan.Map("users", "op");
  try {
    stage.ReadUris({"a", ""});
    FAIL() << "taken";
  } catch (const JobError& e) {
    EXPECT_STREQ(e.what(), "stage 'users' reads a file without a name: an argument of the job is missing or empty");
  }
}

TEST(JobPlanTest, KnowsWhatItIsTold) {
  EXPECT_FALSE(JobPlan().InputBytes({"a"}));
  EXPECT_EQ(JobPlan().memory_bytes(), 0u);
  JobPlan plan(
      {[](const std::vector<std::string>& uris) { return uris[0] == "a" ? std::optional<uint64_t>(7) : std::nullopt; },
       9});
  EXPECT_EQ(plan.InputBytes({"a"}), 7u);
  EXPECT_FALSE(plan.InputBytes({"b"}));
  EXPECT_FALSE(plan.InputBytes({})) << "nothing named is no empty input";
  EXPECT_EQ(plan.memory_bytes(), 9u);
  plan.Map("m", "op").ReadFiles().WriteFiles();
  EXPECT_FALSE(sdk::JsonReader::Parse(plan.Json()).Has("notes"));
  plan.Note("since \"a\" is small");
  plan.Note("second");
  const sdk::JsonValue json = sdk::JsonReader::Parse(plan.Json());
  const auto& notes = json["notes"].items;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].text, "since \"a\" is small");
}

TEST(JobPlanTest, RefusesWhatIsNoJob) {
  EXPECT_THAT(Refusal(JobPlan()), HasSubstr("no stage"));
  {
    JobPlan plan;
    plan.Map("m", "op").ReadFiles();
    EXPECT_THAT(Refusal(plan), HasSubstr("stage 'm' writes nothing"));
  }
  {
    JobPlan plan;
    plan.Map("m", "op").WriteFiles();
    EXPECT_THAT(Refusal(plan), HasSubstr("how many Tasks()"));
  }
  {
    JobPlan plan;
    plan.Map("m", "op").ReadFiles().Shuffle().WriteFiles();
    EXPECT_THAT(Refusal(plan), HasSubstr("files and other ports"));
  }
  {
    JobPlan plan;
    auto& m = plan.Map("m", "op").ReadFiles().Shuffle();
    plan.Reduce("r", "op").Read(Edge::kManyToOne, m).WriteFiles();
    EXPECT_THAT(Refusal(plan), HasSubstr("reduce stage without a grouped input"));
  }
  {
    JobPlan plan;
    auto& m = plan.Map("m", "op").ReadFiles().Shuffle();
    plan.Join("j", "op").Group(m).WriteFiles();
    EXPECT_THAT(Refusal(plan), HasSubstr("two grouped inputs, not 1"));
  }
}

TEST(JobPlanTest, RefusesEdgesThatCannotBe) {
  JobPlan plan;
  auto& m = plan.Map("m", "op").ReadFiles().Shuffle({.sorted = false});
  EXPECT_THROW(plan.Reduce("r", "op").Group(m), JobError);
  EXPECT_THROW(plan.Map("n", "op").Read(Edge::kOneToOne, m, 1), JobError);
  EXPECT_THROW(plan.Map("m", "op"), JobError);
}

TEST(Base64Test, AnyBytesComeBack) {
  EXPECT_EQ(sdk::Base64("foob"), "Zm9vYg==");
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(rng.Below(20), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.Next());
    EXPECT_EQ(sdk::FromBase64(sdk::Base64(bytes)), bytes);
  }
}

TEST(ConfigTest, AnyTextComesBack) {
  Config config;
  config.Set("pattern", "a\\n=\nb\\").Set("n", -4).Set("yes", true).Set("empty", "");
  const Config back = Config::Decode(config.Encode());
  EXPECT_EQ(back.Text("pattern"), "a\\n=\nb\\");
  EXPECT_EQ(back.Int("n"), -4);
  EXPECT_TRUE(back.Bool("yes"));
  EXPECT_FALSE(back.Bool("not there"));
  EXPECT_EQ(back.Text("empty"), "");
  EXPECT_THROW(back.Int("pattern"), JobError);
  EXPECT_THROW(Config::Decode("garbage"), JobError);
}

}  // namespace
}  // namespace mr
