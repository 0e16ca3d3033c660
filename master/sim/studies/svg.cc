#include "master/sim/studies/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace mr::sim {

namespace {

// In pixels.
constexpr double kWidth = 960, kLeft = 120, kRight = 24, kTop = 44, kBottom = 48, kLegendRow = 18, kSmall = 12;
constexpr double kCharacter = 6.8;    // of 12 px sans-serif, about; text widths are not known
constexpr double kNearPixels = 0.25;  // closer points merge
constexpr double kNameRoom = 11;      // height that a name on the y axis needs
constexpr int kTicks = 6;             // approximate number
constexpr double kLeastLog = 1e-12;   // lowest begin of a log axis

__attribute__((format(printf, 2, 3))) void Put(std::string* out, const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const auto n = static_cast<size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, args)));
  const size_t before = out->size();
  out->resize(before + n + 1);
  std::vsnprintf(out->data() + before, n + 1, format, again);
  out->resize(before + n);
  va_end(again);
  va_end(args);
}

// Returns the bytes of the character that `s` begins with; 0 if XML forbids it.
size_t CharacterLength(std::string_view s) {
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(s[i])}; };
  const uint32_t c = byte(0);
  if (c < 0x80) return c >= 0x20 && c != 0x7f ? 1 : 0;
  const size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (c < 0xc2 || c > 0xf4 || s.size() < n) return 0;
  uint32_t code = c & (0xff >> (n + 1));
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= kLeast[n] && code <= 0x10ffff && !surrogate && code != 0xfffe && code != 0xffff ? n : 0;
}

bool Draws(const Axis& axis, double v) { return std::isfinite(v) && (!axis.log || v > 0); }

// Maps values of an axis to pixels, and chooses its ticks.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;  // values, and their pixels
  bool log = false;
  double At(double v) const {
    if (log) return from + (to - from) * (std::log10(v) - std::log10(low)) / (std::log10(high) - std::log10(low));
    return from + (to - from) * (v - low) / (high - low);
  }
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    if (log) {
      const bool few = std::log10(high / low) < 2.5;
      const int last = static_cast<int>(std::floor(std::log10(high)));
      for (int exponent = static_cast<int>(std::floor(std::log10(low))); exponent <= last; ++exponent) {
        const double ten = std::pow(10, exponent);
        for (const double part : {1.0, 2.0, 5.0}) {
          const bool within = ten * part >= low * (1 - 1e-9) && ten * part <= high * (1 + 1e-9);
          if ((few || part == 1) && within) ticks.push_back(ten * part);
        }
      }
      return ticks;
    }
    const double rough = (high - low) / kTicks, ten = std::pow(10, std::floor(std::log10(rough)));
    const double step = ten * (rough / ten < 1.5 ? 1 : rough / ten < 3.5 ? 2 : rough / ten < 7.5 ? 5 : 10);
    const double first = std::ceil(low / step - 1e-9);
    for (int k = 0; k <= 2 * kTicks && (first + k) * step <= high + 1e-9 * step; ++k) {
      ticks.push_back((first + k) * step);
    }
    return ticks;
  }
};

Scale ScaleOf(const Axis& axis, const std::vector<double>& drawn, double from, double to) {
  Scale s{axis.low, axis.high, from, to, axis.log};
  if (!axis.names.empty()) {
    s = {-.5, static_cast<double>(axis.names.size()) - .5, from, to, false};
  } else if (!(axis.low < axis.high)) {
    const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
    s.low = drawn.empty() ? axis.log : axis.log ? *least : std::min(0.0, *least);
    s.high = drawn.empty() ? s.low + 1 : *most;
  }
  if (s.log) s.low = std::max(s.low, kLeastLog);
  if (!(s.low < s.high)) s.high = s.log ? s.low * 10 : s.low + 1 + std::abs(s.low);
  return s;
}

size_t Characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Returns as many whole characters of the text as fit.
std::string Shortened(const std::string& text, double room) {
  const auto most = static_cast<size_t>(std::max(2.0, room / kCharacter));
  if (Characters(text) <= most) return text;
  std::string cut;
  size_t n = 0;
  for (const char c : text) {
    n += (c & 0xc0) != 0x80;
    if (n >= most) break;
    cut += c;
  }
  return cut + "…";
}

