#include "jobs/mrctl/local_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/files.h"
#include "common/io/target_file.h"
#include "jobs/mrctl/fs_failure.h"
#include "jobs/mrctl/part_headers.h"
#include "jobs/mrctl/pipe_writer.h"
#include "jobs/mrctl/stdout_reader.h"

namespace mr::ctl {
namespace {

constexpr size_t kCopyBytes = 1u << 20;

}  // namespace

bool IsRegularFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Result<std::vector<LocalPartFile>> LocalPartsIn(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(directory));
  const auto success = ReadFile(directory + "/_SUCCESS");
  PartHeaders headers(success.ok() ? *success : "");
  std::vector<LocalPartFile> parts;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (name[0] == '_' || name[0] == '.' || !IsRegularFile(path)) continue;
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_RDONLY));
    const auto head = [&](uint64_t bytes) -> Result<std::string> {
      std::string text(bytes, '\0');
      MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(file.get(), text.data(), text.size(), 0));
      text.resize(n);
      return text;
    };
    MR_ASSIGN_OR_RETURN(const uint64_t begin, headers.BytesToSkip(name, head));
    parts.push_back({path, begin});
  }
  return parts;
}

Status CopyLocalPart(const LocalPartFile& part, int fd) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(part.path, O_RDONLY));
  std::string piece(kCopyBytes, '\0');
  for (uint64_t offset = part.begin;;) {
    MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(file.get(), piece.data(), piece.size(), offset));
    if (n == 0) return Status::Ok();
    MR_RETURN_IF_ERROR(WriteToReader(fd, std::string_view(piece.data(), n), OnInterrupt::kStop));
    offset += n;
  }
}

Status PrintLocalParts(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto parts, LocalPartsIn(directory));
  std::string piece(kCopyBytes, '\0');
  for (const LocalPartFile& part : parts) {
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(part.path, O_RDONLY));
    for (uint64_t offset = part.begin;;) {
      MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(file.get(), piece.data(), piece.size(), offset));
      if (n == 0) break;
      bool reader_left = false;
      const Status printed = PrintPiece(std::string_view(piece.data(), n), &reader_left);
      if (reader_left) return Status::Ok();
      MR_RETURN_IF_ERROR(printed);
      offset += n;
    }
  }
  return Status::Ok();
}

Status WriteWholeFile(const std::string& target, bool overwrite, const std::function<Status(int fd)>& write) {
  const Status written = WriteTarget(target, overwrite, write);
  return overwrite ? written : WithReplaceHint(written);
}

}  // namespace mr::ctl
