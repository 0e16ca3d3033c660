// The record of a dead process, and the translation of its stack.
#include "worker/task/crash_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "common/io/files.h"
#include "worker/task/frames.h"

namespace mr::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct CrashPlaceTest : testing::Test {
  CrashPlaceTest() { page_.record = task::kNoRecord; }
  static void Note(const std::string& text, char* to, std::atomic<uint32_t>* bytes) {
    memcpy(to, text.data(), text.size());
    bytes->store(static_cast<uint32_t>(text.size()));
  }
  task::ProgressPage page_{};
};

TEST_F(CrashPlaceTest, IsEmptyOutsideOfABatch) {
  page_.records = 7;
  EXPECT_EQ(task::CrashPlace(page_), "");
}

TEST_F(CrashPlaceTest, CountsRecordsOverAllBatches) {
  page_.records = 110;
  page_.batch_records = 10;
  EXPECT_EQ(task::CrashPlace(page_), "one of the records 101 to 110 of its input");
  page_.record = 3;
  EXPECT_EQ(task::CrashPlace(page_), "record 104 of its input");
  page_.record = task::kNoRecord;
  page_.batch_records = 1;
  EXPECT_EQ(task::CrashPlace(page_), "record 110 of its input");
}

TEST_F(CrashPlaceTest, ShowsKeyAndValueEscapedAndCut) {
  page_.records = page_.batch_records = 2;
  page_.record = 1;
  Note("k\n'", page_.crash.key, &page_.crash.key_bytes);
  Note(std::string(task::CrashNote::kMostShown, 'v'), page_.crash.value, &page_.crash.value_bytes);
  Note("file:///a, byte 0", page_.crash.place, &page_.crash.place_bytes);
  EXPECT_EQ(task::CrashPlace(page_), "record 2 of its input, key 'k\\n\\'', value '" + std::string(64, 'v') +
                                         "...', in the batch that begins at file:///a, byte 0");
  EXPECT_EQ(task::CrashPlace(page_, "file:///a, byte 7"),
            "record 2 of its input, key 'k\\n\\'', value '" + std::string(64, 'v') + "...', in file:///a, byte 7");
}

TEST_F(CrashPlaceTest, AnExactPlaceALineAndAGroupAreNamedAsSuch) {
  page_.records = page_.batch_records = 2;
  page_.record = 1;
  Note("line", page_.crash.value, &page_.crash.value_bytes);
  Note("file:///a, byte 9", page_.crash.place, &page_.crash.place_bytes);
  page_.crash.exact = 1;
  EXPECT_EQ(task::CrashPlace(page_), "record 2 of its input, 'line', in file:///a, byte 9");
  page_.crash.about = task::CrashNote::kLine;
  EXPECT_EQ(task::CrashPlace(page_), "a line of its input, 'line', in file:///a, byte 9");
  Note("group", page_.crash.key, &page_.crash.key_bytes);
  page_.crash.about = task::CrashNote::kGroup;
  EXPECT_EQ(task::CrashPlace(page_), "key 'group'");
  page_.batch_records = 0;
  EXPECT_EQ(task::CrashPlace(page_), "key 'group'") << "at the operator's end";
}

TEST_F(CrashPlaceTest, TrustsNoLengthOfThePage) {
  page_.records = 3;
  page_.batch_records = 5;
  EXPECT_EQ(task::CrashPlace(page_), "");
  page_.batch_records = 3;
  page_.record = 9;
  page_.crash.key_bytes = page_.crash.value_bytes = page_.crash.place_bytes = 0xffffffff;
  EXPECT_THAT(task::CrashPlace(page_), StartsWith("one of the records 1 to 3 of its input, key '"));
}

__attribute__((noinline)) void FunctionWithAName() { asm volatile(""); }

TEST(FramesTest, AnAddressBecomesTheNameOfItsFunction) {
  const auto maps = task::ParseMaps(ReadFile("/proc/self/maps").value());
  const auto address = reinterpret_cast<uint64_t>(&FunctionWithAName);
  EXPECT_THAT(task::StackText(maps, {address, address + 1}, ""),
              AllOf(StartsWith("  #0 mr::worker::(anonymous namespace)::FunctionWithAName()+0x0 ("),
                    HasSubstr("\n  #1 mr::worker::(anonymous namespace)::FunctionWithAName()+0x1 (")));
}

