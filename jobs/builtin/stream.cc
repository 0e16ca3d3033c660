// stream: runs any executable as map, combine and reduce, through stdin and stdout, like Hadoop streaming. Lines are
// `key TAB value`; a line without a tab is a key alone. A map command reads its split as it is. A reduce command reads
// lines sorted by key and finds the groups itself.
//
// The value of a pair is kept with its tab, so that "key" and "key TAB" stay different lines. On stderr, lines
// `reporter:counter:<group>,<name>,<n>` add to a counter, and lines `reporter:bad_record:<text>` report records that
// the command skipped (--max-bad-records). All else on stderr goes to the log.
#include <algorithm>
#include <charconv>
#include <deque>
#include <functional>
#include <optional>
#include <sstream>

#include "jobs/builtin/builtin.h"
#include "jobs/builtin/command.h"
#include "paceline/args.h"
#include "paceline/place.h"

namespace mr::builtin {
namespace {

constexpr size_t kWriteBytes = 64u << 10;  // the size of a Linux pipe

std::pair<std::string_view, std::string_view> SplitAtTab(std::string_view line) {
  const size_t tab = std::min(line.find('\t'), line.size());
  return {line.substr(0, tab), line.substr(tab)};
}

// Handles a counter line. Returns whether the line was one.
bool CountReport(std::string_view line, Context* context) {
  constexpr std::string_view kPrefix = "reporter:counter:";
  if (line.substr(0, kPrefix.size()) != kPrefix) return false;
  line.remove_prefix(kPrefix.size());
  const size_t first = line.find(','), last = line.rfind(',');
  if (first == line.npos || first == last) return false;
  int64_t n = 0;
  const std::string_view number = line.substr(last + 1);
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), n);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) return false;
  context->counter(line.substr(0, first), line.substr(first + 1, last - first - 1)) += n;
  return true;
}

// Returns the place at which a command works, for messages; "" if it is not known.
using PlaceFn = std::function<std::string()>;

void FailedAt(const PlaceFn& place, Context* context) {
  if (const std::string text = place(); !text.empty()) context->FailedIn(text);
}

// Handles a line about a bad record. Returns whether the line was one. Only the command knows the record itself.
bool BadRecordReport(std::string_view line, Context* context, const PlaceFn& place) {
  constexpr std::string_view kPrefix = "reporter:bad_record:";
  if (line.substr(0, kPrefix.size()) != kPrefix) return false;
  const std::string& file = context->input_file();
  FailedAt(place, context);  // the failure's place if there are too many
  context->SkipRecord((file.empty() ? "" : file + ": ") + std::string(line.substr(kPrefix.size())));
  return true;
}

std::function<void()> Moved(Context* context) {
  return [context] { context->Progress(); };
}

Command::OnLine ErrorLines(Context* context, PlaceFn place) {
  return [context, place = std::move(place)](std::string_view line) {
    if (!CountReport(line, context) && !BadRecordReport(line, context, place)) context->Log(line);
  };
}

// The exit codes of --ok-exit are in a stage's config as one text, separated by spaces.
std::vector<int64_t> OkExits(const Config& config) {
  std::vector<int64_t> codes;
  if (!config.Has("ok_exits")) return codes;
  std::istringstream words(config.Text("ok_exits"));
  for (int64_t code = 0; words >> code;) codes.push_back(code);
  return codes;
}

// Returns the codes as OkExits reads them. Errors: JobError.
std::string OkExitsText(const std::vector<std::string>& codes, const Args& args) {
  std::string text;
  for (const std::string& code : codes) {
    int n = 0;
    const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), n);
    if (error != std::errc() || end != code.data() + code.size() || n < 1 || n > 255) {
      args.Refuse("--ok-exit expects an exit code from 1 to 255, not '" + code + "'");
    }
    text += (text.empty() ? "" : " ") + code;
  }
  return text;
}

class StreamMap : public BlockMapper<AnyBytes, AnyBytes> {
 public:
  void Open() {
    config_ = context().config();
    whole_lines_ = config_.Bool("map_only");
    ok_exits_ = OkExits(config_);
  }
  void Map(const Block& block, Out& out) {
    if (block.text.empty()) return;
    // The last line of a file may lack its newline. The next file must begin a new line.
    if (!whole_line_) Give("\n", out);
    if (files_.empty() || files_.back().name != context().input_file()) {
      const bool compressed = context().RecordPlace(0).ends_with(" (uncompressed)");
      files_.push_back({given_, block.offset, context().input_file(), compressed ? " (uncompressed)" : ""});
    }
    Give(block.text, out);
    whole_line_ = block.text.back() == '\n';
  }
  void End(Out& out) {
    try {
      Run(out).Finish("map", ok_exits_);
    } catch (const JobError&) {
      FailedAt([this] { return Place(0); }, &context());
      throw;
    }
  }

