#include "jobs/mrctl/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/help.h"
#include "jobs/mrctl/job_file.h"

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Command Parse(const std::vector<std::string>& argv) {
  auto command = ParseCommandLine(argv);
  EXPECT_TRUE(command.ok()) << command.status().ToString();
  return command.ok() ? *command : Command{};
}

Failure Refused(const std::vector<std::string>& argv) {
  auto command = ParseCommandLine(argv);
  EXPECT_FALSE(command.ok());
  return command.ok() ? Failure{} : ToFailure(command.status());
}

TEST(OptionsTest, LettersAreWrittenTogetherAndWithTheirValue) {
  const Command jobs = Parse({"-qvo", "json", "jobs"});
  EXPECT_EQ(jobs.verb, "jobs");
  EXPECT_EQ(jobs.global.form, "json");
  EXPECT_TRUE(jobs.global.quiet && jobs.global.verbose);
  EXPECT_EQ(Parse({"-qojson", "jobs"}).global.form, "json");
  EXPECT_EQ(Parse({"fs", "head", "-n5", "/a"}).lines, 5u);
  const Command grep = Parse({"submit", "--local", "grep", "-qivn", "-A2", "x", "--input", "in"});
  EXPECT_TRUE(grep.global.quiet);
  EXPECT_THAT(grep.submit.job_args, ElementsAre("-ivn", "-A2", "x"));
}

TEST(OptionsTest, AMissingWordAndARepeatedOptionAreNamedPlainly) {
  EXPECT_THAT(Refused({"submit", "--lib", "a.so", "--lib", "b.so", "words"}).message,
              HasSubstr("submit: --lib is given 2 times, and takes one value"));
  EXPECT_THAT(Refused({"task", "replay"}).message, HasSubstr("task replay: ATTEMPT is missing"));
}

TEST(OptionsTest, AProgramNamesTheDescriptorOfItsStatus) {
  EXPECT_EQ(Parse({"submit", "wordcount"}).global.status_fd, -1);
  EXPECT_EQ(Parse({"submit", "--status-fd", "7", "wordcount"}).global.status_fd, 7);
  EXPECT_EQ(Parse({"attach", "--status-fd=7", "last"}).global.status_fd, 7);
  EXPECT_EQ(Refused({"submit", "--status-fd", "-1", "wordcount"}).exit, kExitUsage);
}

TEST(OptionsTest, TakesGlobalOptionsBeforeAndBehindTheVerb) {
  EXPECT_EQ(Parse({"--master", "h:1", "jobs", "-o", "json"}).global.master, "h:1");
  EXPECT_EQ(Parse({"--master", "h:1", "jobs", "-o", "json"}).global.form, "json");
  EXPECT_EQ(Parse({"fs", "ls", "/a", "-o", "ndjson"}).global.form, "ndjson");
}

TEST(OptionsTest, HelpDoesNotShowBoundsThatNobodyReaches) {
  EXPECT_THAT(Parse({"submit", "--help"}).help, testing::Not(HasSubstr("9007199254740992")));
  EXPECT_EQ(Refused({"submit", "wordcount", "--max-bad-records", "99007199254740992"}).exit, kExitUsage);
}

TEST(OptionsTest, TakesANumberOfLocalWorkersOnlyWithAnEqualsSign) {
  EXPECT_EQ(Parse({"submit", "--local", "wordcount"}).submit.local, 2);
  EXPECT_EQ(Parse({"submit", "--local=5", "wordcount"}).submit.local, 5);
  EXPECT_EQ(Parse({"submit", "wordcount", "--local"}).submit.local, 2);
  EXPECT_EQ(Parse({"submit", "wordcount"}).submit.local, 0);
  EXPECT_EQ(Refused({"submit", "--local=100000", "wordcount"}).exit, kExitUsage);
}

TEST(OptionsTest, RepeatsInputsAndKeepsTheirOrder) {
  const Command c = Parse({"submit", "join", "--input", "b", "--left", "k", "--input", "a"});
  EXPECT_THAT(c.submit.inputs, ElementsAre("b", "a"));
  EXPECT_THAT(c.submit.job_args, ElementsAre("--left", "k"));
}

