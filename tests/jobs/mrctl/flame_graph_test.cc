// Flame graphs: boxes are as wide as their share of the samples, and names of operators do no harm.
#include "jobs/mrctl/flame_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the attribute of the box whose tooltip begins so; "" if there is no such box.
std::string Box(const std::string& svg, const std::string& tooltip, const std::string& attribute) {
  const size_t title = svg.find("<title>" + tooltip);
  if (title == std::string::npos) return "";
  const size_t at = svg.find(" " + attribute + "=\"", title) + attribute.size() + 3;
  return svg.substr(at, svg.find('"', at) - at);
}

TEST(FlameGraphTest, BoxesShareTheWidthAndStandOnTheirCaller) {
  FlameGraph graph;
  for (int i = 0; i < 3; ++i) graph.Add({"main", "Map"});
  graph.Add({"main", "Sort"});
  EXPECT_EQ(graph.samples(), 4u);
  const std::string svg = graph.Svg("attempt_1");
  EXPECT_THAT(svg, HasSubstr(">attempt_1</text>"));
  EXPECT_EQ(Box(svg, "all (100.0 %, 4 samples)", "width"), "1180.0");
  EXPECT_EQ(Box(svg, "main (100.0 %, 4 samples)", "width"), "1180.0");
  EXPECT_EQ(Box(svg, "Map (75.0 %, 3 samples)", "width"), "885.0");
  EXPECT_EQ(Box(svg, "Map", "x"), "10.0");
  EXPECT_EQ(Box(svg, "Sort (25.0 %, 1 sample)", "x"), "895.0");
  EXPECT_LT(std::stod(Box(svg, "Map", "y")), std::stod(Box(svg, "main", "y")));
  EXPECT_EQ(Box(svg, "Map", "y"), Box(svg, "Sort", "y"));
}

TEST(FlameGraphTest, OneNameUnderTwoCallersIsTwoBoxes) {
  FlameGraph graph;
  graph.Add({"a", "memcpy"});
  graph.Add({"b", "memcpy"});
  const std::string svg = graph.Svg("t");
  const size_t first = svg.find("<title>memcpy (50.0 %");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(svg.find("<title>memcpy (50.0 %", first + 1), std::string::npos);
}

TEST(FlameGraphTest, NamesAreEscapedAndLongOnesCut) {
  FlameGraph graph;
  graph.Add({"Less<\"&\">", std::string(9000, 'x')});
  const std::string svg = graph.Svg("<script>");
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("<title>Less&lt;"));
  EXPECT_LT(svg.size(), 4000u);
}

TEST(FlameGraphTest, WithoutSamplesItIsStillAnImage) {
  const std::string svg = FlameGraph().Svg("nothing");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg;
  EXPECT_TRUE(svg.ends_with("</svg>\n")) << svg;
  EXPECT_THAT(svg, Not(HasSubstr("<title>")));
}

TEST(FlameGraphTest, BoxesThatNobodyCouldSeeAreLeftOut) {
  FlameGraph graph;
  for (int i = 0; i < 100'000; ++i) graph.Add({"much"});
  graph.Add({"rare"});
  EXPECT_THAT(graph.Svg("t"), Not(HasSubstr("rare")));
}

TEST(FlameGraphTest, AnEndlessRecursionHasAnEnd) {
  FlameGraph graph;
  graph.Add(std::vector<std::string>(5000, "Recurse"));
  const std::string svg = graph.Svg("t");
  size_t boxes = 0;
  for (size_t at = 0; (at = svg.find("<title>Recurse", at)) != std::string::npos; ++at) ++boxes;
  EXPECT_EQ(boxes, 200u);
}

TEST(PerfScriptTest, SamplesAreDividedByEmptyLinesAndBeginWithTheInnermostCall) {
  std::istringstream text(
      "\n"
      "\t           d841d Map<std::pair<int, long> >::Add\n"
      "\t           7ffd0 main\n"
      "\n"
      "\t           d841d [unknown]\n"
      "\t           d8420 [unknown]\n"
      "\t           7ffd0 main\n");
  FlameGraph graph;
  EXPECT_EQ(AddPerfScript(text, &graph), 2u);
  const std::string svg = graph.Svg("t");
  EXPECT_EQ(Box(svg, "main (100.0 %", "width"), "1180.0");
  EXPECT_EQ(Box(svg, "Map&lt;std::pair&lt;int, long&gt; &gt;::Add (50.0 %", "width"), "590.0");
  EXPECT_EQ(Box(svg, "[unknown] (50.0 %", "width"), "590.0");
  EXPECT_EQ(svg.find("[unknown] (50.0 %", svg.find("[unknown] (50.0 %") + 1), std::string::npos) << "one for both";
  std::istringstream none("");
  EXPECT_EQ(AddPerfScript(none, &graph), 0u);
}

TEST(PerfScriptTest, BoxesShowNoTemplateArguments) {
  EXPECT_EQ(ShortCallName("std::vector<std::pair<int, long> >::push_back"), "std::vector<>::push_back");
  EXPECT_EQ(ShortCallName("A<B>::C<D>(int)"), "A<>::C<>(int)");
  EXPECT_EQ(ShortCallName("A::operator<<int>"), "A::operator<<int>") << "which may be either";
  EXPECT_EQ(ShortCallName("A<B>::operator->"), "A<>::operator->");
  EXPECT_EQ(ShortCallName("main"), "main");
}

}  // namespace
}  // namespace mr::ctl