  void CombineBatch(uint32_t, const BatchView& sorted,
                    const std::function<void(std::string_view, std::string_view)>& emit) {
    std::vector<std::pair<std::string, std::string>> made;
    Command combine(
        config_.Text("combine"), [&](std::string_view line) { made.emplace_back(SplitAtTab(line)); },
        ErrorLines(&context(), [] { return ""; }), Moved(&context()));
    std::string buffer;
    for (uint32_t i = 0; i < sorted.size(); ++i) {
      buffer.append(sorted.key(i)).append(sorted.value(i)).append("\n");
      if (buffer.size() < kWriteBytes) continue;
      combine.Write(buffer);
      buffer.clear();
    }
    combine.Write(buffer);
    combine.Finish("combine", ok_exits_);
    std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [key, value] : made) emit(key, value);
  }

 private:
  // Returns the command. It is started with the first block, or at the end for an empty split: it runs in any case.
  Command& Run(Out& out) {
    if (!command_) {
      command_.emplace(
          config_.Text("command"),
          [this, &out](std::string_view line) {
            if (whole_lines_) return out.EmitRaw({}, line);
            const auto [key, value] = SplitAtTab(line);
            out.EmitRaw(key, value);
          },
          ErrorLines(&context(), [this] { return Place(Command::kLineLag); }), Moved(&context()));
    }
    return *command_;
  }
  void Give(std::string_view bytes, Out& out) {
    Run(out).Write(bytes);
    given_ += bytes.size();
  }
  // Names the bytes that the command last read, in the file with the last of them.
  std::string Place(uint64_t lag) const {
    if (!command_ || files_.empty()) return "";
    const Command::Range range = command_->LastRead(lag);
    auto file = files_.rbegin();
    while (std::next(file) != files_.rend() && file->given >= range.to) ++file;
    const auto offset = [&](uint64_t at) {
      return std::to_string(file->offset + std::max(at, file->given) - file->given);
    };
    return "a record between bytes " + offset(range.from) + " and " + offset(range.to) + file->counted + " of " +
           file->name + ", which the command last read";
  }

  Config config_;
  std::vector<int64_t> ok_exits_;
  bool whole_lines_ = false;
  bool whole_line_ = true;  // the bytes written so far end with a newline
  // Where the bytes of each file begin, among those that the command was given and in the file.
  struct File {
    uint64_t given = 0, offset = 0;
    std::string name, counted;
  };
  std::vector<File> files_;
  uint64_t given_ = 0;
  std::optional<Command> command_;
};

class StreamReduce : public RawOperator<Text, Text> {
 public:
  void Batch(const mr_batch&, const BatchView& view, Out& out) {
    for (uint32_t i = 0; i < view.size(); ++i) {
      if (buffer_.empty()) Mark(view.key(i));
      buffer_.append(view.key(i)).append(view.value(i)).append("\n");
      context().Taken(view.key(i).size() + view.value(i).size());
      if (buffer_.size() < kWriteBytes) continue;
      last_key_ = view.key(i);
      Give(out);
    }
    if (view.size() > 0) last_key_ = view.key(view.size() - 1);
  }
  void End(Out& out) {
    Give(out);
    try {
      Run(out).Finish("reduce", OkExits(context().config()));
    } catch (const JobError&) {
      FailedAt([this] { return Place(0); }, &context());
      throw;
    }
  }

 private:
  Command& Run(Out& out) {
    if (!command_) {
      command_.emplace(
          context().config().Text("command"), [&out](std::string_view line) { out.Line(line); },
          ErrorLines(&context(), [this] { return Place(Command::kLineLag); }), Moved(&context()));
    }
    return *command_;
  }
  void Give(Out& out) {
    Run(out).Write(buffer_);
    given_ += buffer_.size();
    buffer_.clear();
  }
  // Notes the key of the next byte that the command is given. Forgets those before the bytes that it last read.
  void Mark(std::string_view key) {
    while (command_ && marks_.size() > 1 && marks_[1].first <= command_->LastRead(Command::kLineLag).from)
      marks_.pop_front();
    if (marks_.size() < kMostMarks) marks_.emplace_back(given_, key);
  }
  // Names the keys of the bytes that the command last read.
  std::string Place(uint64_t lag) const {
    if (!command_ || marks_.empty()) return "";
    const Command::Range range = command_->LastRead(lag);
    std::string first, last = last_key_;
    for (const auto& [given, key] : marks_) {
      if (given <= range.from || first.empty()) first = key;
      if (given < range.to) continue;
      last = key;
      break;
    }
    return "a record between the keys '" + sdk::Shown(first) + "' and '" + sdk::Shown(last) +
           "', which the command last read";
  }

