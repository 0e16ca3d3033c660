#include "paceline/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace mr {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parsed {
  bool flag = false;
  int64_t number = 1;
  std::string text, error;
  std::vector<std::string> list, rest;
};

Parsed Parse(const std::vector<std::string>& args, bool takes_rest = true) {
  Parsed p;
  Args parser("job");
  parser.Add("-v", &p.flag).Add("--number", &p.number, 1, 10);
  parser.Add("--text", &p.text).Add("-e", &p.list);
  if (takes_rest) parser.Rest(&p.rest);
  try {
    parser.Parse(args);
  } catch (const JobError& e) {
    p.error = e.what();
  }
  return p;
}

TEST(ArgsTest, TakesOptionsInBothForms) {
  const Parsed p = Parse({"-e", "-v", "--number=7", "file", "--text", "a=b", "-e", "x", "--", "-v"});
  EXPECT_EQ(p.error, "");
  EXPECT_THAT(p.list, ElementsAre("-v", "x"));
  EXPECT_EQ(p.number, 7);
  EXPECT_EQ(p.text, "a=b");
  EXPECT_FALSE(p.flag);
  EXPECT_THAT(p.rest, ElementsAre("file", "-v"));
}

TEST(ArgsTest, LettersAreWrittenTogetherAndWithTheirValueAsGetoptReadsThem) {
  struct Letters {
    bool i = false, v = false;
    int64_t n = 0;
    std::string k, error;
    std::vector<std::string> rest;
  };
  const auto parse = [](const std::vector<std::string>& args) {
    Letters l;
    Args parser("job");
    parser.Add("-i", &l.i).Add("-v", &l.v).Add("-n", &l.n).Add("-k", &l.k).Add("--key", &l.k).Rest(&l.rest);
    try {
      parser.Parse(args);
    } catch (const JobError& e) {
      l.error = e.what();
    }
    return l;
  };
  EXPECT_EQ(parse({"-n5"}).n, 5);
  EXPECT_EQ(parse({"-k2,2n"}).k, "2,2n");
  EXPECT_EQ(parse({"-k-v"}).k, "-v");
  EXPECT_EQ(parse({"-k=2"}).k, "=2") << "getopt takes all that follows the letter";
  const Letters all = parse({"-ivn", "7", "-vk", "-x", "word"});
  EXPECT_EQ(all.error, "");
  EXPECT_TRUE(all.i && all.v);
  EXPECT_EQ(all.n, 7);
  EXPECT_EQ(all.k, "-x");
  EXPECT_THAT(all.rest, ElementsAre("word"));
  EXPECT_THAT(parse({"-ixn"}).error, HasSubstr("unknown option '-x' in '-ixn'; its options are -i, -v, -n, -k, --key"));
  EXPECT_THAT(parse({"-xi"}).error, HasSubstr("unknown option '-xi';"));
  EXPECT_THAT(parse({"-in"}).error, HasSubstr("-n needs a value"));
  EXPECT_THAT(parse({"-n5x"}).error, HasSubstr("-n expects a whole number, not '5x'"));
  EXPECT_THAT(parse({"-key", "2"}).error, "") << "-k with the value ey";
}

TEST(ArgsTest, SaysWhatIsWrong) {
  EXPECT_THAT(Parse({"--numbr", "3"}).error, HasSubstr("did you mean '--number'?"));
  EXPECT_THAT(Parse({"--number", "3x"}).error, HasSubstr("whole number, not '3x'"));
  EXPECT_THAT(Parse({"--number", "11"}).error, HasSubstr("1 to 10"));
  EXPECT_THAT(Parse({"--text"}).error, HasSubstr("needs a value"));
  EXPECT_THAT(Parse({"file"}, false).error, HasSubstr("takes no argument 'file'"));
  EXPECT_THAT(Parse({"--quite-unlike"}).error, testing::Not(HasSubstr("did you mean")));
}

TEST(ArgsTest, HelpListsWhatIsDeclared) {
  EXPECT_EQ(Parse({"--help"}).error, "job: options:\n  -v\n  --number N\n  --text TEXT\n  -e TEXT...\n  ARGUMENT...");
  EXPECT_EQ(Parse({"--text", "--help"}).text, "--help");
  bool own = false;
  Args("job").Add("--help", &own).Parse({"--help"});
  EXPECT_TRUE(own) << "a job may have a --help of its own";
}

TEST(ArgsTest, SizesHaveUnitsOrAreBytes) {
  const auto size = [](const std::string& text, int64_t least = 0, int64_t most = int64_t{1} << 40) -> std::string {
    int64_t bytes = -1;
    Args parser("job");
    parser.AddBytes("--most", &bytes, least, most);
    try {
      parser.Parse({"--most", text});
    } catch (const JobError& e) {
      return e.what();
    }
    return std::to_string(bytes);
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(size("8388607t", 0, kMost), std::to_string(int64_t{8388607} << 40));
  for (const char* beyond : {"8388608t", "16777216t", "16777217t", "9007199254740992k", "9223372036854775808"}) {
    EXPECT_THAT(size(beyond, 0, kMost), HasSubstr("is out of range")) << beyond;
  }
  EXPECT_EQ(size("0"), "0");
  EXPECT_EQ(size("1000"), "1000");
  EXPECT_EQ(size("4k"), "4096");
  EXPECT_EQ(size("64m"), "67108864");
  EXPECT_EQ(size("2G"), "2147483648");
  EXPECT_EQ(size("1t"), "1099511627776");
  for (const char* bad : {"", "m", "6x", "64mb", "1.5g", "6@", "m6"}) {
    EXPECT_THAT(size(bad), HasSubstr("--most expects a size such as 64m")) << bad;
  }
  for (const char* outside : {"2t", "9223372036854775807", "99999999999999999999", "8388608t", "-1", "-1k"}) {
    EXPECT_THAT(size(outside), HasSubstr("0 to 1099511627776 bytes")) << outside;
  }
}

TEST(SuggestTest, TheOtherCaseIsNearAndAnotherLetterIsAnotherName) {
  EXPECT_EQ(Suggest("USER", {"used", "user"}), " (did you mean 'user'?)");
  EXPECT_EQ(Suggest("X", {"a", "x"}), " (did you mean 'x'?)");
  EXPECT_EQ(Suggest("x", {"a", "id"}), "");
}

}  // namespace
}  // namespace mr