void Text(std::string* out, double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  Put(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
  *out += XmlEscape(text) + "</text>\n";
}

// Closes an open element, with its tip.
void Tip(std::string* out, const std::string& tip, const char* element) {
  if (tip.empty()) {
    *out += "/>\n";
    return;
  }
  *out += "><title>" + XmlEscape(tip) + "</title></" + element + ">\n";
}

std::vector<ChartKey> KeysOf(const Chart& c) {
  std::vector<ChartKey> keys = c.keys;
  for (const ChartLine& line : c.lines) {
    if (!line.name.empty()) keys.push_back({line.name, line.colour});
  }
  return keys;
}

// Places the legend's keys in rows, from the left. Returns the number of rows.
size_t PlaceKeys(const std::vector<ChartKey>& keys, std::vector<std::pair<double, size_t>>* places) {
  double x = kLeft;
  size_t row = 0;
  for (const ChartKey& key : keys) {
    const double wide = 26 + kCharacter * static_cast<double>(Characters(key.name));
    if (x > kLeft && x + wide > kWidth - kRight) x = kLeft, ++row;
    places->emplace_back(x, row);
    x += wide;
  }
  return keys.empty() ? 0 : row + 1;
}

void DrawAxes(std::string* out, const Chart& c, const Scale& x, const Scale& y, double top) {
  const double bottom = top + c.height;
  const auto across = [&](double at, const std::string& text) {
    Put(out, "<path d=\"M%.1f %.1fv4\" stroke=\"#333\"/>\n", at, bottom);
    Text(out, at, bottom + 17, "middle", text);
  };
  const auto number = [](double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", v);
    return std::string(text);
  };
  if (c.x.names.empty()) {
    for (const double t : x.Ticks()) {
      Put(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#e4e4e4\"/>\n", x.At(t), top, bottom);
      across(x.At(t), number(t));
    }
  } else {
    const double room = (x.to - x.from) / static_cast<double>(c.x.names.size());
    for (size_t i = 0; i < c.x.names.size(); ++i) {
      across(x.At(static_cast<double>(i)), Shortened(c.x.names[i], room - 4));
    }
  }
  if (c.y.names.empty()) {
    for (const double t : y.Ticks()) {
      Put(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e4e4e4\"/>\n", x.from, y.At(t), x.to);
      Text(out, x.from - 6, y.At(t) + 4, "end", number(t));
    }
  } else {
    const double room = c.height / static_cast<double>(c.y.names.size());
    const auto every = static_cast<size_t>(std::max(1.0, std::ceil(kNameRoom / room)));
    for (size_t i = 0; i < c.y.names.size(); i += every) {
      Text(out, x.from - 6, y.At(static_cast<double>(i)) + 4, "end", Shortened(c.y.names[i], kLeft - 28),
           room < 14 ? " font-size=\"10\"" : "");
    }
  }
  Text(out, (x.from + x.to) / 2, bottom + 36, "middle", c.x.label);
  const double label = c.y.names.empty() ? kLeft - 56 : 14;
  char turned[64];
  std::snprintf(turned, sizeof turned, " transform=\"rotate(-90 %.0f %.1f)\"", label, top + c.height / 2);
  Text(out, label, top + c.height / 2, "middle", c.y.label, turned);
}

void DrawLine(std::string* out, const Chart& c, const ChartLine& line, const Scale& x, const Scale& y) {
  double last_x = 0, last_y = 0;
  bool begun = false;
  const size_t n = std::min(line.x.size(), line.y.size());
  for (size_t i = 0; i < n; ++i) {
    if (!Draws(c.x, line.x[i]) || !Draws(c.y, line.y[i])) continue;
    const double px = x.At(line.x[i]), py = y.At(line.y[i]);
    const bool near = begun && std::abs(px - last_x) < kNearPixels && std::abs(py - last_y) < kNearPixels;
    if (near && i + 1 < n) continue;
    if (!begun) {
      Put(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" d=\"M%.2f %.2f", XmlEscape(line.colour).c_str(),
          px, py);
    } else if (line.steps) {
      Put(out, "H%.2fV%.2f", px, py);
    } else {
      Put(out, "L%.2f %.2f", px, py);
    }
    begun = true;
    last_x = px;
    last_y = py;
  }
  if (begun) *out += "\"/>\n";
}

void DrawBoxes(std::string* out, const Chart& c, const Scale& x, const Scale& y) {
  for (const ChartBox& b : c.boxes) {
    if (!Draws(c.x, b.x0) || !Draws(c.x, b.x1) || !Draws(c.y, b.y0) || !Draws(c.y, b.y1)) continue;
    const auto [left, right] = std::minmax({x.At(b.x0), x.At(b.x1)});
    const auto [up, down] = std::minmax({y.At(b.y0), y.At(b.y1)});
    Put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"", left, up,
        std::max(.5, right - left), down - up, XmlEscape(b.colour).c_str());
    Tip(out, b.tip, "rect");
  }
  for (const ChartDot& d : c.dots) {
    if (!Draws(c.x, d.x) || !Draws(c.y, d.y)) continue;
    Put(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"%s\" fill-opacity=\"0.6\"", x.At(d.x), y.At(d.y),
        XmlEscape(d.colour).c_str());
    Tip(out, d.tip, "circle");
  }
}

// Draws from `top` down. Returns the lower end.
double DrawChart(std::string* out, const Chart& c, double top, size_t number) {
  const std::vector<ChartKey> keys = KeysOf(c);
  std::vector<std::pair<double, size_t>> places;
  const size_t rows = PlaceKeys(keys, &places);
  Text(out, kLeft, top + 16, "start", c.title, " font-size=\"14\" font-weight=\"bold\"");
  for (size_t k = 0; k < keys.size(); ++k) {
    const double y = top + 24 + kLegendRow * static_cast<double>(places[k].second);
    Put(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", places[k].first, y,
        XmlEscape(keys[k].colour).c_str());
    Text(out, places[k].first + 16, y + 10, "start", keys[k].name);
  }
  const double from = top + 32 + kLegendRow * static_cast<double>(rows);
  std::vector<double> xs, ys;
  const auto see = [&](double x, double y) {
    if (!Draws(c.x, x) || !Draws(c.y, y)) return;
    xs.push_back(x);
    ys.push_back(y);
  };
  for (const ChartLine& line : c.lines) {
    for (size_t i = 0; i < std::min(line.x.size(), line.y.size()); ++i) see(line.x[i], line.y[i]);
  }
  for (const ChartBox& b : c.boxes) see(b.x0, b.y0), see(b.x1, b.y1);
  for (const ChartDot& d : c.dots) see(d.x, d.y);
  const Scale x = ScaleOf(c.x, xs, kLeft, kWidth - kRight);
  // Numbers grow upwards; rows with names go downwards.
  const bool down = !c.y.names.empty();
  const Scale y = ScaleOf(c.y, ys, down ? from : from + c.height, down ? from + c.height : from);
  DrawAxes(out, c, x, y, from);
  Put(out, "<clipPath id=\"c%zu\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n", number,
      kLeft - 1, from - 4, kWidth - kRight - kLeft + 6, c.height + 5);
  Put(out, "<g clip-path=\"url(#c%zu)\">\n", number);
  DrawBoxes(out, c, x, y);
  for (const ChartLine& line : c.lines) DrawLine(out, c, line, x, y);
  *out += "</g>\n";
  Put(out, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333\"/>\n", kLeft, from, from + c.height,
      kWidth - kRight);
  return from + c.height + kBottom;
}

}  // namespace

