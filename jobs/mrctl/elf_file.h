// What an ELF file says of itself: enough to tell why a library does not load, without loading it. Pure; takes any
// bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

struct ElfFile {
  struct Symbol {
    std::string name;
    bool weak = false;  // or unique: the loader takes any one of its definitions
  };
  struct Version {
    std::string file, name;  // "libc.so.6", "GLIBC_2.34"
  };
  std::vector<std::string> needed;  // libraries by name (DT_NEEDED)
  std::string soname;
  bool program = false;                   // position-independent, but not to be loaded by others
  std::vector<Version> needs_versions;    // .gnu.version_r
  std::vector<std::string> has_versions;  // .gnu.version_d
  std::vector<Symbol> exports;            // defined, and visible to others
};

// A shared object for this machine. kInvalidArgument with the reason for anything else: no ELF file, one for another
// architecture, a program, an object file, one that is cut off or damaged. Whom it belongs to the caller says.
Result<ElfFile> ParseElf(std::string_view bytes);

// Of "GLIBC_2.4" and "GLIBC_2.36" the second is higher; of other families the order is that of bytes.
bool VersionBelow(std::string_view a, std::string_view b);

// What the library needs and `system`, a library of this machine of that name, has not: "needs GLIBC_2.41 (libc.so.6),
// this machine has GLIBC_2.36".
std::vector<std::string> MissingVersions(const ElfFile& library, const std::string& name, const ElfFile& system);

// Symbols that both export, of which the loader takes the host's: not those that are weak in the library.
std::vector<std::string> ClashingSymbols(const ElfFile& library, const ElfFile& host);

}  // namespace mr::ctl
