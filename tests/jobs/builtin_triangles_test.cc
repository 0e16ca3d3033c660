#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/base/rng.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::HasSubstr;

std::string Triangles(const std::string& edges, const LocalOptions& shape) {
  LocalJob job(Builtins(), shape);
  job.Input("in", edges);
  const LocalResult result = job.Run("triangles");
  EXPECT_TRUE(result.ok) << result.error;
  return result.Output();
}

TEST(TrianglesTest, TheCompleteGraphOf60NodesHas34220) {
  std::string edges;
  for (int a = 1; a <= 60; ++a) {
    for (int b = a + 1; b <= 60; ++b) edges += std::to_string(a) + " " + std::to_string(b) + "\n";
  }
  EXPECT_EQ(Triangles(edges, {.split_bytes = 4096, .reduces = 3, .batch_records = 100, .block_bytes = 1000}),
            "triangles\t34220\n");
}

TEST(TrianglesTest, EqualsAnAdjacencyMatrixWithLoopsAndRepeatedEdges) {
  Rng rng(12);
  constexpr int kNodes = 20;
  bool edge[kNodes][kNodes] = {};
  std::string text = "# a comment\n\n% another\n";
  for (int i = 0; i < 110; ++i) {
    const auto a = rng.Below(kNodes), b = rng.Below(kNodes);
    edge[a][b] = edge[b][a] = true;
    text += "n" + std::to_string(a) + "\t" + "n" + std::to_string(b) + (i % 3 == 0 ? " 0.5" : "") + "\n";
  }
  int expected = 0;
  for (int a = 0; a < kNodes; ++a) {
    for (int b = a + 1; b < kNodes; ++b) {
      for (int c = b + 1; c < kNodes; ++c) expected += edge[a][b] && edge[b][c] && edge[a][c];
    }
  }
  ASSERT_GT(expected, 0);
  for (const LocalOptions& shape : Shapes()) {
    EXPECT_EQ(Triangles(text, shape), "triangles\t" + std::to_string(expected) + "\n");
  }
}

TEST(TrianglesTest, AGraphWithoutEdgesHasNone) { EXPECT_EQ(Triangles("1 1\n", Shapes()[1]), "triangles\t0\n"); }

TEST(TrianglesTest, ALineWithOneNodeIsRefusedWithFileAndByte) {
  LocalJob job(Builtins());
  job.Input("graph.txt", "1 2\nlonely\n");
  EXPECT_THAT(job.Run("triangles").error, HasSubstr("graph.txt, byte 4"));
}

TEST(TrianglesTest, ThePlanUsesAllFourKindsOfEdge) {
  const std::string plan = LocalJob(Builtins()).PlanText("triangles", {});
  for (const char* kind : {"all_to_all", "many_to_one", "one_to_one", "broadcast"}) {
    EXPECT_THAT(plan, HasSubstr(kind));
  }
  EXPECT_GE(sdk::JsonReader::Parse(plan)["stages"].items.size(), 5u);
}

TEST(PageRankTest, EqualsTheFormulaOnASmallGraph) {
  // d has no edge of its own, e none that comes in.
  const std::vector<std::pair<int, int>> edges = {{0, 1}, {0, 2}, {1, 2}, {2, 0}, {4, 2}, {1, 3}, {1, 3}};
  std::string text = "# a comment\n";
  std::vector<int> degree(5, 0);
  for (const auto& [from, to] : edges) {
    text += std::string(1, static_cast<char>('a' + from)) + "\t" + static_cast<char>('a' + to) + "\n";
    ++degree[static_cast<size_t>(from)];
  }
  std::vector<double> rank(5, 0.2);
  for (int round = 0; round < 7; ++round) {
    std::vector<double> next(5, 0.15 / 5 + 0.85 * rank[3] / 5);
    for (const auto& [from, to] : edges)
      next[static_cast<size_t>(to)] += 0.85 * rank[static_cast<size_t>(from)] / degree[static_cast<size_t>(from)];
    rank = next;
  }
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = LocalJob(Builtins(), shape).Input("graph", text).Run("pagerank", {"--rounds", "7"});
    ASSERT_TRUE(result.ok) << result.error;
    const auto lines = SortedLinesOf(result.Output());
    ASSERT_EQ(lines.size(), 5u) << result.Output();
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(lines[i].substr(0, 2), std::string(1, static_cast<char>('a' + i)) + "\t");
      EXPECT_NEAR(std::stod(lines[i].substr(2)), rank[i], 1e-12);
    }
  }
}

}  // namespace
}  // namespace mr::builtin
