// Charts are well-formed XML for any content and names, and stand where their values say.
#include "master/sim/studies/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mr::sim {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns "" or the fault: tags that do not match, an attribute without quotes, a bare & or <.
std::string Malformed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t i = 0; i < xml.size();) {
    if (xml[i] == '&' && xml.find(';', i) > i + 6) return "& at " + std::to_string(i);
    if (xml[i] != '<') {
      ++i;
      continue;
    }
    size_t end = i + 1;
    bool quoted = false;
    for (; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      quoted ^= xml[end] == '"';
      if (xml[end] == '<') return "< at " + std::to_string(end);
    }
    if (end == xml.size()) return "a tag without end";
    const std::string tag = xml.substr(i + 1, end - i - 1), name = tag.substr(0, tag.find_first_of(" /", 1));
    i = end + 1;
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != tag) return tag + " closes nothing";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

size_t Count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(SvgTest, NamesAreEscaped) {
  EXPECT_EQ(XmlEscape("a<b> & \"c\" 'd' \xc3\xa9 \xf0\x9f\x90\xa2"),
            "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; \xc3\xa9 \xf0\x9f\x90\xa2");
  // A control character, half a character, an overlong slash, a surrogate, U+FFFF.
  for (const char* bad : {"\x01", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xef\xbf\xbf"}) {
    EXPECT_THAT(XmlEscape(std::string("a") + bad), testing::StartsWith("a\xef\xbf\xbd")) << std::string(bad).size();
    EXPECT_THAT(XmlEscape(std::string("a") + bad), Not(HasSubstr(bad)));
  }
}

TEST(SvgTest, IsWellFormedWhateverItIsCalled) {
  const std::string nasty = "</text><script>\"'&\x02\xff";
  Chart bars = GroupedBars(nasty, nasty, {nasty, "b"}, {nasty}, {{1}, {2}});
  Chart lines;
  lines.title = nasty;
  lines.x.label = nasty;
  lines.lines.push_back({nasty, nasty, {0, 1}, {0, 1}});
  lines.dots.push_back({.5, .5, nasty, nasty});
  Chart rows = Strip(nasty, nasty, {nasty}, {{1, 2}});
  rows.y.names = {nasty, nasty};
  const std::string svg = Svg(nasty, {bars, lines, rows, Chart{}});
  EXPECT_EQ(Malformed(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_NE(Malformed("<a><b></a>"), "");
  EXPECT_NE(Malformed("<a x=\"<\"/>"), "");
}

TEST(SvgTest, WhatIsNoNumberIsLeftOut) {
  Chart c;
  c.y.log = true;
  const double inf = std::numeric_limits<double>::infinity();
  c.lines.push_back({"l", "#000", {1, 2, std::nan(""), 4, 5}, {1, inf, 3, 0, 1e-320}});
  c.boxes.push_back({0, 1, 0, std::nan(""), "#000", ""});
  c.dots.push_back({-inf, 1, "#000", ""});
  const std::string svg = Svg("t", {c});
  EXPECT_EQ(Malformed(svg), "");
  for (const char* word : {"nan", "inf", "<circle"}) EXPECT_THAT(svg, Not(HasSubstr(word)));
  Chart narrow;  // ticks end, however narrow the range
  narrow.dots = {{1e300, 1e300, "#000", ""}, {std::nextafter(1e300, inf), 1, "#000", ""}};
  narrow.x.low = 1e300;
  narrow.x.high = std::nextafter(1e300, inf);
  EXPECT_EQ(Malformed(Svg("t", {narrow})), "");
}

// The axes are 816 by 260 pixels, from (120, 76) on: 44 for the title, 32 for the chart's title, no legend.
TEST(SvgTest, StandsWhereItsValuesSay) {
  Chart c;
  c.x = {"time, s", 0, 8, false, {}};
  c.y = {"share", 0, 1, false, {}};
  c.boxes.push_back({2, 4, .5, 1, "#123456", "tip"});
  c.lines.push_back({"", "#000", {0, 4}, {0, .5}, true});
  const std::string svg = Svg("t", {c});
  EXPECT_THAT(svg, HasSubstr("<rect x=\"324.00\" y=\"76.00\" width=\"204.00\" height=\"130.00\" fill=\"#123456\">"
                             "<title>tip</title></rect>"));
  EXPECT_THAT(svg, HasSubstr("d=\"M120.00 336.00H528.00V206.00\""));
  EXPECT_THAT(svg, HasSubstr(">time, s</text>"));
  for (const char* tick : {">0</text>", ">2</text>", ">8</text>", ">0.2</text>", ">1</text>"})
    EXPECT_THAT(svg, HasSubstr(tick));
}

TEST(SvgTest, DistributionReachesOneAndManyPointsBecomeFew) {
  const ChartLine cdf = Cdf("c", "#000", {3, 1, 2, 2});
  EXPECT_EQ(cdf.x, (std::vector<double>{1, 1, 2, 2, 3}));
  EXPECT_EQ(cdf.y, (std::vector<double>{0, .25, .5, .75, 1}));
  std::vector<double> many(1'000'000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  Chart c;
  c.lines.push_back(Cdf("c", "#000", std::move(many)));
  EXPECT_LT(Svg("t", {c}).size(), 200'000u);
}

TEST(SvgTest, BarsAndStripsHaveOneMarkPerValue) {
  const Chart bars = GroupedBars("t", "s", {"none", "late"}, {"sleep", "words"}, {{4, 3}, {2, 1}});
  const std::string svg = Svg("t", {bars});
  EXPECT_EQ(Count(svg, "<title>none, ") + Count(svg, "<title>late, "), 4u);
  EXPECT_THAT(svg, HasSubstr("<title>late, words: 1</title>"));
  const Chart strip = Strip("t", "s", {"none", "late"}, {{4, 9, 3}, {2, 1}});
  EXPECT_EQ(Count(Svg("t", {strip}), "<circle"), 5u);
  EXPECT_EQ(strip.lines[0].y[0], 4);
  EXPECT_EQ(strip.lines[1].y[0], 1.5);
}

}  // namespace
}  // namespace mr::sim