__attribute__((noinline)) std::string WithAString(const std::map<std::string, std::vector<std::string_view>>&) {
  asm volatile("");
  return "";
}

TEST(FramesTest, NamesAreShortAndARecursionIsOneCall) {
  const auto maps = task::ParseMaps(ReadFile("/proc/self/maps").value());
  const auto address = reinterpret_cast<uint64_t>(&FunctionWithAName) + 1;
  const std::string text = task::StackText(maps, {address, address, address, address}, "");
  EXPECT_THAT(text, AllOf(HasSubstr("#0 "), HasSubstr("#1 "), Not(HasSubstr("#2 ")),
                          HasSubstr("\n  ... 2 more of the same function\n")));
  const auto named = reinterpret_cast<uint64_t>(&WithAString);
  EXPECT_THAT(task::StackText(maps, {named}, ""),
              AllOf(HasSubstr("WithAString(std::map<std::string, std::vector<...>> const&)+0x0 ("),
                    Not(HasSubstr("allocator"))));
}

TEST(FramesTest, TheHostsCallsAreLeftOutBelowTheOperatorsOnly) {
  const std::vector<task::MappedFile> files = {{0x1000, 0x2000, 0, "/lib/op.so"}, {0x5000, 0x6000, 0, "/bin/host"}};
  EXPECT_EQ(task::StackText(files, {0x1010, 0x1020, 0x5010, 0x1030}, "/bin/host"),
            "  #0 ?? (op.so+0x10)\n  #1 ?? (op.so+0x20)\n");
  EXPECT_THAT(task::StackText(files, {0x5010, 0x1010, 0x5020}, "/bin/host"),
              AllOf(HasSubstr("#0 ?? (host+0x10)"), HasSubstr("#1 ?? (op.so+0x10)"), Not(HasSubstr("#2"))));
  const std::string library = "/lib/" + std::string(64, 'a');
  EXPECT_EQ(task::StackText({{0x1000, 0x2000, 0, library}}, {0x1010}, ""),
            "  #0 ?? (operator library aaaaaaaaaaaa+0x10)\n");
  EXPECT_EQ(task::StackText(files, {0}, "/bin/host"), "  #0 ?? (0x0)\n") << "a call of a null pointer";
}

TEST(FramesTest, LinesInlinedCallsAndTheCallsOfTheAdapterComeFromTheSource) {
  const std::vector<task::MappedFile> files = {{0x1000, 0x2000, 0, "/lib/op.so"},
                                               {0x5000, 0x6000, 0, "/lib/libc.so.6"}};
  const auto source = [](uint64_t address) -> std::vector<task::SourceCall> {
    if (address > 0x5000) return {};  // the C library has no debug information
    if (address == 0x100f) return {{"inner", "/home/me/src/a.cc", 7}, {"outer", "b.cc", 9}};
    return {{"mr::sdk::Adapter<Op>::Batch(void*, mr_batch const*)", "/usr/include/paceline/adapter.h", 1},
            {"x", "", 0}};
  };
  EXPECT_EQ(task::StackText(files, {0x5100, 0x5110, 0x1010, 0x1020, 0x1030}, "", source),
            "  #1 ?? (libc.so.6+0x110)\n  #2 inner at src/a.cc:7\n  #3 ?? at b.cc:9 (op.so+0x10)\n");
  EXPECT_THAT(task::StackText(files, {0x1020}, "", source), HasSubstr("mr::sdk::Adapter<Op>::Batch"))
      << "all that there is of the operator";
}

TEST(FramesTest, MapsAreParsed) {
  const auto maps = task::ParseMaps(
      "7f00-7f10 r-xp 00002000 08:01 1234    /a b/lib.so\n"
      "7f10-7f20 rw-p 00000000 00:00 0 \n"
      "7f20-7f30 rw-p 00000000 00:00 0       [heap]\nnonsense\n");
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].begin, 0x7f00u);
  EXPECT_EQ(maps[0].end, 0x7f10u);
  EXPECT_EQ(maps[0].offset, 0x2000u);
  EXPECT_EQ(maps[0].path, "/a b/lib.so");
}

}  // namespace
}  // namespace mr::worker
