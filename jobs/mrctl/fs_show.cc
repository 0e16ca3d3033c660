#include "jobs/mrctl/fs_show.h"

#include <algorithm>
#include <cstdio>

#include "common/base/file_format.h"
#include "common/base/text.h"
#include "common/io/target_file.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/fs_text.h"
#include "jobs/mrctl/stdout_reader.h"

namespace mr::ctl {
namespace {

// Read size of head and tail, which look for line ends.
constexpr uint64_t kLookBytes = 64u << 10;
constexpr uint64_t kTextBytes = 4u << 20;  // read size of compressed files

}  // namespace

Result<std::vector<StoredPart>> FsShow::PartsOf(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const auto info, store_.Stat(path));
  if (!info.is_directory) return std::vector<StoredPart>{{path, 0, info.bytes}};
  MR_ASSIGN_OR_RETURN(auto parts, PartsIn(store_, path));
  if (parts.empty()) {
    return WithHint(InvalidArgument(path + " is a directory without files"),
                    "mrctl fs ls " + path + " lists what is in it");
  }
  return parts;
}

Status FsShow::Cat(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const auto parts, PartsOf(path));
  return Cat(parts);
}

Status FsShow::Cat(const std::vector<StoredPart>& parts) {
  for (const StoredPart& part : parts) {
    if (reader_left_) return Status::Ok();
    MR_RETURN_IF_ERROR(CatPart(part));
  }
  return Status::Ok();
}

Status FsShow::CatPart(const StoredPart& part) {
  if (people()) {
    std::fflush(stdout);
    const Status printed = CopyPart(store_, part, 1);
    reader_left_ = !printed.ok() && ReaderLeft(1);
    return reader_left_ ? Status::Ok() : printed;
  }
  if (part.bytes > kMostTextInJson) {
    return WithHint(Rejected(part.path + " has " + HumanBytes(part.bytes) + "; a JSON document takes at most " +
                             HumanBytes(kMostTextInJson)),
                    "mrctl fs get copies it to a file; without -o json, fs cat prints it");
  }
  MR_ASSIGN_OR_RETURN(std::string text, store_.GetBytes(part.path));
  Keep(part.path, text.substr(std::min<size_t>(part.begin, text.size())));
  return Status::Ok();
}

Status FsShow::Text(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const auto parts, PartsOf(path));
  for (const StoredPart& part : parts) {
    if (reader_left_) return Status::Ok();
    MR_RETURN_IF_ERROR(CompressionOfName(part.path) == Compression::kNone ? CatPart(part) : TextOf(part));
  }
  return Status::Ok();
}

Status FsShow::TextOf(const StoredPart& part) {
  std::string text;
  const Status done = WriteDecompressed(
      part.path, CompressionOfName(part.path),
      [&](uint64_t offset) -> Result<std::string> {
        const uint64_t at = part.begin + offset;
        if (at >= part.bytes) return std::string();
        return store_.GetBytes(part.path, at, std::min(kTextBytes, part.bytes - at));
      },
      [&](std::string_view bytes) -> Status {
        MR_RETURN_IF_ERROR(Show(bytes, &text));
        if (text.size() <= kMostTextInJson) return Status::Ok();
        return WithHint(Rejected(part.path + " has more than " + HumanBytes(kMostTextInJson) +
                                 " when decompressed, the most that a JSON document takes"),
                        "without -o json, fs text prints it");
      });
  if (reader_left_) return Status::Ok();
  MR_RETURN_IF_ERROR(done);
  Keep(part.path, std::move(text));
  return Status::Ok();
}

Status FsShow::Head(const std::string& path, uint64_t lines) {
  MR_ASSIGN_OR_RETURN(const auto parts, PartsOf(path));
  uint64_t got = 0;
  std::string text;
  for (const StoredPart& part : parts) {
    for (uint64_t at = part.begin; at < part.bytes && got < lines && !reader_left_; at += kLookBytes) {
      MR_ASSIGN_OR_RETURN(const std::string piece,
                          store_.GetBytes(part.path, at, std::min(kLookBytes, part.bytes - at)));
      size_t end = 0;
      while (got < lines && end < piece.size()) {
        const size_t newline = piece.find('\n', end);
        if (newline == std::string::npos) {
          end = piece.size();
        } else {
          end = newline + 1;
          ++got;
        }
      }
      const Status shown = Show(std::string_view(piece).substr(0, end), &text);
      if (!reader_left_) MR_RETURN_IF_ERROR(shown);
    }
  }
  Keep(path, std::move(text));
  return Status::Ok();
}

Status FsShow::Tail(const std::string& path, uint64_t lines) {
  MR_ASSIGN_OR_RETURN(const auto parts, PartsOf(path));
  std::string text;
  // One line end more than lines: the one before the first of them.
  const auto enough = [&] { return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) > lines; };
  for (auto part = parts.rbegin(); part != parts.rend() && !enough(); ++part) {
    for (uint64_t begin = part->bytes; begin > part->begin && !enough();) {
      const uint64_t step = std::min(kLookBytes, begin - part->begin);
      begin -= step;
      MR_ASSIGN_OR_RETURN(const std::string piece, store_.GetBytes(part->path, begin, step));
      text.insert(0, piece);
    }
  }
  size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (uint64_t i = 0; i < lines && at != std::string::npos; ++i) {
    at = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  }
  std::string last;
  const Status shown = Show(at == std::string::npos ? text : text.substr(at + 1), &last);
  if (!reader_left_) MR_RETURN_IF_ERROR(shown);
  Keep(path, std::move(last));
  return Status::Ok();
}

Status FsShow::Show(std::string_view piece, std::string* kept) {
  if (people()) return PrintPiece(piece, &reader_left_);
  *kept += piece;
  return Status::Ok();
}

void FsShow::Keep(const std::string& path, std::string text) {
  if (!people()) contents_.push_back({path, std::move(text)});
}

}  // namespace mr::ctl