TEST(OptionsTest, NamesTheNearestWordForAMistypedOne) {
  EXPECT_THAT(Refused({"submti", "x"}).message, HasSubstr("did you mean 'submit'"));
  EXPECT_THAT(Refused({"submit", "--ouput", "x", "wordcount"}).message, HasSubstr("did you mean '--output'"));
  EXPECT_EQ(Refused({"job", "shwo", "job_1_0001"}).exit, kExitUsage);
}

TEST(OptionsTest, SuggestsWhatIsMeant) {
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"ps"}, "'jobs'"},
      {{"run", "wordcount"}, "'submit'"},
      {{"wordcount", "--input", "x"}, "'submit wordcount'"},
      {{"ls", "/data"}, "'fs ls'"},
      {{"cat", "/data"}, "'fs cat'"},
      {{"drain", "w1"}, "'worker drain'"},
      {{"status", "1"}, "'job show'"},
      {{"nodes"}, "'workers'"},
      {{"hlep"}, "'help'"},
      {{"job", "shwo", "1"}, "'job show'"},
      {{"job", "list"}, "'jobs'"},
      {{"job", "job_1_0001"}, "'job show'"},
      {{"fs", "-ls", "/"}, "'fs ls'"},
      {{"fs", "lss", "/"}, "'fs ls'"},
      {{"store", "safe"}, "'store safemode'"},
      {{"fs", "put", "--overwite", "a", "/b"}, "'--overwrite'"},
      {{"job", "set", "1", "--prio", "3"}, "'--priority'"},
      {{"submit", "--out", "x", "wordcount"}, "'--output'"},
      {{"--mastr", "x", "jobs"}, "'--master'"},
      {{"jobs", "--masters", "x"}, "'--master'"},
  };
  for (const auto& [words, meant] : kCases) {
    EXPECT_THAT(Refused(words).message, HasSubstr(std::string("(did you mean ") + meant + "?)")) << words.back();
  }
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"frobnicate"}, {"get-pods"}, {"fs", "frobnicate"}, {"submit", "--nodes", "3", "wordcount"}}) {
    EXPECT_THAT(Refused(words).message, testing::Not(HasSubstr("did you mean"))) << words.back();
  }
  EXPECT_THAT(Refused({"fs"}).message, HasSubstr("fs needs a command: ls, put, "));
}

TEST(OptionsTest, HelpOfAVerbIsTheSameEitherWay) {
  EXPECT_THAT(Parse({"help"}).help, HasSubstr("\nRun jobs:\n  submit "));
  EXPECT_THAT(Parse({"help", "job", "show"}).help, HasSubstr("mrctl job show job_1_0001"));
  EXPECT_EQ(Parse({"help", "fs"}).help, Parse({"fs", "--help"}).help);
  EXPECT_THAT(Refused({"help", "jbos"}).message, HasSubstr("did you mean 'jobs'"));
}

TEST(OptionsTest, HelpOfSubmitHasItsOptionsInGroups) {
  const std::string help = Parse({"submit", "--help"}).help;
  EXPECT_THAT(help, HasSubstr("\nUsage: mrctl submit [OPTIONS] JOB [JOB OPTIONS]\n"));
  EXPECT_THAT(help, testing::ContainsRegex("\nInput and output:\n  --input PATH +Input file"));
  EXPECT_THAT(help, testing::ContainsRegex("\nScheduling:\n  --queue QUEUE +"));
  EXPECT_THAT(help, testing::ContainsRegex("\nOptions of all commands:\n  -h, --help .*\n  --master HOST:PORT +"));
  EXPECT_THAT(help, HasSubstr("\n  --local[=N] "));
  EXPECT_THAT(help, testing::Not(HasSubstr("\nOptions:\n"))) << "an option without a group (SubmitGroups)";
  EXPECT_THAT(help, testing::Not(HasSubstr("TEXT"))) << "a value without a name";
}

