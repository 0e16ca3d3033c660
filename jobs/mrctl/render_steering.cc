// The chart of a job that is steered by its deadline: guaranteed slots over time as bars, and the expected end.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "jobs/mrctl/render.h"

namespace mr::ctl {

namespace {

constexpr size_t kColumns = 60, kRows = 6;  // fits a terminal of 80 columns
constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::string SecondsText(double s) {
  char text[32];
  std::snprintf(text, sizeof text, s < 100 ? "%.1f s" : "%.0f s", s);
  return text;
}

// Returns the point in force at the beginning of each column, from the first point to the last.
std::vector<const SteeringPoint*> InForce(const SteeringStatus& s) {
  std::vector<const SteeringPoint*> columns;
  const double from = s.points.front().at_s, to = std::max(s.points.back().at_s, from + 1e-9);
  size_t i = 0;
  for (size_t c = 0; c < kColumns; ++c) {
    const double at = from + (to - from) * static_cast<double>(c) / (kColumns - 1);
    while (i + 1 < s.points.size() && s.points[i + 1].at_s <= at + 1e-9) ++i;
    columns.push_back(&s.points[i]);
  }
  return columns;
}

// Returns a row of bars (`row` 0 at the bottom) for heights from 0 to 1.
std::string BarRow(const std::vector<double>& heights, size_t row) {
  std::string text;
  for (const double h : heights) {
    const double eighths = std::clamp(h * kRows - static_cast<double>(row), 0.0, 1.0) * 8;
    text += kBars[static_cast<size_t>(std::lround(eighths))];
  }
  return text;
}

}  // namespace

std::string RenderSteering(const SteeringStatus& s, double elapsed_s, bool ended) {
  if (s.points.empty()) return "";
  const SteeringPoint& last = s.points.back();
  const auto columns = InForce(s);
  uint32_t most = 1;
  for (const SteeringPoint& p : s.points) most = std::max(most, p.slots);
  std::vector<double> slots;
  slots.reserve(columns.size());
  for (const SteeringPoint* p : columns) slots.push_back(double(p->slots) / most);
  std::string text = "\nguaranteed slots, from " + SecondsText(s.points.front().at_s) + " to " +
                     SecondsText(last.at_s) + " after the submit (most " + std::to_string(most) + ", now " +
                     std::to_string(ended ? 0 : last.slots) + ", " + SecondsText(s.held_slot_s) + " of slot time)\n";
  const bool constant = std::all_of(slots.begin(), slots.end(), [](double h) { return h == 1; });
  for (size_t row = constant ? 1 : kRows; row-- > 0;) {
    char margin[16];
    std::snprintf(margin, sizeof margin, "%6s ", row + 1 == kRows || constant ? std::to_string(most).c_str() : "");
    text += margin + BarRow(slots, constant ? 0 : row) + "\n";
  }
  // The expected end over time: * from the first column's time to the end; | is the deadline.
  text += "expected end";
  text += last.deadline_s > 0 ? ", deadline " + SecondsText(last.deadline_s) + "\n" : "\n";
  double lowest = INFINITY, highest = 0;
  for (const SteeringPoint* p : columns) {
    lowest = std::min(lowest, p->at_s + p->left_s);
    highest = std::max({highest, p->at_s + p->left_s, p->deadline_s});
  }
  if (!(highest > lowest)) highest = lowest + 1;
  for (size_t row = kRows; row-- > 0;) {
    const auto in = [&](double at) {
      const double place = (at - lowest) / (highest - lowest) * (kRows - 1);
      return static_cast<size_t>(std::lround(place)) == row;
    };
    char margin[16];
    const double label = lowest + (highest - lowest) * static_cast<double>(row) / (kRows - 1);
    std::snprintf(margin, sizeof margin, "%6.0f ", label);
    text += margin;
    for (const SteeringPoint* p : columns) {
      text += in(p->at_s + p->left_s) ? "*" : p->deadline_s > 0 && in(p->deadline_s) ? "-" : " ";
    }
    text += "\n";
  }
  if (last.deadline_s > 0 && ended) {
    const double early = last.deadline_s - elapsed_s;
    text += "ended " + SecondsText(std::abs(early)) + (early >= 0 ? " before" : " after") + " its deadline\n";
  } else {
    text += "now " + SecondsText(last.left_s) + " are expected to be left\n";
  }
  return text;
}

}  // namespace mr::ctl