  // The command has read all but a pipe's content, so more marks are those of a command that no longer reads.
  static constexpr size_t kMostMarks = 16;
  std::deque<std::pair<uint64_t, std::string>> marks_;  // bytes given before a key, and this key
  uint64_t given_ = 0;
  std::string last_key_;
  std::string buffer_;
  std::optional<Command> command_;
};

void PlanStream(const std::vector<std::string>& argv, JobPlan& plan) {
  std::string map, combine, reduce;
  bool side_effects = false;
  std::vector<std::string> ok_codes;
  Args args("stream");
  args.Add("--map", &map)
      .Add("--combine", &combine)
      .Add("--reduce", &reduce)
      .Add("--side-effects", &side_effects)
      .Add("--ok-exit", &ok_codes)
      .Parse(argv);
  if (map.empty()) args.Refuse("give a command: --map CMD (cat passes lines on as they are)");
  if (reduce.empty() && !combine.empty()) args.Refuse("--combine needs --reduce");
  auto& stage = plan.Map("map", side_effects ? "stream.map.alone" : "stream.map").ReadFiles();
  Config config;
  config.Set("command", map).Set("map_only", reduce.empty());
  const std::string ok_exits = OkExitsText(ok_codes, args);
  if (!ok_exits.empty()) config.Set("ok_exits", ok_exits);
  if (!combine.empty()) config.Set("combine", combine);
  stage.Configure(config);
  if (reduce.empty()) {
    stage.WriteFiles();
    return;
  }
  Config reducing;
  reducing.Set("command", reduce);
  if (!ok_exits.empty()) reducing.Set("ok_exits", ok_exits);
  plan.Reduce("reduce", side_effects ? "stream.reduce.alone" : "stream.reduce")
      .Configure(reducing)
      .Group(stage.Shuffle({.combine = !combine.empty()}))
      .WriteFiles();
}

}  // namespace

void AddStream(Library& library) {
  // The behaviour of a command is unknown, so no flags are set.
  library.Add<StreamMap>("stream.map", 0)
      .Add<StreamReduce>("stream.reduce", 0)
      .Add<StreamMap>("stream.map.alone", MR_SIDE_EFFECTS)
      .Add<StreamReduce>("stream.reduce.alone", MR_SIDE_EFFECTS)
      .AddJob<PlanStream>(
          "stream",
          "run commands as operators, lines `key TAB value` on stdin and stdout\n"
          "  --map CMD              map command; reads the lines of the input\n"
          "  --combine CMD          combine command; reads lines of one map task, sorted by key\n"
          "  --reduce CMD           reduce command; reads lines of the maps, sorted by key\n"
          "  --ok-exit N            accept exit code N of the commands, such as 1 of grep (no line matches), diff, "
          "cmp\n"
          "                         and test; may be repeated\n"
          "  --side-effects         never run two attempts of a task: the commands act outside (a database, a mail)\n"
          "Commands run in `bash -O xpg_echo -o pipefail`: they fail if a program in a pipe fails, unless its reader\n"
          "closed the pipe. Workers without bash use sh, which sees the last program of a pipe only.\n"
          "On stderr, `reporter:counter:GROUP,NAME,N` adds to a counter, and `reporter:bad_record:TEXT` reports a\n"
          "record that the command skipped (submit --max-bad-records). Exit code 75 requests a retry.\n"
          "\n"
          "Variables of commands, beside those of submit --env:\n"
          "  MR_INPUT_FILE          URI of the file that the task reads; empty if it reads several files\n"
          "  MR_FILES_DIR           directory of the side files of submit --files\n"
          "  MR_MEMORY_LIMIT        memory limit of the job (submit --memory) in bytes; 0: none\n"
          "  TMPDIR                 directory for temporary files; it is removed when the job ends\n"
          "  MR_JOB_ID, MR_JOB_NAME           id and name of the job\n"
          "  MR_STAGE, MR_STAGE_NAME          number of the stage from 0, and its name\n"
          "  MR_TASK_ID, MR_TASK, MR_TASKS    id of the task, its number from 0, and the number of tasks of the stage\n"
          "  MR_PARTITION                     as MR_TASK: the partition that a reduce task reads\n"
          "  MR_ATTEMPT_ID, MR_ATTEMPT        id of the attempt, and its number");
}

}  // namespace mr::builtin
