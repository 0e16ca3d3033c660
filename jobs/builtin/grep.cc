// grep: outputs the lines that match a pattern (RE2), in the order of the file, one part per split; or the parts of
// lines that match; or the number of lines.
//
// Line numbers (-n) depend on the text before each split, so a first stage counts it:
//   newlines of each split --broadcast--> grep
// Context lines: grep_context.h.
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>

#include "jobs/builtin/builtin.h"
#include "jobs/builtin/grep_context.h"
#include "jobs/builtin/line_search.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

// Returns one pattern that matches where any of them does.
std::string Either(const std::vector<std::string>& patterns) {
  if (patterns.size() == 1) return patterns[0];
  std::string all;
  for (const auto& p : patterns) all += (all.empty() ? "(?:" : "|(?:") + p + ")";
  return all;
}

// Emits ((file, offset of the split), its newlines) for each split, read as format raw.
class CountNewlines : public BlockMapper<std::tuple<std::string, uint64_t>, uint64_t> {
 public:
  void Map(const Block& block, Out&) {
    if (!any_) begin_ = block.offset;
    any_ = true;
    newlines_ += static_cast<uint64_t>(std::count(block.text.begin(), block.text.end(), '\n'));
  }
  void FileEnd(Out& out) {
    out.Emit(std::tuple(context().input_file(), begin_), newlines_);
    any_ = false;
    newlines_ = 0;
  }

 private:
  bool any_ = false;
  uint64_t begin_ = 0, newlines_ = 0;
};

// Base of the operators that output matching lines. With counts the output is (file or "", lines), to be summed; else
// text.
template <class KOut, class VOut>
class GrepBase : public BlockMapper<KOut, VOut> {
 public:
  using Out = typename BlockMapper<KOut, VOut>::Out;

 protected:
  void AddNewlines(const std::string& file, uint64_t split, uint64_t newlines) { newlines_[file][split] = newlines; }
  void OpenBase(const Config& config) {
    file_ = config.Bool("file");
    number_ = config.Bool("number");
  }
  void BeginBlock(const Block& block) {
    if (!number_) return;
    if (counted_ == nullptr) line_ = FirstLine(block.offset);
    counted_ = block.text.data();
  }
  void EndFile() { counted_ = nullptr; }
  void EndBlock(const Block& block) {
    if (number_) line_ += Newlines(counted_, block.text.data() + block.text.size());
  }
  std::string_view Prefixed(std::string_view line) {
    if (!file_ && !number_) return line;
    text_.clear();
    if (file_) text_.append(this->context().input_file()).append(":");
    if (number_) {
      line_ += Newlines(counted_, line.data());
      counted_ = line.data();
      text_.append(std::to_string(line_)).append(":");
    }
    return text_.append(line);
  }
  bool file() const { return file_; }

 private:
  static uint64_t Newlines(const char* from, const char* to) {
    return static_cast<uint64_t>(std::count(from, to, '\n'));
  }
  // Returns the number of the line that begins at `offset`, the first of this split. It counts the lines before the
  // split, and the line that crosses its border.
  uint64_t FirstLine(uint64_t offset) {
    if (offset == 0) return 1;
    const auto& splits = newlines_[this->context().input_file()];
    uint64_t before = 0;
    for (auto it = splits.begin(); it != splits.end(); ++it) {
      const auto next = std::next(it);
      if (next == splits.end() || next->first >= offset) return before + 1 + (it->first > 0 ? 1 : 0);
      before += it->second;
    }
    throw JobError("grep: the lines before this split were not counted");
  }

  bool file_ = false, number_ = false;
  std::map<std::string, std::map<uint64_t, uint64_t>> newlines_;  // by file and split
  uint64_t line_ = 0;                                             // number of the line at counted_
  const char* counted_ = nullptr;
  std::string text_;
};

// kCount: output counts; else lines.
template <bool kCount>
using GrepTypes = std::conditional_t<kCount, GrepBase<std::string, int64_t>, GrepBase<Text, Text>>;

