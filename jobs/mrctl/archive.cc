#include "jobs/mrctl/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/base/file_format.h"
#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

constexpr size_t kTarBlock = 512;

// The header of POSIX.1-1988 (ustar).
struct TarHeader {
  char name[100];
  char mode[8], uid[8], gid[8];
  char size[12], mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6], version[2];
  char user[32], group[32];
  char major[8], minor[8];
  char prefix[155];
  char rest[12];
};
static_assert(sizeof(TarHeader) == kTarBlock);

std::string Gzipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

Status AlreadyThere(const std::string& path) {
  return WithHint(Rejected(path + " exists"), "name another file, or give --force to replace it");
}

}  // namespace

void TarWriter::Add(const std::string& name, std::string_view bytes) {
  MR_CHECK(!name.empty() && name[0] != '/' && name.size() < sizeof TarHeader::name, name);
  TarHeader header{};
  name.copy(header.name, name.size());
  std::snprintf(header.mode, sizeof header.mode, "%07o", 0600u);
  std::snprintf(header.uid, sizeof header.uid, "%07o", 0u);
  std::snprintf(header.gid, sizeof header.gid, "%07o", 0u);
  std::snprintf(header.size, sizeof header.size, "%011llo", static_cast<unsigned long long>(bytes.size()));
  std::snprintf(header.mtime, sizeof header.mtime, "%011llo", static_cast<unsigned long long>(seconds_));
  header.type = '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  // The sum is that of the header with spaces in its place.
  std::memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  const auto* raw = reinterpret_cast<const unsigned char*>(&header);
  for (size_t i = 0; i < sizeof header; ++i) sum += raw[i];
  std::snprintf(header.checksum, 7, "%06o", sum);
  tar_.append(reinterpret_cast<const char*>(&header), sizeof header);
  tar_ += bytes;
  tar_.resize((tar_.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
}

std::string TarWriter::Finish() {
  tar_.append(2 * kTarBlock, '\0');
  return std::move(tar_);
}

Result<std::string> CompressFor(const std::string& file, std::string_view bytes) {
  if (file.ends_with(".tar")) return std::string(bytes);
  std::string out;
  if (file.ends_with(".tgz") || CompressionOfName(file) == Compression::kGzip) {
    out = Gzipped(bytes);
  } else {
    out.resize(ZSTD_compressBound(bytes.size()));
    const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
    out.resize(ZSTD_isError(size) ? 0 : size);
  }
  if (out.empty()) return Internal("cannot compress " + file);
  return out;
}

Status WritePrivately(const std::string& path, std::string_view bytes, bool force) {
  // lstat: a link to nothing is something, too.
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!force) return AlreadyThere(path);
    // Others may read a file behind a link, and a rename would replace a device.
    if (!S_ISREG(there.st_mode)) {
      return WithHint(Rejected(path + " is not a regular file, and a private file must be one"), "name another file");
    }
  }
  const std::string fresh = path + ".tmp-" + std::to_string(getpid());
  Status written = [&]() -> Status {
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    MR_RETURN_IF_ERROR(WriteAll(file.get(), bytes));
    if (force) {
      if (rename(fresh.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "cannot rename to " + path);
      return Status::Ok();
    }
    // A link fails where a file has appeared meanwhile, which a rename would replace.
    if (link(fresh.c_str(), path.c_str()) != 0) {
      return errno == EEXIST ? AlreadyThere(path) : ErrnoStatus(errno, "cannot make " + path);
    }
    return Status::Ok();
  }();
  unlink(fresh.c_str());
  return written;
}

}  // namespace mr::ctl
