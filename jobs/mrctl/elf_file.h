// Reads the parts of an ELF file that explain why a library does not load, without loading it. Pure; accepts any bytes.
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
    bool weak = false;  // or unique: the loader takes any of its definitions
  };
  struct Version {
    std::string file, name;  // "libc.so.6", "GLIBC_2.34"
  };
  std::vector<std::string> needed;  // libraries by name (DT_NEEDED)
  std::string soname;
  bool program = false;                   // position-independent, but not loadable as a library
  std::vector<Version> needs_versions;    // .gnu.version_r
  std::vector<std::string> has_versions;  // .gnu.version_d
  std::vector<Symbol> exports;            // defined, and visible to others
};

// Parses a shared object for this machine. Errors: kInvalidArgument with the reason, for anything else: no ELF file,
// another architecture, a program, an object file, a truncated or damaged file. The caller adds the file's name.
Result<ElfFile> ParseElf(std::string_view bytes);

// Returns whether a < b: "GLIBC_2.4" is below "GLIBC_2.36". Other families are compared by bytes.
bool VersionBelow(std::string_view a, std::string_view b);

// Returns the versions that the library needs and `system`, this machine's library of that name, lacks: "needs
// GLIBC_2.41 (libc.so.6), this machine has GLIBC_2.36".
std::vector<std::string> MissingVersions(const ElfFile& library, const std::string& name, const ElfFile& system);

// Returns symbols that both export, for which the loader takes the host's. Symbols that are weak in the library are
// excluded.
std::vector<std::string> ClashingSymbols(const ElfFile& library, const ElfFile& host);

}  // namespace mr::ctl
