#include "jobs/mrctl/fs_text.h"

#include <algorithm>
#include <memory>

#include "common/io/decoder.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {

namespace {

const char* WordOf(Compression compression) {
  return compression == Compression::kNone ? "not compressed" : compression == Compression::kGzip ? "gzip" : "zstd";
}

}  // namespace

Result<Compression> CompressionOfParts(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const Compression first = CompressionOfName(names.front()), here = CompressionOfName(name);
    if (here == first) continue;
    return WithHint(InvalidArgument("cannot merge parts of different kinds: " + names.front() + " is " + WordOf(first) +
                                    ", " + name + " is " + WordOf(here)),
                    "mrctl fs text prints all of them decompressed");
  }
  return names.empty() ? Compression::kNone : CompressionOfName(names.front());
}

std::string MergedNote(Compression parts, const std::string& target, const std::string& directory) {
  if (parts == Compression::kNone || CompressionOfName(target) == parts) return "";
  return target + " is " + WordOf(parts) + ", as its parts are; for text: mrctl fs text " + directory + " > FILE";
}

Status WriteDecompressed(const std::string& name, Compression compression,
                         const std::function<Result<std::string>(uint64_t offset)>& read,
                         const std::function<Status(std::string_view bytes)>& write) {
  constexpr uint64_t kRoom = 1u << 20;
  const auto decoder = compression == Compression::kNone ? nullptr : MakeDecoder(compression);
  bool in_frame = false;
  for (uint64_t offset = 0;;) {
    MR_ASSIGN_OR_RETURN(const std::string piece, read(offset));
    std::string_view left = piece;
    const bool end = piece.empty();
    if (decoder == nullptr) {
      if (end) return Status::Ok();
      MR_RETURN_IF_ERROR(write(piece));
    }
    // At the end the decoder may still have output.
    while (decoder != nullptr && (!left.empty() || (end && in_frame))) {
      // gzip files may be padded with zeros.
      if (!in_frame && compression == Compression::kGzip) {
        left.remove_prefix(std::min(left.find_first_not_of('\0'), left.size()));
        if (left.empty()) break;
      }
      std::string raw;
      in_frame = true;
      const char* wrong = decoder->Decode(&left, kRoom, &raw, &in_frame);
      if (wrong == nullptr && end && in_frame && raw.empty()) wrong = "it ends too early: is the file complete?";
      if (wrong != nullptr) {
        return InvalidArgument(name + ", byte " + std::to_string(offset + piece.size() - left.size()) +
                               ": cannot decompress the " + WordOf(compression) + " data: " + wrong);
      }
      MR_RETURN_IF_ERROR(write(raw));
    }
    if (end) return Status::Ok();
    offset += piece.size();
  }
}

}  // namespace mr::ctl