template <bool kCount>
class GrepLines : public GrepTypes<kCount> {
 public:
  using Out = typename GrepTypes<kCount>::Out;
  void Open() {
    const Config config = this->context().config();
    this->OpenBase(config);
    invert_ = config.Bool("invert");
    search_ = std::make_unique<LineSearch>(config.Text("pattern"), config.Bool("ignore_case"));
    if (!config.Has("part")) return;
    parts_ = std::make_unique<PartSearch>(config.Text("part"), config.Bool("ignore_case"), config.Bool("whole_words"));
  }

  void Map(const Block& block, Out& out) {
    this->BeginBlock(block);
    Search(block.text, out);
    this->EndBlock(block);
  }
  void FileEnd(Out& out) {
    this->EndFile();
    if constexpr (kCount) {
      if (!this->file()) return;
      out.Emit(this->context().input_file(), lines_);
      lines_ = 0;
    }
  }
  void End(Out& out) {
    if constexpr (kCount) {
      if (!this->file()) out.Emit("", lines_);
    }
  }

 private:
  void Give(std::string_view line, Out& out) {
    if constexpr (kCount) {
      ++lines_;
    } else if (parts_ != nullptr) {
      parts_->ForEach(line, [&](std::string_view part) { out.Line(this->Prefixed(part)); });
    } else {
      out.Line(this->Prefixed(line));
    }
  }

  void Search(std::string_view text, Out& out) {
    if (text.empty()) return;
    if (text.back() == '\n') text.remove_suffix(1);  // else an empty line would seem to follow
    search_->Find(text, &found_);
    size_t at = 0;  // start of a line
    for (const auto& [begin, end] : found_) {
      if (invert_) {
        EmitLines(text, at, begin, out);
      } else {
        Give(text.substr(begin, end - begin), out);
      }
      at = end + 1;
    }
    if (invert_) EmitLines(text, at, text.size() + 1, out);
  }

  // Emits the lines that start in [from, to). Requires: `to` is the start of a line, or the end of the text.
  void EmitLines(std::string_view text, size_t from, size_t to, Out& out) {
    while (from < to) {
      const size_t end = std::min(text.find('\n', from), text.size());
      Give(text.substr(from, end - from), out);
      from = end + 1;
    }
  }

  std::unique_ptr<LineSearch> search_;
  std::unique_ptr<PartSearch> parts_;  // null: whole lines are printed
  std::vector<std::pair<size_t, size_t>> found_;
  bool invert_ = false;
  int64_t lines_ = 0;
};

class GrepNumbered : public GrepLines<false>, public SideInput<std::tuple<std::string, uint64_t>, uint64_t> {
 public:
  void Side(const std::tuple<std::string, uint64_t>& split, uint64_t newlines) {
    AddNewlines(std::get<0>(split), std::get<1>(split), newlines);
  }
};

class WriteLineCounts : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view file, Values<int64_t>& counts, Out& out) {
    int64_t total = 0;
    for (int64_t n : counts) total += n;
    out.Line((file.empty() ? "" : std::string(file) + ":") + std::to_string(total));
  }
};