TEST(OptionsTest, HelpOfEachVerbHasItsFormAndTheOptionsOfAllVerbs) {
  const std::string put = Parse({"fs", "put", "--help"}).help;
  EXPECT_THAT(put, HasSubstr("\nUsage: mrctl fs put [OPTIONS] LOCAL... PATH\n"));
  EXPECT_THAT(put, HasSubstr("\n  -f, --force, --overwrite "));
  EXPECT_THAT(put, HasSubstr("\n  --master HOST:PORT "));
  EXPECT_THAT(Parse({"fs", "--help"}).help, HasSubstr("\nUsage: mrctl fs [OPTIONS] COMMAND\n"));
  EXPECT_THAT(Parse({"store", "safemode", "--help"}).help, HasSubstr("safemode [OPTIONS] [STATE]\n"));
}

TEST(OptionsTest, HelpOfAJobIsThatOfSubmitWithTheJob) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"help", "wordcount"}, {"help", "submit", "wordcount"}, {"submit", "wordcount", "--help"}}) {
    const Command c = Parse(words);
    EXPECT_EQ(c.verb, "submit");
    EXPECT_EQ(c.submit.job, "wordcount");
    EXPECT_TRUE(c.submit.job_help);
  }
  const Command own = Parse({"help", "--lib", "libx.so", "mine"});
  EXPECT_EQ(own.submit.job, "mine");
  EXPECT_EQ(own.submit.lib, "libx.so");
  EXPECT_THAT(Refused({"help", "wordcuont"}).message, HasSubstr("did you mean 'wordcount'"));
  EXPECT_THAT(Refused({"help", "mine"}).hint, HasSubstr("mrctl help --lib FILE JOB"));
}

TEST(HelpTest, OfAJobHasUsageOptionsAndAnExample) {
  EXPECT_EQ(JobHelp("wordcount", "count the words\n  --conf a=b    why"),
            "Count the words\n\nUsage: mrctl submit [OPTIONS] wordcount [JOB OPTIONS]\n\n"
            "Options of the job:\n  --conf a=b    why\n\n"
            "Options of submit stand before or behind the job: mrctl submit --help\n\n"
            "Example:\n  mrctl submit --local wordcount --input book.txt --output counts\n");
  EXPECT_THAT(JobHelp("mine", "do it"), HasSubstr("Do it\n\nUsage: mrctl submit --lib FILE [OPTIONS] mine "));
  EXPECT_THAT(JobHelp("mine", ""), testing::Not(HasSubstr("Example")));
}

TEST(HelpTest, AJobOfALibraryShowsTheOptionsThatItsPlanDeclares) {
  EXPECT_EQ(OptionsInRefusal("mine: options:\n  --top N\n  --name TEXT"), "  --top N\n  --name TEXT\n");
  EXPECT_EQ(OptionsInRefusal("mine: options:"), "The job declares no options.\n");
  EXPECT_EQ(OptionsInRefusal("mine: unknown option '--help'; its options are --top, --name"), "  --top\n  --name\n");
  EXPECT_EQ(OptionsInRefusal("mine: unknown option '--help'; it has no options"), "The job declares no options.\n");
  EXPECT_EQ(OptionsInRefusal("mine: give it a file"), std::nullopt);
}

TEST(HelpTest, OptionsThatTheHelpOfAJobLeavesOutAreFound) {
  const std::string options = "  --top N\n  --to TEXT\n  --conf depth=VALUE\n  ARGUMENT...\n";
  EXPECT_EQ(UnlistedOptions(options, "finds words\n  --top N  how many, with --conf depth=N"), "  --to TEXT\n");
  EXPECT_EQ(UnlistedOptions(options, "finds words\n  --to=TEXT"), "  --top N\n  --conf depth=VALUE\n");
  EXPECT_EQ(UnlistedOptions("The job declares no options.\n", "finds words\n"), "");
}

