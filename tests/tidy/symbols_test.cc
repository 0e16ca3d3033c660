// What the pure core links to shows what it does: no clock, chance, thread, lock, log, file or
// unordered container. Reads the undefined symbols of the static libraries.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <regex>

namespace mr::tidy {
namespace {

// Whole names of C functions and fragments of C++ ones.
const char* const kBanned =
    R"(^(clock|clock_gettime|gettimeofday|time|nanosleep|usleep|sleep|rand|random|srand|srandom|drand48|)"
    R"(getrandom|getenv|secure_getenv|open|open64|openat|read|write|fopen|fopen64|fread|fwrite|socket|)"
    R"(fork|pthread_.*|mtx_.*|thrd_.*|syscall|localtime.*|gmtime.*)(@.*)?$)"
    R"(|std::chrono::_V2|random_device|std::thread|std::mutex|std::condition_variable|google::)"
    R"(|_Prime_rehash_policy|std::basic_(i|o)?fstream|std::c(out|err|log)\b|__once_call)";

bool Banned(const std::string& symbol) { return std::regex_search(symbol, std::regex(kBanned)); }

// Returns nothing if nm cannot read the library.
std::optional<std::vector<std::string>> UndefinedSymbols(const char* library) {
  std::vector<std::string> symbols;
  const std::string command = std::string("nm -uC '") + library + "'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  char line[65536];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string text = line;
    const size_t at = text.find(" U ");
    if (at != std::string::npos) symbols.push_back(text.substr(at + 3, text.size() - at - 4));
  }
  if (pclose(pipe) != 0) return std::nullopt;
  return symbols;
}

TEST(SymbolRuleTest, CatchesWhatItIsThereFor) {
  EXPECT_TRUE(Banned("clock_gettime"));
  EXPECT_TRUE(Banned("clock_gettime@GLIBC_2.17"));
  EXPECT_TRUE(Banned("std::chrono::_V2::steady_clock::now()"));
  EXPECT_TRUE(Banned("std::random_device::_M_getval()"));
  EXPECT_TRUE(Banned("pthread_mutex_lock"));
  EXPECT_TRUE(Banned("google::LogMessage::LogMessage(char const*, int)"));
  EXPECT_TRUE(Banned("std::__detail::_Prime_rehash_policy::_M_need_rehash(unsigned long)"));
  EXPECT_FALSE(Banned("malloc"));
  EXPECT_FALSE(Banned("mr::sched::State::SetTimer(int)"));
  EXPECT_FALSE(Banned("fprintf"));
}

class PureLibraryTest : public testing::TestWithParam<const char*> {};

TEST_P(PureLibraryTest, LinksToNothingImpure) {
  const auto symbols = UndefinedSymbols(GetParam());
  ASSERT_TRUE(symbols.has_value()) << "nm could not read " << GetParam();
  for (const std::string& symbol : *symbols) {
    EXPECT_FALSE(Banned(symbol)) << GetParam() << " uses " << symbol;
  }
}

constexpr const char* kNames[] = {"sched", "base", "model", "core", "dfs_meta"};
INSTANTIATE_TEST_SUITE_P(Libraries, PureLibraryTest,
                         testing::Values(MR_SCHED_LIB, MR_BASE_LIB, MR_MODEL_LIB, MR_CORE_LIB, MR_DFS_META_LIB),
                         [](const auto& info) { return std::string(kNames[info.index]); });

}  // namespace
}  // namespace mr::tidy
