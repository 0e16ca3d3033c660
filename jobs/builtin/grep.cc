// grep: the lines that match a pattern (RE2), in the order of the file; one output part per split.
// A whole block is searched at once: a call per line costs two to eight times as much (measured).
#include <re2/re2.h>

#include <memory>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

RE2::Options PatternOptions(bool ignore_case) {
  RE2::Options options;
  options.set_case_sensitive(!ignore_case);
  options.set_log_errors(false);
  options.set_never_nl(true);  // no match goes over a line's end
  return options;
}

// Several patterns match where one of them does.
std::string Either(const std::vector<std::string>& patterns) {
  if (patterns.size() == 1) return patterns[0];
  std::string all;
  for (const auto& p : patterns) all += (all.empty() ? "(?:" : "|(?:") + p + ")";
  return all;
}

// In (?m) these would mean the block and not the line.
bool NeedsSingleLines(const std::string& pattern) {
  static const RE2 anchors(R"(\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m)");
  return RE2::PartialMatch(pattern, anchors);
}

class GrepLines : public BlockMapper<Text, Text> {
 public:
  void Open() {
    const Config config = context().config();
    const std::string& pattern = config.Text("pattern");
    invert_ = config.Bool("invert");
    single_lines_ = NeedsSingleLines(pattern);
    re_ = std::make_unique<RE2>(single_lines_ ? pattern : "(?m)(?:" + pattern + ")",
                                PatternOptions(config.Bool("ignore_case")));
    if (!re_->ok()) throw JobError("grep: " + re_->error());
  }

  void Map(const Block& block, Out& out) {
    std::string_view text = block.text;
    if (text.empty()) return;
    if (text.back() == '\n') text.remove_suffix(1);  // else an empty line would seem to follow
    if (single_lines_) return MapLines(text, out);
    const re2::StringPiece all(text.data(), text.size());
    size_t at = 0;  // start of a line
    while (at <= text.size()) {
      re2::StringPiece match;
      if (!re_->Match(all, at, text.size(), RE2::UNANCHORED, &match, 1)) break;
      const auto found = static_cast<size_t>(match.data() - text.data());
      const size_t before = found == 0 ? text.npos : text.rfind('\n', found - 1);
      const size_t begin = before == text.npos ? 0 : before + 1;
      const size_t end = std::min(text.find('\n', found), text.size());
      if (invert_) {
        EmitLines(text, at, begin, out);
      } else {
        out.Line(text.substr(begin, end - begin));
      }
      at = end + 1;
    }
    if (invert_) EmitLines(text, at, text.size() + 1, out);
  }

 private:
  // The lines that start in [from, to), where `to` is the start of a line or behind the text.
  static void EmitLines(std::string_view text, size_t from, size_t to, Out& out) {
    while (from < to) {
      const size_t end = std::min(text.find('\n', from), text.size());
      out.Line(text.substr(from, end - from));
      from = end + 1;
    }
  }

  void MapLines(std::string_view text, Out& out) {
    for (size_t from = 0; from <= text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size());
      const std::string_view line = text.substr(from, end - from);
      if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *re_) != invert_) {
        out.Line(line);
      }
      from = end + 1;
    }
  }

  std::unique_ptr<RE2> re_;
  bool invert_ = false, single_lines_ = false;
};

void PlanGrep(const std::vector<std::string>& argv, JobPlan& plan) {
  std::vector<std::string> patterns, rest;
  bool ignore_case = false, invert = false;
  Args args("grep");
  args.Add("-e", &patterns).Add("--regexp", &patterns).Add("-i", &ignore_case);
  args.Add("--ignore-case", &ignore_case).Add("-v", &invert).Add("--invert-match", &invert);
  args.Rest(&rest).Parse(argv);
  if (patterns.empty() && !rest.empty()) {
    patterns.push_back(rest.front());
    rest.erase(rest.begin());
  }
  if (patterns.empty()) args.Refuse("give a pattern: -e PATTERN (RE2 syntax)");
  if (!rest.empty()) args.Refuse("unexpected argument '" + rest[0] + "'; files are named by --input");
  for (const auto& pattern : patterns) {
    const RE2 re(pattern, PatternOptions(ignore_case));
    if (!re.ok()) args.Refuse("the pattern '" + pattern + "' is not a valid RE2 expression: " + re.error());
  }
  plan.Map("grep", "grep.map")
      .Configure(Config()
                     .Set("pattern", Either(patterns))
                     .Set("ignore_case", ignore_case)
                     .Set("invert", invert))
      .ReadFiles()
      .WriteFiles();
}

}  // namespace

void AddGrep(Library& library) {
  library.Add<GrepLines>("grep.map", kPure)
      .AddJob<PlanGrep>("grep",
                    "print the lines that match a pattern\n"
                    "  -e, --regexp PATTERN   RE2 expression; may be repeated: any may match\n"
                    "  -i, --ignore-case      letters match in either case\n"
                    "  -v, --invert-match     print the lines that do not match");
}

}  // namespace mr::builtin