std::string XmlEscape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = CharacterLength(text);
    switch (text[0]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += n == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, n);
    }
    text.remove_prefix(std::max<size_t>(n, 1));
  }
  return out;
}

std::string ChartColour(size_t i) {
  constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#f0e442"};
  return kColours[i % std::size(kColours)];
}

Chart GroupedBars(const std::string& title, const std::string& y_label, const std::vector<std::string>& groups,
                  const std::vector<std::string>& names, const std::vector<std::vector<double>>& values) {
  Chart c;
  c.title = title;
  c.x.names = groups;
  c.y.label = y_label;
  for (size_t n = 0; n < names.size(); ++n) c.keys.push_back({names[n], ChartColour(n)});
  const double wide = .8 / static_cast<double>(std::max<size_t>(1, names.size()));
  for (size_t g = 0; g < std::min(groups.size(), values.size()); ++g) {
    for (size_t n = 0; n < std::min(names.size(), values[g].size()); ++n) {
      const double left = static_cast<double>(g) - .4 + wide * static_cast<double>(n);
      char number[32];
      std::snprintf(number, sizeof number, "%.6g", values[g][n]);
      const std::string tip = groups[g] + ", " + names[n] + ": " + number;
      c.boxes.push_back({left, left + wide * .94, 0, values[g][n], ChartColour(n), tip});
    }
  }
  return c;
}

Chart Strip(const std::string& title, const std::string& y_label, const std::vector<std::string>& groups,
            const std::vector<std::vector<double>>& values) {
  Chart c;
  c.title = title;
  c.x.names = groups;
  c.y.label = y_label;
  for (size_t g = 0; g < std::min(groups.size(), values.size()); ++g) {
    const auto at = static_cast<double>(g);
    for (const double v : values[g]) {
      char number[32];
      std::snprintf(number, sizeof number, "%.6g", v);
      c.dots.push_back({at, v, ChartColour(g), groups[g] + ": " + number});
    }
    std::vector<double> sorted = values[g];
    if (sorted.empty()) continue;
    std::sort(sorted.begin(), sorted.end());
    const double median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    c.lines.push_back({"", ChartColour(g), {at - .25, at + .25}, {median, median}});
  }
  return c;
}

ChartLine Cdf(const std::string& name, const std::string& colour, std::vector<double> values) {
  ChartLine line{name, colour, {}, {}, true};
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == 0) line.x.push_back(values[i]), line.y.push_back(0);
    line.x.push_back(values[i]);
    line.y.push_back(static_cast<double>(i + 1) / n);
  }
  return line;
}

std::string Svg(const std::string& title, const std::vector<Chart>& charts) {
  std::string body;
  double top = kTop;
  for (size_t i = 0; i < charts.size(); ++i) top = DrawChart(&body, charts[i], top, i);
  std::string out;
  Put(&out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"%.0f\" role=\"img\">\n",
      kWidth, top, kWidth, top, kSmall);
  out += "<title>" + XmlEscape(title) + "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  Text(&out, kWidth / 2, 26, "middle", title, " font-size=\"16\"");
  return out + body + "</svg>\n";
}

}  // namespace mr::sim
