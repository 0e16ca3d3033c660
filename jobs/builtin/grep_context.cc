#include "jobs/builtin/grep_context.h"

#include <algorithm>

#include "paceline/text.h"

namespace mr::builtin {
namespace {

uint64_t PlusLines(uint64_t distance, uint64_t lines) {
  return distance > GrepRun::kNever - lines ? GrepRun::kNever : distance + lines;
}

uint64_t CountLines(std::string_view text) {
  const auto ends = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

// Returns the end of the line that begins at `at`, without its newline.
size_t EndOfLine(std::string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

// Returns the begin of the line that ends before `at`, the begin of another line or one byte behind the text.
// Requires: at > 0.
size_t LineBefore(std::string_view text, size_t at) {
  if (at == 1) return 0;
  const size_t newline = text.rfind('\n', at - 2);
  return newline == text.npos ? 0 : newline + 1;
}

// Finds the lines that grep selects: those that match, or with invert the others.
class Selection {
 public:
  explicit Selection(const Config& config)
      : search_(config.Text("pattern"), config.Bool("ignore_case")), invert_(config.Bool("invert")) {}

  // Calls f(begin, end) for each selected line in order. text: whole lines without the last newline.
  template <class F>
  void ForEach(std::string_view text, F&& f) {
    search_.Find(text, &found_);
    size_t at = 0;
    for (const auto& [begin, end] : found_) {
      invert_ ? Others(text, at, begin, f) : f(begin, end);
      at = end + 1;
    }
    if (invert_) Others(text, at, text.size() + 1, f);
  }

 private:
  template <class F>
  static void Others(std::string_view text, size_t from, size_t to, F& f) {
    while (from < to) {
      const size_t end = EndOfLine(text, from);
      f(from, end);
      from = end + 1;
    }
  }

  LineSearch search_;
  bool invert_;
  std::vector<std::pair<size_t, size_t>> found_;
};

// Removes the last newline, after which an empty line would seem to follow.
std::string_view WithoutLastNewline(std::string_view text) {
  if (text.back() == '\n') text.remove_suffix(1);
  return text;
}

// Notices where a task goes on to another run. A file that is given twice begins again without a change of its name.
class RunBorders {
 public:
  bool open() const { return open_; }
  bool Continues(const Block& block) const { return open_ && block.offset == end_; }
  void Begin(const Block& block) {
    open_ = true;
    offset_ = block.offset;
  }
  void Took(const Block& block) { end_ = block.offset + block.text.size(); }
  void End() {
    open_ = false;
    ++run_;
  }
  uint32_t run() const { return run_; }
  uint64_t offset() const { return offset_; }

 private:
  bool open_ = false;
  uint32_t run_ = 0;
  uint64_t offset_ = 0, end_ = 0;
};

class GrepBorders : public BlockMapper<GrepPlace, GrepBorder> {
 public:
  void Open() { selection_ = std::make_unique<Selection>(context().config()); }
  void Map(const Block& block, Out& out) {
    if (block.text.empty()) return;
    if (run_.open() && !run_.Continues(block)) FileEnd(out);
    if (!run_.open()) run_.Begin(block);
    run_.Took(block);
    const std::string_view text = WithoutLastNewline(block.text);
    size_t first = text.npos, last_end = 0;
    selection_->ForEach(text, [&](size_t begin, size_t end) {
      if (first == text.npos) first = begin;
      last_end = end;
    });
    const uint64_t lines = CountLines(block.text);
    if (first == text.npos) {
      after_ += lines;
    } else {
      if (!any_) before_ = lines_ + CountLines(block.text.substr(0, first));
      any_ = true;
      after_ = last_end == text.size() ? 0 : CountLines(block.text.substr(last_end + 1));
    }
    lines_ += lines;
  }
  void FileEnd(Out& out) {
    if (!run_.open()) return;
    out.Emit(GrepPlace(context().task(), run_.run()), GrepBorder(run_.offset(), lines_, any_ ? 1 : 0, before_, after_));
    run_.End();
    lines_ = before_ = after_ = 0;
    any_ = false;
  }

 private:
  std::unique_ptr<Selection> selection_;
  RunBorders run_;
  bool any_ = false;
  uint64_t lines_ = 0, before_ = 0, after_ = 0;
};

class GrepContext : public BlockMapper<Text, Text>, public SideInput<GrepPlace, GrepBorder> {
 public:
  void Open() {
    const Config config = context().config();
    selection_ = std::make_unique<Selection>(config);
    file_ = config.Bool("file");
    number_ = config.Bool("number");
    before_ = static_cast<uint64_t>(config.Int("before"));
    after_ = static_cast<uint64_t>(config.Int("after"));
    separate_ = config.Has("separator");
    if (separate_) separator_ = config.Text("separator");
  }
  void Side(const GrepPlace& place, const GrepBorder& border) { borders_.emplace_back(place, border); }

  void Map(const Block& block, Out& out) {
    if (block.text.empty()) return;
    if (run_.open() && !run_.Continues(block)) FileEnd(out);
    if (!run_.open()) BeginRun(block);
    run_.Took(block);
    const std::string_view text = WithoutLastNewline(block.text);
    counted_ = text.data();
    size_t at = 0;  // the lines before are dealt with
    selection_->ForEach(text, [&](size_t begin, size_t end) {
      at = PrintAfter(text, at, begin, out);
      PrintBefore(text, at, begin, out);
      PrintLine(text.substr(begin, end - begin), ':', out);
      since_ = 0;
      at = end + 1;
    });
    at = PrintAfter(text, at, text.size() + 1, out);
    Hold(text, at);
    if (number_) line_ += CountLines(block.text.substr(static_cast<size_t>(counted_ - text.data())));
  }

  void FileEnd(Out& out) {
    if (!run_.open()) return;
    const uint64_t until = runs_[run_.run()].until;
    PrintHeld(before_ > until ? before_ - until : 0, out);
    run_.End();
  }

 private:
  // Guess: far more than any context for people. A larger one is refused before it takes the worker's memory.
  static constexpr size_t kMostHeldBytes = 64u << 20;

  void BeginRun(const Block& block) {
    if (!borders_.empty()) runs_ = RunsOfTask(std::exchange(borders_, {}), context().task());
    if (run_.run() >= runs_.size() || runs_[run_.run()].offset != block.offset) {
      throw FinalError("grep: its two stages read different splits of " + context().input_file() +
                       "; this is an error of Paceline. Without -A, -B and -C the job has one stage");
    }
    run_.Begin(block);
    const GrepRun& run = runs_[run_.run()];
    since_ = run.since;
    line_ = run.lines_before + 1;
    printed_ = run.output_before;
    // The line before the run is printed if it is selected, or context of a line before or behind it.
    const bool touches = run.since <= after_ || PlusLines(run.until_inside, 1) <= before_;
    gap_ = block.offset == 0 || !touches;
  }

  // Prints context lines of an earlier selected line in [at, to). Returns the begin of the line after the last of them.
  size_t PrintAfter(std::string_view text, size_t at, size_t to, Out& out) {
    while (since_ < after_ && at < to) {
      const size_t end = EndOfLine(text, at);
      PrintLine(text.substr(at, end - at), '-', out);
      ++since_;
      at = end + 1;
    }
    return at;
  }

  // Prints the last lines of [at, to), at most `before_`, for the selected line at `to`.
  void PrintBefore(std::string_view text, size_t at, size_t to, Out& out) {
    size_t from = to;
    uint64_t lines = 0;
    for (; lines < before_ && from > at; ++lines) from = LineBefore(text, from);
    if (from > at) {
      DropHeld(0);
      gap_ = true;
    }
    PrintHeld(before_ - lines, out);
    while (from < to) {
      const size_t end = EndOfLine(text, from);
      PrintLine(text.substr(from, end - from), '-', out);
      from = end + 1;
    }
  }

  // Keeps the last lines from `at` on, which may be context of a selected line in a later block or split.
  void Hold(std::string_view text, size_t at) {
    size_t from = text.size() + 1;
    std::vector<std::string_view> last;
    for (uint64_t lines = 0; lines < before_ && from > at; ++lines) {
      const size_t begin = LineBefore(text, from);
      last.push_back(text.substr(begin, from - 1 - begin));
      from = begin;
    }
    if (from > at) {
      DropHeld(0);
      gap_ = true;
    }
    for (; !last.empty(); last.pop_back()) {
      held_bytes_ += last.back().size();
      held_.emplace_back(last.back());
    }
    DropHeld(before_);
    if (held_bytes_ > kMostHeldBytes) {
      throw FinalError("grep: " + std::to_string(held_.size()) + " lines of " + context().input_file() +
                       " that may be context of a later line are above 64 MiB; give a smaller -B or -C");
    }
  }

  // Drops held lines but the last `most`.
  void DropHeld(uint64_t most) {
    for (; held_.size() > most; held_.pop_front()) {
      held_bytes_ -= held_.front().size();
      gap_ = true;
    }
  }

  // Prints the last `most` held lines, and drops the others. Requires: no line of this block was printed or counted.
  void PrintHeld(uint64_t most, Out& out) {
    DropHeld(most);
    for (uint64_t left = held_.size(); left > 0; --left) {
      Separate(out);
      Print(held_.front(), '-', line_ - left, out);
      held_bytes_ -= held_.front().size();
      held_.pop_front();
    }
  }

  // Prints a line of the current block.
  void PrintLine(std::string_view line, char mark, Out& out) {
    Separate(out);
    if (number_) {
      line_ += static_cast<uint64_t>(std::count(counted_, line.data(), '\n'));
      counted_ = line.data();
    }
    Print(line, mark, line_, out);
  }

  void Print(std::string_view line, char mark, uint64_t number, Out& out) {
    if (!file_ && !number_) return out.Line(line);
    text_.clear();
    if (file_) text_.append(context().input_file()).push_back(mark);
    if (number_) text_.append(std::to_string(number)).push_back(mark);
    out.Line(text_.append(line));
  }

  void Separate(Out& out) {
    if (gap_ && printed_ && separate_) out.Line(separator_);
    gap_ = false;
    printed_ = true;
  }

  std::unique_ptr<Selection> selection_;
  std::vector<std::pair<GrepPlace, GrepBorder>> borders_;
  std::vector<GrepRun> runs_;
  RunBorders run_;
  bool file_ = false, number_ = false, separate_ = false;
  uint64_t before_ = 0, after_ = 0;  // context lines
  std::string separator_;
  uint64_t since_ = 0;                 // lines since the last selected line
  bool gap_ = true, printed_ = false;  // the line before is not printed; any line was
  std::deque<std::string> held_;       // the last lines so far, not printed; at most before_
  size_t held_bytes_ = 0;
  const char* counted_ = nullptr;
  uint64_t line_ = 0;  // number of the line at counted_
  std::string text_;
};

}  // namespace

std::vector<GrepRun> RunsOfTask(std::vector<std::pair<GrepPlace, GrepBorder>> borders, uint32_t task) {
  std::sort(borders.begin(), borders.end());
  std::vector<GrepRun> all(borders.size());
  uint64_t since = GrepRun::kNever, lines_before = 0;
  bool output_before = false;
  for (size_t i = 0; i < borders.size(); ++i) {
    const auto& [offset, lines, any, before, after] = borders[i].second;
    GrepRun& run = all[i];
    if (offset == 0) {  // of another file
      since = GrepRun::kNever;
      lines_before = 0;
    }
    run.offset = offset;
    run.lines_before = lines_before;
    run.since = since;
    run.output_before = output_before;
    since = any != 0 ? after : PlusLines(since, lines);
    lines_before += lines;
    output_before = output_before || any != 0;
  }
  uint64_t until = GrepRun::kNever;
  for (size_t i = borders.size(); i-- > 0;) {
    const auto& [offset, lines, any, before, after] = borders[i].second;
    all[i].until = until;
    until = all[i].until_inside = any != 0 ? before : PlusLines(until, lines);
    if (offset == 0) until = GrepRun::kNever;
  }
  std::vector<GrepRun> own;
  for (size_t i = 0; i < borders.size(); ++i) {
    if (std::get<0>(borders[i].first) == task) own.push_back(all[i]);
  }
  return own;
}

void AddGrepContext(Library& library) {
  library.Add<GrepBorders>("grep.borders", kPure).Add<GrepContext>("grep.context", kPure);
}

void PlanGrepContext(const Config& config, JobPlan& plan) {
  // The text format of both stages makes them read the same lines of each split, and no record has a newline.
  const FileOptions lines = {.only_format = true};
  auto& borders = plan.Map("borders", "grep.borders")
                      .Configure(config)
                      .ReadFiles(JobPlan::Stage::kAllInputs, lines)
                      .Shuffle({.sorted = false});
  plan.Map("grep", "grep.context")
      .Configure(config)
      .ReadFiles(JobPlan::Stage::kAllInputs, lines)
      .Read(Edge::kBroadcast, borders)
      .WriteFiles();
}

}  // namespace mr::builtin
