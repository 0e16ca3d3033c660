#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>

#include "common/base/text.h"
#include "common/io/bulk_digest.h"
#include "common/io/files.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/fs_copy.h"
#include "jobs/mrctl/fs_failure.h"
#include "jobs/mrctl/fs_glob.h"
#include "jobs/mrctl/fs_local.h"
#include "jobs/mrctl/fs_show.h"
#include "jobs/mrctl/fs_text.h"
#include "jobs/mrctl/local_parts.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/stored_parts.h"
#include "jobs/mrctl/uri.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

namespace stdfs = std::filesystem;

// Read size of checksums.
constexpr uint64_t kSumBytes = 8u << 20;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string Join(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

Result<std::string> StorePath(const std::string& word) {
  MR_ASSIGN_OR_RETURN(const std::string uri, ResolveUri(word, BarePath::kBlockStore, "/"));
  if (!IsDfsUri(uri)) {
    return WithHint(InvalidArgument(word + " is a local file, and this command works on the block store"),
                    "ls, cat, text and getmerge take local files, if all paths are local");
  }
  return UriPath(uri);
}

// Refuses a path that would be created or moved in /.staging. Removing is allowed, since a crash may leave files there.
Status CheckNotStaging(const std::string& path) {
  if (!dfs::IsStaging(path)) return Status::Ok();
  return WithHint(Rejected(path + ": /.staging is reserved for running jobs, which remove it"),
                  "choose another directory");
}

FileRow RowOf(const dfs::FileInfo& info) {
  FileRow row;
  row.path = info.path;
  row.directory = info.is_directory;
  row.bytes = info.bytes;
  row.block_bytes = info.block_bytes;
  row.modified_unix_ms = info.modified_unix_ms;
  row.replication = info.replication;
  row.blocks = info.blocks;
  row.missing_blocks = info.missing_blocks;
  row.least_replicas = info.least_replicas;
  row.owner = info.owner;
  row.read_by_all = info.read_by_all;
  return row;
}

// One `mrctl fs` command on one connection.
class FsCommand {
 public:
  FsCommand(const Command& command, const Settings& settings, Client& client, dfs::BlockingDfs& store)
      : command_(command),
        args_(command.args),
        settings_(settings),
        client_(client),
        store_(store),
        show_(settings, store) {
    put_.overwrite = command.force;
    put_.replication = static_cast<uint32_t>(std::max(0, command.replication));
  }

  Status Run() {
    MR_RETURN_IF_ERROR(ExpandPatterns());
    MR_RETURN_IF_ERROR(Do());
    // One document with all results.
    const std::string& sub = command_.sub;
    const bool shows = sub == "cat" || sub == "text" || sub == "head" || sub == "tail" || !show_.contents().empty();
    if (settings_.form == OutputForm::kTable || sub == "ls" || sub == "stat" || sub == "du" || sub == "checksum") {
      return Status::Ok();
    }
    Print(shows ? JsonContents(show_.contents(), settings_.form) : JsonDone(done_, settings_.form));
    return Status::Ok();
  }

 private:
  // Replaces patterns among the paths of verbs that take several.
  Status ExpandPatterns() {
    const std::string& sub = command_.sub;
    constexpr std::string_view kTake[] = {"ls", "get", "cat",      "text",   "head",  "tail", "stat",
                                          "du", "rm",  "checksum", "setrep", "chown", "chmod"};
    if (std::find(std::begin(kTake), std::end(kTake), sub) == std::end(kTake)) return Status::Ok();
    GlobStore store;
    store.exists = [this](const std::string& path) -> Result<bool> {
      const auto info = store_.Stat(path);
      if (info.ok() || info.status().code() == Code::kNotFound) return info.ok();
      return info.status();
    };
    store.list = [this](const std::string& directory) -> Result<std::vector<GlobEntry>> {
      MR_ASSIGN_OR_RETURN(const auto entries, store_.List(directory));
      std::vector<GlobEntry> list;
      list.reserve(entries.size());
      for (const auto& entry : entries) list.push_back({entry.path, entry.is_directory});
      return list;
    };
    std::vector<std::string> expanded;
    for (size_t i = 0; i < args_.size(); ++i) {
      const bool value_first = sub == "setrep" || sub == "chown" || sub == "chmod";
      const bool path = sub == "get" ? i + 1 < args_.size() : !value_first || i > 0;
      if (!path || !IsPattern(args_[i])) {
        expanded.push_back(args_[i]);
        continue;
      }
      MR_ASSIGN_OR_RETURN(const std::string pattern, StorePath(args_[i]));
      const auto found = ExpandGlob(pattern, store);
      if (!found.ok() && found.status().code() == Code::kNotFound && sub == "rm" && command_.force) continue;
      if (!found.ok()) return found.status();
      expanded.insert(expanded.end(), found->begin(), found->end());
    }
    args_ = std::move(expanded);
    return Status::Ok();
  }

  Status Do() {
    const std::string& sub = command_.sub;
    if (sub == "put") return Put();
    if (sub == "get") return Get();
    if (sub == "getmerge") return GetMerge();
    if (sub == "mv") return Move();
    if (sub == "cp") return Copy();
    if (sub == "checksum") return Checksum();
    if (sub == "setrep") return SetReplication();
    if (sub == "chown") return SetOwner();
    if (sub == "chmod") return SetReaders();
    if (sub == "head" || sub == "tail") MR_RETURN_IF_ERROR(CheckNoCount());
    std::vector<FileRow> rows;
    for (const std::string& word : args_) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(word));
      MR_RETURN_IF_ERROR(sub == "ls"      ? List(path, &rows)
                         : sub == "stat"  ? Stat(path, &rows)
                         : sub == "du"    ? DiskUse(path, &rows)
                         : sub == "cat"   ? show_.Cat(path)
                         : sub == "text"  ? show_.Text(path)
                         : sub == "head"  ? show_.Head(path, command_.lines)
                         : sub == "tail"  ? show_.Tail(path, command_.lines)
                         : sub == "mkdir" ? Mkdir(path)
                                          : Remove(path));
      if (show_.reader_left()) return Status::Ok();
    }
    if (sub == "du" && settings_.form == OutputForm::kTable) {
      Print(RenderUse(rows, command_.human));
    } else if (sub == "ls" || sub == "stat" || sub == "du") {
      Print(RenderFiles(rows, settings_.form));
    }
    return Status::Ok();
  }

  // Refuses the -2 of head(1), which is read as a path.
  Status CheckNoCount() const {
    for (const std::string& word : args_) {
      if (word.size() < 2 || word[0] != '-' || word.find_first_not_of("0123456789", 1) != std::string::npos) continue;
      return WithHint(InvalidArgument("fs " + command_.sub + ": '" + word + "' is not a path"),
                      "the number of lines is -n " + word.substr(1) + "; a file with this name is /" + word);
    }
    return Status::Ok();
  }

  Status List(const std::string& path, std::vector<FileRow>* rows) {
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(path));
    for (const auto& entry : entries) {
      rows->push_back(RowOf(entry));
      if (command_.recursive && entry.is_directory) MR_RETURN_IF_ERROR(List(entry.path, rows));
    }
    return Status::Ok();
  }

  // Adds a path. A directory has the sums of what is below it.
  Status Stat(const std::string& path, std::vector<FileRow>* rows) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    rows->push_back(RowOf(info));
    return info.is_directory ? AddBelow(path, &rows->back()) : Status::Ok();
  }

  // Adds all that is below a directory to its row.
  Status AddBelow(const std::string& directory, FileRow* sum) {
    sum->summed = true;
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(directory));
    for (const auto& entry : entries) {
      if (entry.is_directory) {
        MR_RETURN_IF_ERROR(AddBelow(entry.path, sum));
        continue;
      }
      sum->bytes += entry.bytes;
      sum->blocks += entry.blocks;
      sum->missing_blocks += entry.missing_blocks;
    }
    return Status::Ok();
  }

  // Adds the entries of a directory and last the directory itself, with -s only that.
  Status DiskUse(const std::string& path, std::vector<FileRow>* rows) {
    if (command_.summary) return Stat(path, rows);
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    FileRow total = RowOf(info);
    if (info.is_directory) {
      MR_ASSIGN_OR_RETURN(const auto entries, store_.List(path));
      for (const auto& entry : entries) {
        FileRow row = RowOf(entry);
        if (entry.is_directory) MR_RETURN_IF_ERROR(AddBelow(entry.path, &row));
        total.bytes += row.bytes;
        total.blocks += row.blocks;
        total.missing_blocks += row.missing_blocks;
        rows->push_back(std::move(row));
      }
      total.summed = true;
    }
    rows->push_back(std::move(total));
    return Status::Ok();
  }

  Status SetReplication() {
    if (args_.size() < 2) return InvalidArgument("fs setrep takes N and PATH...");
    uint32_t replicas = 0;
    const std::string& word = args_[0];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), replicas);
    if (error != std::errc() || end != word.data() + word.size() || replicas == 0) {
      return InvalidArgument("fs setrep takes the number of replicas first, 1 or more, not '" + word + "'");
    }
    for (size_t i = 1; i < args_.size(); ++i) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(args_[i]));
      MR_RETURN_IF_ERROR(SetReplicationBelow(path, replicas));
      done_.push_back({path, command_.sub, "", word + (replicas == 1 ? " replica" : " replicas") + " of each block"});
      Say(settings_, path + " is to have " + word + (replicas == 1 ? " replica" : " replicas") +
                         " of each block: mrctl fs stat shows how many there are");
    }
    NoteMissingWorkers(replicas);
    return Status::Ok();
  }

  // Prints a note where fewer workers take blocks than a block is to have replicas.
  void NoteMissingWorkers(uint32_t replicas) {
    const auto workers = client_.Workers();
    const size_t able = workers.ok() ? TakingBlocks(*workers) : replicas;
    if (able < replicas) {
      Say(settings_, "note: " + std::to_string(able) + (able == 1 ? " worker takes" : " workers take") +
                         " blocks now, and each holds one replica of a block at most: the others are made when there "
                         "are more workers");
    }
  }

  // Sets that of a file, or of all files below a directory.
  Status SetReplicationBelow(const std::string& path, uint32_t replicas) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    if (!info.is_directory) return store_.SetReplication(path, replicas);
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(path));
    for (const auto& entry : entries) MR_RETURN_IF_ERROR(SetReplicationBelow(entry.path, replicas));
    return Status::Ok();
  }

  Status SetOwner() {
    if (args_.size() < 2) return InvalidArgument("fs chown takes OWNER and PATH...");
    for (size_t i = 1; i < args_.size(); ++i) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(args_[i]));
      MR_RETURN_IF_ERROR(store_.SetOwner(path, args_[0]));
      done_.push_back({path, command_.sub, "", "owner " + args_[0]});
    }
    return Status::Ok();
  }

  Status SetReaders() {
    const std::string word = args_[0];
    if (word != "read=all" && word != "read=owner") {
      return WithHint(InvalidArgument("fs chmod takes read=all or read=owner first, not '" + word + "'"),
                      "only owners write; mrctl fs chown gives a path to another owner");
    }
    if (args_.size() < 2) return InvalidArgument("fs chmod takes read=all or read=owner, and PATH...");
    for (size_t i = 1; i < args_.size(); ++i) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(args_[i]));
      MR_RETURN_IF_ERROR(store_.SetReaders(path, word == "read=all"));
      done_.push_back({path, command_.sub, "", word});
    }
    return Status::Ok();
  }

  void Did(const std::string& path, const std::string& to = "") { done_.push_back({path, command_.sub, to, ""}); }

  Status Mkdir(const std::string& path) {
    MR_RETURN_IF_ERROR(CheckNotStaging(path));
    if (!command_.parents && store_.Stat(path).ok()) {
      return WithHint(Rejected(path + " exists"), "-p takes an existing directory as it is");
    }
    MR_RETURN_IF_ERROR(store_.Mkdir(path));
    Did(path);
    return Status::Ok();
  }

  Status Remove(const std::string& path) {
    Status removed = store_.Remove(path, command_.recursive);
    if (removed.code() == Code::kNotFound && command_.force) return Status::Ok();
    if (removed.code() == Code::kRejected && !command_.recursive)
      return WithHint(removed, "-r removes a directory with all below it");
    if (removed.ok()) Did(path);
    return removed;
  }

  Status Move() {
    if (args_.size() != 2) return InvalidArgument("fs mv takes FROM and TO");
    MR_ASSIGN_OR_RETURN(const std::string from, StorePath(args_[0]));
    MR_ASSIGN_OR_RETURN(std::string to, StorePath(args_[1]));
    if (auto info = store_.Stat(to); info.ok() && info->is_directory) to = Join(to, BaseName(from));
    MR_RETURN_IF_ERROR(CheckNotStaging(from));
    MR_RETURN_IF_ERROR(CheckNotStaging(to));
    MR_RETURN_IF_ERROR(store_.Rename(from, to));
    Did(from, to);
    return Status::Ok();
  }

  Status Copy() {
    if (args_.size() != 2) return InvalidArgument("fs cp takes FROM and TO");
    MR_ASSIGN_OR_RETURN(const std::string from, StorePath(args_[0]));
    MR_ASSIGN_OR_RETURN(std::string to, StorePath(args_[1]));
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(from));
    if (info.is_directory)
      return WithHint(InvalidArgument(from + " is a directory: fs cp copies one file"),
                      "mrctl fs ls " + from + " lists its files");
    auto there = store_.Stat(to);
    if (there.ok() && there->is_directory) {
      to = Join(to, BaseName(from));
      there = store_.Stat(to);
    }
    MR_RETURN_IF_ERROR(CheckNotStaging(to));
    if (from == to) return InvalidArgument(from + " cannot be copied to itself");
    if (there.ok() && !command_.force) return WithHint(Rejected(to + " exists"), kReplaceHint);
    MR_RETURN_IF_ERROR(GivenUpWrite(CopyStoredFile(client_, store_, info, to, command_.force), to));
    Did(from, to);
    return Status::Ok();
  }

  Status Checksum() {
    std::vector<FileSum> sums;
    for (const std::string& word : args_) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(word));
      MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
      if (info.is_directory)
        return WithHint(InvalidArgument(path + " is a directory"), "name its files: mrctl fs ls " + path);
      BulkHasher128 hasher;
      for (uint64_t at = 0; at < info.bytes; at += kSumBytes) {
        MR_ASSIGN_OR_RETURN(const std::string piece, store_.GetBytes(path, at, std::min(kSumBytes, info.bytes - at)));
        hasher.Update(piece);
      }
      sums.push_back({path, hasher.Finish().Hex(), info.bytes});
    }
    Print(RenderSums(sums, settings_.form));
    return Status::Ok();
  }

  Status Put() {
    if (args_.size() < 2) return InvalidArgument("fs put takes LOCAL... and PATH");
    if (!command_.block_size.empty()) {
      auto bytes = ParseSize(command_.block_size);
      if (!bytes.ok()) return bytes.status().With("--block-size");
      put_.block_bytes = *bytes;
    }
    MR_ASSIGN_OR_RETURN(const std::string target, StorePath(args_.back()));
    const auto info = store_.Stat(target);
    const bool into = args_.size() > 2 || args_.back().back() == '/' || (info.ok() && info->is_directory);
    for (size_t i = 0; i + 1 < args_.size(); ++i) {
      const std::string& source = args_[i];
      if (source == "-") {
        if (into) return InvalidArgument("standard input needs the name of a target file");
        MR_RETURN_IF_ERROR(CheckNotStaging(target));
        MR_RETURN_IF_ERROR(PutFailure(GivenUpWrite(store_.PutFd(target, put_, 0).status(), target)));
        Did("-", target);
        continue;
      }
      if (!PathExists(source)) return NotFound("local file " + source + " does not exist");
      const std::string name = stdfs::path(source).lexically_normal().filename().string();
      MR_RETURN_IF_ERROR(FindFiles(
          source, into ? Join(target, name.empty() ? BaseName(stdfs::canonical(source).string()) : name) : target));
    }
    MR_RETURN_IF_ERROR(PutFound());
    if (put_.replication != 0) NoteMissingWorkers(put_.replication);
    return Status::Ok();
  }

  // Makes the directories of a tree, and gathers its files.
  Status FindFiles(const std::string& source, const std::string& target) {
    MR_RETURN_IF_ERROR(CheckNotStaging(target));
    if (!stdfs::is_directory(source)) {
      // If two files have one target, the later one counts, or is refused.
      if (targets_.contains(target)) MR_RETURN_IF_ERROR(PutFound());
      targets_.insert(target);
      const auto bytes = FileSize(source);
      found_.push_back({source, target, bytes.ok() ? *bytes : 0});
      return Status::Ok();
    }
    MR_RETURN_IF_ERROR(store_.Mkdir(target));
    MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(source));
    for (const std::string& name : names) MR_RETURN_IF_ERROR(FindFiles(source + "/" + name, Join(target, name)));
    return Status::Ok();
  }

  Status PutFound() {
    std::vector<bool> written;
    Status status = store_.PutFiles(found_, put_, &written);
    const size_t left = static_cast<size_t>(std::count(written.begin(), written.end(), false));
    status = GivenUpWrite(
        status, left == 1 ? LeftFile(written) : std::to_string(left) + " files of " + std::to_string(written.size()));
    for (size_t i = 0; i < found_.size(); ++i) {
      if (written[i]) Did(found_[i].source, found_[i].target);
    }
    found_.clear();
    targets_.clear();
    return PutFailure(status);
  }

  // Returns the target of the first file that was not written.
  std::string LeftFile(const std::vector<bool>& written) const {
    return found_[static_cast<size_t>(std::find(written.begin(), written.end(), false) - written.begin())].target;
  }

  Status PutFailure(const Status& status) {
    return StoreFailure(client_, command_.force ? status : WithReplaceHint(status), StoreUse::kWrites);
  }

  Status Get() {
    if (args_.size() < 2) return InvalidArgument("fs get takes PATH... and LOCAL");
    const std::string& target = args_.back();
    const bool into = target != "-" && (args_.size() > 2 || stdfs::is_directory(target));
    if (into && !stdfs::is_directory(target)) {
      return WithHint(NotFound("local directory " + target + " does not exist, and " +
                               std::to_string(args_.size() - 1) + " paths are to be copied"),
                      "make it: mkdir " + target);
    }
    for (size_t i = 0; i + 1 < args_.size(); ++i) {
      MR_ASSIGN_OR_RETURN(const std::string path, StorePath(args_[i]));
      if (target == "-") {
        MR_RETURN_IF_ERROR(show_.Cat(path));
        if (show_.reader_left()) return Status::Ok();
      } else {
        const std::string to = into ? target + "/" + BaseName(path) : target;
        MR_RETURN_IF_ERROR(GetTree(path, to));
        Did(path, to);
      }
    }
    return Status::Ok();
  }

  Status GetTree(const std::string& path, const std::string& target) {
    MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
    if (!info.is_directory) return GetFiles({{path, 0, info.bytes}}, target);
    MR_RETURN_IF_ERROR(MakeDirectories(target));
    MR_ASSIGN_OR_RETURN(const auto entries, store_.List(path));
    for (const auto& entry : entries) MR_RETURN_IF_ERROR(GetTree(entry.path, target + "/" + BaseName(entry.path)));
    return Status::Ok();
  }

  // Writes one local file from the bytes of all parts. It becomes visible only when it is complete.
  Status GetFiles(const std::vector<StoredPart>& parts, const std::string& target) {
    const Status written = WriteWholeFile(target, command_.force, [&](int fd) {
      for (const StoredPart& part : parts) MR_RETURN_IF_ERROR(CopyPart(store_, part, fd));
      return Status::Ok();
    });
    return GivenUpWrite(written, target);
  }

  Status GetMerge() {
    if (args_.size() != 2) return InvalidArgument("fs getmerge takes DIRECTORY and LOCAL");
    MR_ASSIGN_OR_RETURN(const std::string directory, StorePath(args_[0]));
    MR_ASSIGN_OR_RETURN(const auto parts, PartsIn(store_, directory));
    std::vector<std::string> names;
    names.reserve(parts.size());
    for (const StoredPart& part : parts) names.push_back(part.path);
    MR_ASSIGN_OR_RETURN(const Compression compression, CompressionOfParts(names));
    if (args_[1] == "-") return show_.Cat(parts);
    MR_RETURN_IF_ERROR(GetFiles(parts, args_[1]));
    if (const std::string note = MergedNote(compression, args_[1], args_[0]); !note.empty()) Say(settings_, note);
    Did(directory, args_[1]);
    return Status::Ok();
  }

  const Command& command_;
  std::vector<std::string> args_;  // of the command, without patterns
  const Settings& settings_;
  Client& client_;
  dfs::BlockingDfs& store_;
  dfs::PutOptions put_;
  std::vector<dfs::LocalFile> found_;  // to be put
  std::set<std::string> targets_;      // of these
  std::vector<Done> done_;
  FsShow show_;
};

}  // namespace

Result<int> RunFs(const Command& command, const Settings& settings) {
  if (IsLocalFs(command)) return RunLocalFs(command, settings);
  // The client of jobs connects first: its error explains best why there is no master.
  Client client(settings.master);
  MR_RETURN_IF_ERROR(client.WaitConnected());
  if (command.sub == "df") {
    MR_ASSIGN_OR_RETURN(const auto workers, client.Workers());
    Print(RenderSpace(workers, settings.form));
    for (const std::string& shared : SpaceOfStore(workers).shared) {
      Say(settings, shared + " share a disk: its free space counts once in total");
    }
    return kExitOk;
  }
  MR_ASSIGN_OR_RETURN(const auto store, client.Store());
  const Status done = FsCommand(command, settings, client, *store).Run();
  // Writes have their own exit codes.
  if (!done.ok()) return StoreFailure(client, done, StoreUse::kReads);
  return kExitOk;
}

}  // namespace mr::ctl
