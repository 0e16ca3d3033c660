// Flame graphs: where a program spends its time, as an SVG image.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mr::ctl {

// Collects samples of stacks, and draws one box per call: as wide as its share of the samples, above its caller.
// Not safe for concurrent use.
class FlameGraph {
 public:
  FlameGraph();
  ~FlameGraph();

  // Adds a sample. calls: outermost first. Calls below the 200th are left out.
  void Add(const std::vector<std::string>& calls);
  uint64_t samples() const;
  // Returns the image, 1200 units wide, without scripts. Boxes have the call's name and share as a tooltip. Boxes that
  // are too narrow to be seen are left out.
  std::string Svg(const std::string& title) const;

 private:
  struct Call;
  static void Draw(const Call& call, const std::string& name, uint64_t all, double x, size_t depth, size_t height,
                   std::string* out);

  std::unique_ptr<Call> root_;
};

// Adds all samples of the text that `perf script -F ip,sym` prints. Returns how many.
uint64_t AddPerfScript(std::istream& text, FlameGraph* graph);

// Returns a call's name without template arguments, as a box shows it.
std::string ShortCallName(const std::string& name);

}  // namespace mr::ctl
