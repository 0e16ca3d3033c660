// Translates the addresses of a stack into functions and source lines, for people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mr::task {

// The most memory that `mrtask frames` uses for data. It counts for the attempt that started it.
inline constexpr uint64_t kFramesMemory = 96ull << 20;

// A file in the memory of a process.
struct MappedFile {
  uint64_t begin = 0, end = 0, offset = 0;  // addresses, and the byte of the file at `begin`
  std::string path;
};

// One call of a stack, in terms of the source.
struct SourceCall {
  std::string function;  // as the linker names it if the file says so, else its plain name; "" if unknown
  std::string file;      // as the compiler wrote it; "" if unknown
  int line = 0;          // 0: unknown
};
// Returns the calls at an address, innermost first: the inlined ones, then the function that contains them. Empty: not
// known.
using SourceFn = std::function<std::vector<SourceCall>(uint64_t address)>;

// Parses the text of /proc/PID/maps; leaves out memory that is no file.
std::vector<MappedFile> ParseMaps(std::string_view text);

// Returns one line per call, innermost first:
//   "  #0 Words::Map(...)+0x12 at src/words.cc:17 (libmine.so+0x3f40)".
// An inlined call has no address of its own, and no part in parentheses. The number behind the file is for addr2line.
// Functions without a symbol are shown as "??". source: may be empty; lines and inlined calls are missing then.
// Left out at the end: the calls of `host`, the program below the operator, and those of the SDK's adapter, unless it
// is all that there is of the operator. Left out at the begin: calls within the C and C++ libraries, up to the one that
// the operator made.
std::string StackText(const std::vector<MappedFile>& files, const std::vector<uint64_t>& addresses,
                      const std::string& host, const SourceFn& source = nullptr);

// The command `mrtask frames ADDRESS...`: reads the memory map of the process from stdin and prints StackText. It gives
// up all rights but to read files before it reads one, and has limits of memory and time, because debug information is
// a user's.
int FramesMain(const std::vector<std::string>& addresses);

}  // namespace mr::task
