// mrtask plan | check | version as mrctl calls them: JSON on stdout, or a reason on stderr and 2.
#include <stdio.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

namespace {

using nlohmann::json;

struct Ran {
  int code = -1;  // exit code, or 128 + signal
  std::string out;
};

// stdout and stderr together.
Ran Mrtask(const std::string& args) {
  Ran ran;
  FILE* pipe = popen(("exec " MRTASK_PATH " " + args + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.out.append(buffer, n);
  const int status = pclose(pipe);
  ran.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ran;
}

#define EXPECT_REFUSED(args, reason)                               \
  do {                                                             \
    const Ran ran = Mrtask(args);                                  \
    EXPECT_EQ(ran.code, 2) << ran.out;                             \
    EXPECT_NE(ran.out.find(reason), std::string::npos) << ran.out; \
  } while (false)

TEST(CheckTest, PrintsWhatALibraryOffers) {
  const Ran ran = Mrtask("check " TEST_LIBRARY);
  ASSERT_EQ(ran.code, 0) << ran.out;
  const json got = json::parse(ran.out);
  EXPECT_EQ(got["jobs"],
            json::parse(R"([{"name": "count", "help": "counts words"}, {"name": "sized", "help": "plans by sizes"}])"));
  EXPECT_EQ(got["built_with"], "test");
  EXPECT_EQ(got["operators"][0], json::parse(R"({"name": "tokens", "flags": 17})"));
}

TEST(CheckTest, RefusesWhatIsNoLibraryOfOperators) {
  EXPECT_REFUSED("check /nowhere.so", "No such file");
  EXPECT_REFUSED("check " MRTASK_PATH, "cannot load operator library");
  EXPECT_REFUSED("check " BROKEN_DIR "/libbroken_nothing.so", "does not export mr_library_table()");
  EXPECT_REFUSED("check " BROKEN_DIR "/libbroken_abi.so", "built for operator ABI 99");
  EXPECT_REFUSED("check " BROKEN_DIR "/libbroken_magic.so", "wrong magic");
  EXPECT_REFUSED("check " BROKEN_DIR "/libbroken_undefined.so", "a_symbol_that_nobody_has");
}

TEST(CheckTest, DiesAloneWithALibraryThatCrashesWhenLoaded) {
  EXPECT_GT(Mrtask("check " BROKEN_DIR "/libbroken_crash.so").code, 128);
}

TEST(PlanTest, PrintsPlanAndFlags) {
  const Ran ran = Mrtask("plan " TEST_LIBRARY " count");
  ASSERT_EQ(ran.code, 0) << ran.out;
  const json got = json::parse(ran.out);
  EXPECT_EQ(got["plan"]["stages"][0]["operator"], "tokens");
  EXPECT_EQ(got["operators"], json::parse(R"({"tokens": 17})"));
}

TEST(PlanTest, TellsAJobTheSizesThatAreKnownAndAsksForTheOthersOnce) {
  const auto names = [](const json& got) {
    std::string all;
    for (const json& stage : got["plan"]["stages"]) all += stage["name"].get<std::string>() + "; ";
    return all;
  };
  const Ran first = Mrtask("plan " TEST_LIBRARY " sized a b a");
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_EQ(names(json::parse(first.out)), "memory 0; a unknown; b unknown; a unknown; ");
  EXPECT_EQ(json::parse(first.out)["wants_bytes"], json::parse(R"(["a", "b"])"));
  const Ran second = Mrtask("plan --memory 99 --bytes 5 a --bytes 0 b " TEST_LIBRARY " sized a b a");
  ASSERT_EQ(second.code, 0) << second.out;
  EXPECT_EQ(names(json::parse(second.out)), "memory 99; a 5; b 0; a 5; ");
  EXPECT_FALSE(json::parse(second.out).contains("wants_bytes"));
  const Ran old = Mrtask("plan --memory 99 --bytes 5 a " TEST_LIBRARY " count");
  ASSERT_EQ(old.code, 0) << old.out;
  EXPECT_FALSE(json::parse(old.out).contains("wants_bytes"));
  EXPECT_REFUSED("plan --memory x " TEST_LIBRARY " count", "plan takes");
}

TEST(PlanTest, RefusesWithTheReason) {
  EXPECT_REFUSED("plan " TEST_LIBRARY " cuont", "did you mean 'count'");
  const Ran refused = Mrtask("plan " TEST_LIBRARY " count refuse");
  EXPECT_EQ(refused.code, 3) << "other arguments may do";
  EXPECT_NE(refused.out.find("count: no thanks"), std::string::npos) << refused.out;
  EXPECT_REFUSED("plan " TEST_LIBRARY " count wrong", "this config is wrong");
  EXPECT_REFUSED("plan " TEST_LIBRARY " count unknown", "did you mean 'tokens'");
  EXPECT_REFUSED("plan " TEST_LIBRARY " count nojson", "no valid plan document");
}

TEST(MrtaskTest, RefusesUnknownModes) {
  EXPECT_REFUSED("frobnicate", "usage:");
  EXPECT_EQ(Mrtask("version").code, 0);
}

}  // namespace