TEST(HelpTest, WrapsAtWordsAndKeepsLongOnes) {
  EXPECT_EQ(Wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrapped("one\ntwo", 8, 1), "one\n two");
  EXPECT_EQ(Wrapped("immeasurable it", 5, 0), "immeasurable\nit");
  EXPECT_EQ(Wrapped("", 8, 2), "");
}

TEST(OptionsTest, APutTakesOneReplicaOrMore) {
  EXPECT_FALSE(ParseCommandLine({"fs", "put", "--replication", "0", "in", "/in"}).ok());
  const auto put = ParseCommandLine({"fs", "put", "--replication", "1", "in", "/in"});
  ASSERT_TRUE(put.ok()) << put.status().ToString();
  EXPECT_EQ(put->replication, 1);
}

TEST(OptionsTest, OfAQueueOnlyWhatIsGivenIsSet) {
  const Command c = Parse({"queue", "set", "night", "--weight", "2.5", "--max-share", "7"});
  EXPECT_EQ(c.verb, "queue");
  EXPECT_THAT(c.args, ElementsAre("night"));
  EXPECT_EQ(c.weight, 2.5);
  EXPECT_EQ(c.max_share, 7u);
  EXPECT_FALSE(c.min_share.has_value());
  EXPECT_EQ(Refused({"queue", "set", "night", "--min-share", "-1"}).exit, kExitUsage);
  EXPECT_EQ(Refused({"queue", "set"}).exit, kExitUsage);
  EXPECT_EQ(Refused({"queue"}).exit, kExitUsage);
}

TEST(OptionsTest, WhatifTakesAJobAndWhatIsToBeOtherwise) {
  const Command c =
      Parse({"whatif", "job_1_0002", "--scheduler", "fair,late(cap=0.2)", "--workers", "16", "--slots", "4"});
  EXPECT_EQ(c.verb, "whatif");
  EXPECT_THAT(c.args, ElementsAre("job_1_0002"));
  EXPECT_EQ(c.whatif.scheduler, "fair,late(cap=0.2)");
  EXPECT_EQ(c.whatif.workers, 16u);
  EXPECT_EQ(c.whatif.slots, 4u);
  EXPECT_EQ(Refused({"whatif", "job_1_0002", "--workers", "0"}).exit, kExitUsage);
}

TEST(OptionsTest, WhatifComparesListsOnAllJobs) {
  const Command c = Parse({"whatif", "--since", "2d", "--local", "--compare", "default", "fair --workers 20"});
  EXPECT_TRUE(c.args.empty());
  EXPECT_THAT(c.whatif.compare, ElementsAre("default", "fair --workers 20"));
  EXPECT_EQ(c.whatif.since, "2d");
  EXPECT_TRUE(c.local_runs);
  EXPECT_THAT(Parse({"whatif", "local_0001", "--compare", "fair"}).args, ElementsAre("local_0001"));
}

TEST(OptionsTest, SchedulersTakesNothing) {
  EXPECT_EQ(Parse({"schedulers"}).verb, "schedulers");
  EXPECT_EQ(Refused({"schedulers", "fair"}).exit, kExitUsage);
}

TEST(OptionsTest, RefusesACommandWithoutItsArgument) {
  EXPECT_EQ(Refused({}).exit, kExitUsage);
  EXPECT_EQ(Refused({"submit"}).exit, kExitUsage);
  EXPECT_EQ(Refused({"kill"}).exit, kExitUsage);
  EXPECT_EQ(Refused({"fs"}).exit, kExitUsage);
  EXPECT_EQ(Refused({"submit", "wordcount", "--input"}).exit, kExitUsage);
}

TEST(OptionsTest, AVerbWithoutItsPathsNamesItsOwnHelp) {
  for (const char* verb : {"ls", "put", "head"}) {
    const Failure failure = Refused({"fs", verb});
    EXPECT_EQ(failure.exit, kExitUsage);
    EXPECT_EQ(failure.message, "fs " + std::string(verb) + ": its paths are missing");
    EXPECT_TRUE(failure.hint.ends_with("mrctl fs " + std::string(verb) + " --help shows its form")) << failure.hint;
  }
}

