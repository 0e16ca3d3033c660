// Conditions on the plan and the table of every built-in job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

const std::map<std::string, std::vector<std::string>> kArgs = {
    {"wordcount", {}},
    {"topwords", {"--top", "5"}},
    {"grep", {"-e", "x"}},
    {"sort", {"--format", "fixed:100"}},
    {"join", {"--left", "a", "--right", "b", "--on", "c"}},
    {"stream", {"--map", "cat", "--combine", "cat", "--reduce", "cat"}},
    {"triangles", {}},
    {"aggregate", {"--by", "a", "--bucket", "t=1h", "--agg", "sum(b),distinct(c),median(d)"}},
    {"distinct", {"--count"}},
    {"invertedindex", {}},
    {"pagerank", {"--rounds", "3"}},
    {"parse", {"--apache", "--where", "status = 200"}},
    {"select", {"--where", "a > 1", "--limit", "3"}},
    {"sessionize", {"--user", "u", "--time", "t"}},
    {"terasort", {"sort"}},
    {"topk", {"--by", "a", "--per", "b"}},
    {"empty", {"--reduces", "2"}},
    {"sleep", {}}};

TEST(BuiltinTableTest, NamesAreUniqueAndJobsHaveHelp) {
  std::set<std::string> names;
  for (uint32_t i = 0; i < Builtins()->operator_count; ++i) {
    EXPECT_TRUE(names.insert(Builtins()->operators[i]->name).second);
  }
  ASSERT_EQ(Builtins()->job_count, kArgs.size());
  for (uint32_t i = 0; i < Builtins()->job_count; ++i) {
    EXPECT_EQ(kArgs.count(Builtins()->jobs[i]->name), 1u);
    EXPECT_FALSE(std::string(Builtins()->jobs[i]->help).empty());
  }
}

// The rules of jobs/PLAN.md.
TEST(BuiltinPlanTest, DocumentsKeepTheRules) {
  for (const auto& [job, args] : kArgs) {
    SCOPED_TRACE(job);
    const sdk::JsonValue plan = sdk::JsonReader::Parse(LocalJob(Builtins()).PlanText(job, args));
    std::map<std::string, const sdk::JsonValue*> earlier;
    std::map<std::string, std::set<uint64_t>> read;
    for (const auto& stage : plan["stages"].items) {
      for (const auto& input : stage["inputs"].items) {
        if (!input.Has("edge")) continue;
        const auto& edge = input["edge"];
        ASSERT_EQ(earlier.count(edge["from"].text), 1u);
        const auto& ports = (*earlier[edge["from"].text])["ports"].items;
        const uint64_t port = edge.UintOr("port", 0);
        ASSERT_LT(port, ports.size());
        ASSERT_TRUE(ports[port].Has("shuffle"));
        EXPECT_TRUE(!edge["grouped"].boolean || ports[port]["shuffle"]["sorted"].boolean);
        read[edge["from"].text].insert(port);
      }
      EXPECT_FALSE(stage["ports"].items.empty());
      earlier[stage["name"].text] = &stage;
    }
    for (const auto& stage : plan["stages"].items) {
      const auto& ports = stage["ports"].items;
      const bool files = ports[0].Has("files");
      EXPECT_EQ(read[stage["name"].text].size(), files ? 0 : ports.size())
          << stage["name"].text << ": each shuffle port has a reader, files have none";
    }
  }
}

TEST(BuiltinPlanTest, CombineAndPartitionAreAskedOnlyOfOperatorsThatHaveThem) {
  std::map<std::string, const mr_operator*> operators;
  for (uint32_t i = 0; i < Builtins()->operator_count; ++i) {
    operators[Builtins()->operators[i]->name] = Builtins()->operators[i];
  }
  for (const auto& [job, args] : kArgs) {
    const sdk::JsonValue plan = sdk::JsonReader::Parse(LocalJob(Builtins()).PlanText(job, args));
    for (const auto& stage : plan["stages"].items) {
      const auto op = operators.find(stage["operator"].text);
      ASSERT_NE(op, operators.end()) << stage["operator"].text;
      for (const auto& port : stage["ports"].items) {
        if (!port.Has("shuffle")) continue;
        EXPECT_TRUE(!port["shuffle"]["combine"].boolean || op->second->combine != nullptr);
        EXPECT_TRUE(port["shuffle"]["partition"].text == "hash" || op->second->partition != nullptr);
      }
    }
  }
}

}  // namespace
}  // namespace mr::builtin
