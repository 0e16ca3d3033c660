// Draws charts as text: SVG 1.1 for any browser, without a library. Plain data in, one document out.
//
// A chart has two axes and, in their units, lines, boxes and dots. A bar is a box from 0. A slot timeline is boxes over
// rows that have names. Names and tips may hold anything: they are escaped, and control characters and bytes that are
// not UTF-8 become U+FFFD. Values that are not finite are left out, on a log axis also values that are not above 0.
//
// Thread: any. Cost: text in the order of what is drawn. Points of a line closer than a quarter of a pixel merge.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mr::sim {

struct Axis {
  std::string label;               // with its unit: "completion, s"
  double low = 0, high = 0;        // if equal, the range of what is drawn
  bool log = false;                // logarithmic; leaves out values at or below 0
  std::vector<std::string> names;  // if not empty, these stand at 0, 1, 2 ... instead of numbers
};

struct ChartLine {
  std::string name, colour;  // a line with a name is in the legend. Colours as in CSS: "#0072b2"
  std::vector<double> x, y;  // of the same size
  bool steps = false;        // step line: level up to the next x, then to its y
};
struct ChartBox {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  std::string colour, tip;  // tip: shown under the pointer; may be empty
};
struct ChartDot {
  double x = 0, y = 0;
  std::string colour, tip;
};
struct ChartKey {
  std::string name, colour;
};

struct Chart {
  std::string title;
  Axis x, y;
  std::vector<ChartLine> lines;
  std::vector<ChartBox> boxes;
  std::vector<ChartDot> dots;
  std::vector<ChartKey> keys;  // legend entries before those of the lines
  double height = 260;         // height between the axes in pixels
};

// Returns the i-th of eight colours that colour-blind readers distinguish (Okabe and Ito 2008), modulo eight.
std::string ChartColour(size_t i);

// Draws bars side by side: one per name for each group, such as a policy list. values[group][name].
Chart GroupedBars(const std::string& title, const std::string& y_label, const std::vector<std::string>& groups,
                  const std::vector<std::string>& names, const std::vector<std::vector<double>>& values);
// Draws each run of each group as a dot over the group's name, and their median as a short bar. values[group][run].
Chart Strip(const std::string& title, const std::string& y_label, const std::vector<std::string>& groups,
            const std::vector<std::vector<double>>& values);
// Returns the share of `values` that is at most x, as a line over x. They may have any order.
ChartLine Cdf(const std::string& name, const std::string& colour, std::vector<double> values);

// Draws charts below each other, under a title.
std::string Svg(const std::string& title, const std::vector<Chart>& charts);

// Escapes for text and attributes of XML.
std::string XmlEscape(std::string_view text);

}  // namespace mr::sim
