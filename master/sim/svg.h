// Charts as text: SVG 1.1 that any browser shows, without a library. Plain data in, one document out.
//
// A chart has two axes and, in the units of these axes, lines, boxes and dots. A bar is a box from 0; a slot
// timeline is boxes over rows that have names. Names and tips may hold anything: they are escaped, bytes that
// are not UTF-8 and control characters become U+FFFD. What is not finite, or on a log axis not above 0, is left out.
//
// Thread: any. Cost: text in the order of what is drawn; a line's points nearer than a quarter of a pixel are one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mr::sim {

struct Axis {
  std::string label;               // with its unit: "completion, s"
  double low = 0, high = 0;        // equal: as wide as what is drawn
  bool log = false;                // by powers of ten; what is at or below 0 has no place there
  std::vector<std::string> names;  // not empty: these stand at 0, 1, 2 ... instead of numbers
};

struct ChartLine {
  std::string name, colour;  // a name: it stands in the legend. Colours are those of CSS: "#0072b2"
  std::vector<double> x, y;  // as many of each
  bool steps = false;        // level up to the next x, then up or down to its y
};
struct ChartBox {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  std::string colour, tip;  // tip: shown where the pointer rests; may be empty
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
  std::vector<ChartKey> keys;  // of the legend, before the lines' own
  double height = 260;         // pixels between the axes
};

// The i-th of eight colours that also the colour-blind tell apart (Okabe and Ito 2008), then again from the first.
std::string ChartColour(size_t i);

// Bars side by side: for each group (a policy list, say) one per name. values[group][name].
Chart GroupedBars(const std::string& title, const std::string& y_label, const std::vector<std::string>& groups,
                  const std::vector<std::string>& names, const std::vector<std::vector<double>>& values);
// Each run of each group as a dot over its name, their median as a short bar across. values[group][run].
Chart Strip(const std::string& title, const std::string& y_label, const std::vector<std::string>& groups,
            const std::vector<std::vector<double>>& values);
// The part of `values` that is at most x, over x. Takes them in any order.
ChartLine Cdf(const std::string& name, const std::string& colour, std::vector<double> values);

// Charts below each other, under a title.
std::string Svg(const std::string& title, const std::vector<Chart>& charts);

// For text and attributes of XML.
std::string XmlEscape(std::string_view text);

}  // namespace mr::sim