void PlanGrep(const std::vector<std::string>& argv, JobPlan& plan) {
  std::vector<std::string> patterns, rest;
  bool ignore_case = false, invert = false, word = false, count = false, file = false, number = false, only = false;
  int64_t before = -1, after = -1, context = -1;  // -1: not given
  std::string separator = "--";
  bool no_separator = false;
  Args args("grep");
  args.Add("-e", &patterns).Add("--regexp", &patterns).Add("-i", &ignore_case);
  args.Add("--ignore-case", &ignore_case).Add("-v", &invert).Add("--invert-match", &invert);
  args.Add("-w", &word).Add("--word-regexp", &word).Add("-c", &count).Add("--count", &count);
  args.Add("-H", &file).Add("--with-filename", &file).Add("-n", &number).Add("--line-number", &number);
  args.Add("-o", &only).Add("--only-matching", &only);
  args.Add("-A", &after).Add("--after-context", &after).Add("-B", &before).Add("--before-context", &before);
  args.Add("-C", &context).Add("--context", &context);
  args.Add("--group-separator", &separator).Add("--no-group-separator", &no_separator);
  args.Rest(&rest).Parse(argv);
  if (patterns.empty() && !rest.empty()) {
    patterns.push_back(rest.front());
    rest.erase(rest.begin());
  }
  if (patterns.empty()) args.Refuse("give a pattern: -e PATTERN (RE2 syntax)");
  if (!rest.empty()) {
    const bool form = only && (rest[0] == "table" || rest[0] == "json" || rest[0] == "ndjson");
    args.Refuse("unexpected argument '" + rest[0] + "'; give files by --input" +
                (form ? ", and mrctl's own -o before the job's name: mrctl -o " + rest[0] + " submit grep" : ""));
  }
  for (const auto& pattern : patterns) {
    const RE2 re(pattern, PatternOptions(ignore_case));
    if (!re.ok()) args.Refuse("the pattern '" + pattern + "' is not a valid RE2 expression: " + re.error());
  }
  if (count && number) args.Refuse("-c prints a count and no lines, so -n does not apply");
  const bool context_lines = before >= 0 || after >= 0 || context >= 0;
  if (only && !count) {
    if (invert) args.Refuse("-o prints the parts that match, and the lines of -v have none; omit one of the two");
    if (context_lines) args.Refuse("-o prints parts of lines, so -A, -B and -C do not apply; omit them, or -o");
  }
  const std::string part = Either(patterns);
  std::string pattern = part;
  // A match without a letter, digit or underscore before or after it.
  if (word) pattern = "(?:^|\\W)(?:" + part + ")(?:$|\\W)";
  Config config;
  config.Set("pattern", pattern)
      .Set("ignore_case", ignore_case)
      .Set("invert", invert)
      .Set("file", file)
      .Set("number", number);
  if (only && !count) config.Set("part", part).Set("whole_words", word);
  if (count) {
    auto& lines = plan.Map("grep", "grep.count").Configure(config).ReadFiles().Shuffle();
    plan.Reduce("count", "grep.write_count").Tasks(1).Group(lines).WriteFiles();
    return;
  }
  if (context_lines) {
    // -A and -B count more than -C, whatever their order.
    config.Set("before", std::max<int64_t>(before >= 0 ? before : context, 0));
    config.Set("after", std::max<int64_t>(after >= 0 ? after : context, 0));
    if (!no_separator) config.Set("separator", separator);
    PlanGrepContext(config, plan);
    return;
  }
  if (!number) {
    plan.Map("grep", "grep.map").Configure(config).ReadFiles().WriteFiles();
    return;
  }
  // A line's number must not depend on where splits end, so records cannot contain newlines.
  auto& newlines = plan.Map("newlines", "grep.newlines")
                       .ReadFiles(JobPlan::Stage::kAllInputs, {.format = "raw"})
                       .Shuffle({.sorted = false});
  plan.Map("grep", "grep.numbered")
      .Configure(config)
      .ReadFiles(JobPlan::Stage::kAllInputs, {.only_format = true})
      .Read(Edge::kBroadcast, newlines)
      .WriteFiles();
}

}  // namespace

void AddGrep(Library& library) {
  library.Add<GrepLines<false>>("grep.map", kPure)
      .Add<GrepNumbered>("grep.numbered", kPure)
      .Add<GrepLines<true>>("grep.count", kPure)
      .Add<WriteLineCounts>("grep.write_count", kPure)
      .Add<CountNewlines>("grep.newlines", kPure)
      .AddJob<PlanGrep>("grep",
                        "print the lines that match a pattern\n"
                        "  -e, --regexp PATTERN   RE2 expression; repeat it to match lines of any of them\n"
                        "  -i, --ignore-case      ignore the case of letters\n"
                        "  -v, --invert-match     print the lines that do not match\n"
                        "  -w, --word-regexp      match whole words only\n"
                        "  -c, --count            print only the number of lines; with -H, for each file\n"
                        "  -o, --only-matching    print only the parts that match, each on a line, without empty\n"
                        "                         ones. a|ab finds a, as in Perl and grep -P; grep -E finds ab\n"
                        "  -H, --with-filename    print the file before each line\n"
                        "  -n, --line-number      print the line's number in its file before each line\n"
                        "  -A, --after-context N  print N lines after each of these lines, too\n"
                        "  -B, --before-context N print N lines before each of these lines, too\n"
                        "  -C, --context N        both\n"
                        "  --group-separator TEXT line between lines that do not touch, with -A, -B, -C (default --)\n"
                        "  --no-group-separator   print no such line");
  AddGrepContext(library);
}

}  // namespace mr::builtin