TEST(OptionsTest, AListingWithoutAPathNamesTheOneOfTheRoot) {
  EXPECT_EQ(Refused({"fs", "ls"}).hint, "mrctl fs ls / lists the root directory; mrctl fs ls --help shows its form");
  EXPECT_EQ(Refused({"fs", "cat"}).hint, "mrctl fs cat --help shows its form");
}

TEST(OptionsTest, ExplainIsSubmitThatStopsAtThePlan) {
  EXPECT_TRUE(Parse({"explain", "wordcount"}).submit.dry_run);
  EXPECT_FALSE(Parse({"submit", "wordcount"}).submit.dry_run);
}

TEST(JobFileTest, FillsInWhatTheCommandLineLeftOpen) {
  auto table = ParseToml(
      "job = 'sort'\nargs = ['--numeric']\noutput = '/file'\nreduces = 7\n"
      "input = ['a', 'b']\n[conf]\nsort_buffer = '4m'\n",
      "x.toml");
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  SubmitOptions options;
  options.job = "x.toml";
  options.output = "/flag";
  options.job_args = {"--more"};
  ASSERT_TRUE(ApplyJobFile(*table, "x.toml", &options).ok());
  EXPECT_EQ(options.job, "sort");
  EXPECT_EQ(options.output, "/flag");
  EXPECT_EQ(options.reduces, 7u);
  EXPECT_THAT(options.inputs, ElementsAre("a", "b"));
  EXPECT_THAT(options.conf, ElementsAre("sort_buffer=4m"));
  EXPECT_THAT(options.job_args, ElementsAre("--numeric", "--more"));
}

TEST(JobFileTest, HasSideFilesAndALimitOfBadRecords) {
  SubmitOptions options;
  ASSERT_TRUE(ApplyJobFile(*ParseToml("job='a'\nfiles=['x#n', 'y']\nmax_bad_records=7\n", "t"), "t", &options).ok());
  EXPECT_THAT(options.files, ElementsAre("x#n", "y"));
  EXPECT_EQ(options.max_bad_records, 7u);
}

TEST(JobFileTest, AByteThatIsNotUtf8IsRefusedWithItsLine) {
  const auto table = ParseToml("job = 'a'\n'\xd8./' = 'b'\n", "x.toml");
  EXPECT_EQ(table.status().code(), Code::kInvalidArgument);
  EXPECT_NE(table.status().message().find("x.toml:2"), std::string::npos) << table.status().message();
  EXPECT_NE(table.status().message().find("UTF-8"), std::string::npos) << table.status().message();
}

TEST(JobFileTest, MeansTheSameAsJsonAndAsToml) {
  SubmitOptions from_toml, from_json;
  ASSERT_TRUE(ApplyJobFile(*ParseToml("job='a'\noverwrite=true\ninput='i'\n", "t"), "t", &from_toml).ok());
  ASSERT_TRUE(
      ApplyJobFile(*ParseJsonTable(R"({"job":"a","overwrite":true,"input":["i"]})", "j"), "j", &from_json).ok());
  EXPECT_EQ(from_toml.job, from_json.job);
  EXPECT_TRUE(from_toml.overwrite && from_json.overwrite);
  EXPECT_EQ(from_toml.inputs, from_json.inputs);
}

TEST(JobFileTest, RefusesAnUnknownKeyWithTheNearestOne) {
  SubmitOptions options;
  const Status status = ApplyJobFile(*ParseToml("job='a'\noutptu='x'\n", "x.toml"), "x.toml", &options);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("did you mean 'output'"));
}

TEST(JobFileTest, SaysWhereAFileIsWrong) {
  EXPECT_THAT(ParseToml("job = 'a'\nreduces = = 3\n", "x.toml").status().message(), HasSubstr("x.toml:2"));
  EXPECT_EQ(ParseJsonTable("{\"job\": ", "x.json").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseJsonTable("[1]", "x.json").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace mr::ctl
