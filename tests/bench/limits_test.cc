// The limits of ./dev bench speed give the answers of coreutils and awk.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

class LimitsTest : public testing::Test {
 protected:
  // Makes a file by an awk program.
  std::string Make(const std::string& name, const std::string& awk) {
    const std::string path = directory_.path() + "/" + name;
    test::Shell("LC_ALL=C awk '" + awk + "' > " + path + " < /dev/null");
    return path;
  }
  // Returns the digest of a program's output.
  static std::string Sum(const std::string& script) {
    return test::Shell("set -o pipefail; export LC_ALL=C; (" + script + ") | sha256sum");
  }
  std::string Run(const std::string& limit, const std::string& inputs) {
    const std::string out = directory_.path() + "/out";
    test::Shell(test::BinaryDirectory() + "/" + limit + " " + inputs + " " + out + " 2>&1");
    return out;
  }
  test::TempDirectory directory_;
};

TEST_F(LimitsTest, SortGivesRecordsInTheOrderOfTheirKeys) {
  const std::string in =
      Make("records",
           "BEGIN { srand(1); for (i = 0; i < 30000; ++i) { k = \"\";"
           " for (j = 0; j < 10; ++j) k = k substr(\"abcXYZ09~!\", 1 + int(rand() * (j < 7 ? 3 : 10)), 1);"
           " printf \"%s%89d\\n\", k, i } }");
  EXPECT_EQ(Sum("cat " + Run("limit_sort", in)), Sum("sort -s -k1.1,1.10 " + in));
}

TEST_F(LimitsTest, SortTakesEmptyInputsSingleRecordsAndEqualKeys) {
  for (const int n : {0, 1, 5000}) {
    const std::string in =
        Make("records", "BEGIN { for (i = 0; i < " + std::to_string(n) + "; ++i) printf \"samesame++%89d\\n\", i }");
    EXPECT_EQ(Sum("cat " + Run("limit_sort", in)), Sum("cat " + in)) << n;
  }
}

TEST_F(LimitsTest, WordCountGivesEachWordInOrder) {
  // Words of all lengths, many of them long with equal beginnings, and enough of them for tables to grow.
  const std::string in = Make("text",
                              "BEGIN { srand(2); for (i = 0; i < 400000; ++i) { n = int(rand() * rand() * 150000);"
                              " printf \"%s%d%s\", i % 3 ? \"w\" : \"a_long_word_of_its_own_\", n,"
                              " i % 11 == 0 ? \"\\r\\n\\v\" : i % 7 == 0 ? \"\\t \\f\" : \" \" } print \"last\" }");
  const std::string out = Run("limit_wordcount", in);
  const std::string counted =
      "tr -s '\\t\\v\\f\\r ' '\\n' < " + in + " | sed '/^$/d' | sort | uniq -c | awk '{print $2 \"\\t\" $1}'";
  EXPECT_EQ(Sum("cat " + out + ".0 " + out + ".1"), Sum(counted + " | sort -t '\t' -k1,1"));
}

TEST_F(LimitsTest, WordCountTakesZeroesControlBytesAndNoWords) {
  const std::string in = directory_.path() + "/text";
  for (const auto& text :
       {std::string(), std::string(" \n"), std::string("a a\0 a\1 a\0 a\0\0b \xff\x80 0123456789abcdef x", 37)}) {
    std::ofstream(in, std::ios::binary) << text;
    const std::string out = Run("limit_wordcount", in);
    EXPECT_EQ(Sum("cat " + out + ".0 " + out + ".1 | sort"),
              Sum("tr ' ' '\\n' < " + in +
                  " | sed '/^$/d' | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)$/\\2\\t\\1/' | sort"));
  }
}

TEST_F(LimitsTest, JoinGivesAllPairs) {
  // Ids are absent on either side or repeated, also long ones.
  const std::string left =
      Make("left",
           "BEGIN { srand(3); print \"id,name\"; for (i = 0; i < 20000; ++i)"
           " printf \"%s%d,name%d\\n\", i % 9 ? \"\" : \"an_id_that_is_longer\", rand() * 15000, i }");
  const std::string right =
      Make("right",
           "BEGIN { srand(4); print \"id,amount,note\"; for (i = 0; i < 40000; ++i)"
           " printf \"%s%d,%d,n%d\\n\", i % 9 ? \"\" : \"an_id_that_is_longer\", rand() * 20000, rand() * 99, i }");
  const auto sorted = [](const std::string& path) { return "<(tail -n +2 " + path + " | sort -t, -k1,1)"; };
  const std::string out = Run("limit_join", left + " " + right);
  EXPECT_EQ(Sum("cat " + out + ".0 " + out + ".1 | sort"),
            Sum("join -t, " + sorted(left) + " " + sorted(right) + " | sort"));
}

TEST_F(LimitsTest, AggregateCountsAndSumsExactly) {
  // Hundredths, negative numbers, empty fields; more groups than the first table has room for.
  const std::string in =
      Make("rows",
           "BEGIN { srand(5); print \"id,amount,note\"; for (i = 0; i < 60000; ++i)"
           " printf \"%d,%s,%s%d\\n\", i, i % 13 == 0 ? \"\" : i % 5 == 0 ? sprintf(\"-%d.25\", rand() * 999) :"
           " int(rand() * 10000), i % 8 ? \"note\" : \"a_note_that_is_longer\", i % 3001 }");
  EXPECT_EQ(Sum("sort " + Run("limit_aggregate", in)),
            Sum("tail -n +2 " + in +
                " | awk -F, '{ ++n[$3]; s[$3] += $2 * 100 } END { for (k in n) { v = sprintf(\"%.2f\", s[k] / 100);"
                " sub(/\\.?0+$/, \"\", v); if (v == \"\" || v == \"-\") v = 0; print k \",\" n[k] \",\" v } }'"
                " | sort"));
}

}  // namespace
}  // namespace mr::bench
