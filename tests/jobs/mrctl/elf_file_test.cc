#include "jobs/mrctl/elf_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include "common/base/rng.h"
#include "common/io/files.h"

namespace mr::ctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A library that this process has loaded.
std::string LoadedFile(const std::string& name) {
  std::pair<std::string, std::string> search{name, ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* s = static_cast<std::pair<std::string, std::string>*>(data);
        if (std::string(info->dlpi_name).find("/" + s->first) != std::string::npos) s->second = info->dlpi_name;
        return 0;
      },
      &search);
  auto bytes = ReadFile(search.second);
  EXPECT_TRUE(bytes.ok()) << name << ": " << bytes.status().ToString();
  return bytes.ok() ? *bytes : "";
}

TEST(ElfFileTest, ReadsWhatASystemLibraryHasAndNeeds) {
  const auto cxx = ParseElf(LoadedFile("libstdc++.so.6"));
  ASSERT_TRUE(cxx.ok()) << cxx.status().ToString();
  EXPECT_EQ(cxx->soname, "libstdc++.so.6");
  EXPECT_FALSE(cxx->program);
  EXPECT_THAT(cxx->needed, Contains("libc.so.6"));
  EXPECT_THAT(cxx->has_versions, Contains("GLIBCXX_3.4"));
  const auto libc = ParseElf(LoadedFile("libc.so.6"));
  ASSERT_TRUE(libc.ok());
  EXPECT_THAT(libc->has_versions, Contains("GLIBC_2.2.5"));
  EXPECT_THAT(MissingVersions(*cxx, "libc.so.6", *libc), IsEmpty());
  EXPECT_THAT(ClashingSymbols(*libc, *libc), Contains("malloc"));
  EXPECT_THAT(ClashingSymbols(*cxx, *libc), Not(Contains("malloc")));
  const auto self = ParseElf(*ReadFile("/proc/self/exe"));
  ASSERT_TRUE(self.ok());
  EXPECT_TRUE(self->program);
}

TEST(ElfFileTest, NamesTheVersionThatIsMissing) {
  ElfFile library, system;
  library.needs_versions = {{"libc.so.6", "GLIBC_2.41"}, {"libc.so.6", "GLIBC_2.4"}, {"libm.so.6", "GLIBC_2.99"}};
  system.has_versions = {"GLIBC_2.4", "GLIBC_2.36", "GLIBC_2.9", "GLIBC_PRIVATE"};
  EXPECT_THAT(MissingVersions(library, "libc.so.6", system),
              ElementsAre("needs GLIBC_2.41 (libc.so.6), this machine has GLIBC_2.36"));
}

TEST(ElfFileTest, VersionsAreNumbers) {
  EXPECT_TRUE(VersionBelow("GLIBC_2.4", "GLIBC_2.36"));
  EXPECT_FALSE(VersionBelow("GLIBC_2.36", "GLIBC_2.4"));
  EXPECT_TRUE(VersionBelow("GLIBC_2.2", "GLIBC_2.2.5"));
  EXPECT_FALSE(VersionBelow("GLIBC_2.2", "GLIBC_2.2"));
}

TEST(ElfFileTest, OnlyStrongSymbolsClash) {
  ElfFile library, host;
  library.exports = {{"crc32", false}, {"_ZNSt6vectorIiE", true}, {"mine", false}};
  host.exports = {{"crc32", false}, {"_ZNSt6vectorIiE", true}};
  EXPECT_THAT(ClashingSymbols(library, host), ElementsAre("crc32"));
}

TEST(ElfFileTest, TellsWhatIsNoLibraryForThisMachine) {
  const auto refused = [](const std::string& bytes) { return ParseElf(bytes).status().message(); };
  EXPECT_THAT(refused(""), HasSubstr("is empty"));
  EXPECT_THAT(refused("#!/bin/sh\n"), HasSubstr("is no ELF file"));
  std::string other = LoadedFile("libc.so.6");
  other[18] = static_cast<char>(EM_RISCV);
  other[19] = 0;
  EXPECT_THAT(refused(other), HasSubstr("is for riscv, this machine is "));
  std::string narrow = LoadedFile("libc.so.6");
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(refused(narrow), HasSubstr("32 bits"));
  std::string object = LoadedFile("libc.so.6");
  object[16] = ET_REL;
  EXPECT_THAT(refused(object), HasSubstr("is an object file"));
}

TEST(ElfFileTest, DamagedFilesAreRefusedOrReadAndNeverReadBehindTheirEnd) {
  const std::string whole = LoadedFile("libgcc_s.so.1");
  Rng rng(11);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    refused += !ParseElf(whole.substr(0, rng.Below(whole.size()))).ok();
    std::string flipped = whole;
    // The tables that it reads stand at the front and at the end.
    for (int k = 0; k < 20; ++k) {
      const uint64_t at = rng.Below(4096);
      flipped[rng.Below(2) == 0 ? at : flipped.size() - 1 - at] = static_cast<char>(rng.Below(256));
    }
    (void)ParseElf(flipped);
  }
  EXPECT_EQ(refused, 300) << "the section headers stand at the end of the file";
}

}  // namespace
}  // namespace mr::ctl
