// Translates the addresses of a stack into the names of functions, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mr::task {

// A file in the memory of a process.
struct MappedFile {
  uint64_t begin = 0, end = 0, offset = 0;  // addresses, and the byte of the file at `begin`
  std::string path;
};

// Parses the text of /proc/PID/maps; leaves out memory that is no file.
std::vector<MappedFile> ParseMaps(std::string_view text);

// Returns one line per address, innermost call first: "  #0 Words::Map(...)+0x12 (libmine.so+0x3f40)". The number
// behind the file is for addr2line. The calls of `host`, the program below the operator, are left out at the end.
// Functions without a symbol are shown as "??".
std::string StackText(const std::vector<MappedFile>& files, const std::vector<uint64_t>& addresses,
                      const std::string& host);

// The command `mrtask frames ADDRESS...`: reads the memory map of the process from stdin and prints StackText.
int FramesMain(const std::vector<std::string>& addresses);

}  // namespace mr::task
