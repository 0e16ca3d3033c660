#include "jobs/mrctl/flame_graph.h"

#include <algorithm>
#include <cstdio>
#include <istream>
#include <string_view>

#include "common/base/digest.h"
#include "common/report/page.h"

namespace mr::ctl {
namespace {

// Sizes in units of the image.
constexpr double kImageWidth = 1200, kMargin = 10, kBoxHeight = 17, kTitleHeight = 40;
constexpr double kCharWidth = 11 * 1233. / 2048;  // of DejaVu Sans Mono, by its metrics; other fonts are about as wide
constexpr double kLeastBoxWidth = .2;
constexpr size_t kMostDepth = 200;
constexpr size_t kMostTooltip = 400;  // names of templates have thousands of characters

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// Returns a warm colour that is always the same for one name.
std::string ColourOf(const std::string& name) {
  const uint64_t hash = Hash64(name);
  char text[32];
  std::snprintf(text, sizeof text, "rgb(%u,%u,%u)", 205 + static_cast<unsigned>(hash % 50),
                80 + static_cast<unsigned>(hash / 64 % 120), static_cast<unsigned>(hash / 16384 % 55));
  return text;
}

// Returns the beginning, with "..." where something is left out. Never cuts inside a character of UTF-8.
std::string Cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  if (most < 4) return "";
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

struct FlameGraph::Call {
  uint64_t samples = 0;
  std::map<std::string, std::unique_ptr<Call>> callees;  // by name, so that images of one program look alike
  size_t Depth() const {
    size_t deepest = 0;
    for (const auto& [name, callee] : callees) deepest = std::max(deepest, callee->Depth());
    return 1 + deepest;
  }
};

FlameGraph::FlameGraph() : root_(std::make_unique<Call>()) {}
FlameGraph::~FlameGraph() = default;

uint64_t FlameGraph::samples() const { return root_->samples; }

void FlameGraph::Add(const std::vector<std::string>& calls) {
  Call* at = root_.get();
  ++at->samples;
  const size_t depth = std::min(calls.size(), kMostDepth);
  for (size_t i = 0; i < depth; ++i) {
    std::unique_ptr<Call>& callee = at->callees[calls[i]];
    if (callee == nullptr) callee = std::make_unique<Call>();
    at = callee.get();
    ++at->samples;
  }
}

void FlameGraph::Draw(const Call& call, const std::string& name, uint64_t all, double x, size_t depth, size_t height,
                      std::string* out) {
  const double unit = (kImageWidth - 2 * kMargin) / static_cast<double>(all);
  const double width = static_cast<double>(call.samples) * unit;
  if (width < kLeastBoxWidth) return;
  const double y = kTitleHeight + static_cast<double>(height - 1 - depth) * kBoxHeight;
  const std::string share = Number(100. * static_cast<double>(call.samples) / static_cast<double>(all)) + " %, " +
                            std::to_string(call.samples) + (call.samples == 1 ? " sample" : " samples");
  *out += "<g><title>" + report::EscapeHtml(Cut(name, kMostTooltip)) + " (" + share + ")</title><rect x=\"" +
          Number(x) + "\" y=\"" + Number(y) + "\" width=\"" + Number(width) + "\" height=\"" + Number(kBoxHeight - 1) +
          "\" fill=\"" + ColourOf(name) + "\"/>";
  const std::string label = Cut(ShortCallName(name), static_cast<size_t>(std::max(0., width - 6) / kCharWidth));
  if (!label.empty()) {
    *out += "<text x=\"" + Number(x + 3) + "\" y=\"" + Number(y + 12) + "\">" + report::EscapeHtml(label) + "</text>";
  }
  *out += "</g>\n";
  for (const auto& [callee_name, callee] : call.callees) {
    Draw(*callee, callee_name, all, x, depth + 1, height, out);
    x += static_cast<double>(callee->samples) * unit;
  }
}

std::string FlameGraph::Svg(const std::string& title) const {
  const size_t height = root_->Depth();
  const std::string full = Number(kTitleHeight + static_cast<double>(height) * kBoxHeight + kMargin);
  const std::string wide = Number(kImageWidth);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + wide + " " + full + "\" width=\"" +
                    wide + "\" height=\"" + full +
                    "\" font-family=\"DejaVu Sans Mono, monospace\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
                    "<text x=\"" +
                    Number(kMargin) + "\" y=\"24\" font-size=\"14\">" + report::EscapeHtml(title) + "</text>\n";
  if (root_->samples > 0) Draw(*root_, "all", root_->samples, kMargin, 0, height, &out);
  return out + "</svg>\n";
}

uint64_t AddPerfScript(std::istream& text, FlameGraph* graph) {
  const uint64_t before = graph->samples();
  std::vector<std::string> calls;  // innermost first
  const auto end_sample = [&] {
    if (calls.empty()) return;
    std::reverse(calls.begin(), calls.end());
    graph->Add(calls);
    calls.clear();
  };
  for (std::string line; std::getline(text, line);) {
    const size_t address = line.find_first_not_of(" \t");
    if (address == std::string::npos) {
      end_sample();
      continue;
    }
    const size_t space = line.find(' ', address);
    std::string name = space == std::string::npos ? "[unknown]" : line.substr(space + 1);
    // Frames without a symbol say nothing one by one.
    if (name == "[unknown]" && !calls.empty() && calls.back() == name) continue;
    calls.push_back(std::move(name));
  }
  end_sample();
  return graph->samples() - before;
}

std::string ShortCallName(const std::string& name) {
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    // The brackets of operator<, operator-> and the like are no template's.
    if (depth == 0 && std::string_view(name).substr(i).starts_with("operator")) {
      size_t end = i + 8;
      while (end < name.size() && std::string_view("<>=-").find(name[end]) != std::string_view::npos) ++end;
      out.append(name, i, end - i);
      i = end - 1;
      continue;
    }
    if (name[i] == '<') {
      if (depth++ == 0) out += "<";
    } else if (name[i] == '>' && depth > 0) {
      // An arrow within arguments, as of decltype, closes nothing.
      if (i > 0 && name[i - 1] == '-') continue;
      if (--depth == 0) out += ">";
    } else if (depth == 0) {
      out += name[i];
    }
  }
  return out;
}

}  // namespace mr::ctl
