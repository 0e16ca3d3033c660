// Reads of files behind URLs, from a server that also fails, lies and changes.
#include "common/url/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <future>

#include "common/base/digest.h"
#include "tests/common/url/server.h"

namespace mr::url {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::string Lines(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

ReaderOptions OptionsFor(const TestServer& server) {
  ReaderOptions options;
  options.roots = UrlRoots::Parse(server.Url("/data") + ",s3://bucket/in").value();
  options.s3_endpoint = ParseUrl(server.Url("/")).value();
  options.s3_region = "eu-test-1";
  options.first_wait = Millis(1);
  options.tries = 3;
  return options;
}

struct Got {
  std::string bytes;
  ReadEnd end;
};
Got ReadAll(const Reader& reader, const FilePart& part) {
  Got got;
  got.end = reader.Read(
      part,
      [&got](std::string_view bytes) {
        got.bytes += bytes;
        return Status::Ok();
      },
      nullptr);
  return got;
}

FilePart PartOf(const InputFile& file, uint64_t offset, uint64_t length) {
  return {file.uri, offset, length, file.bytes, file.id, file.whole};
}

TEST(UrlReaderTest, ReadsRangesOfOneVersion) {
  const std::string text = Lines(20'000);
  TestServer server([&](const TestRequest& request) { return RangeAnswer(request, text, "\"v1\""); });
  const Reader reader(OptionsFor(server));
  const auto files = reader.Expand(server.Url("/data/a.txt"));
  ASSERT_TRUE(files.ok()) << files.status().message();
  ASSERT_THAT(*files, SizeIs(1));
  const InputFile& file = files->front();
  EXPECT_EQ(file.bytes, text.size());
  EXPECT_EQ(file.head, text.substr(0, 16));
  EXPECT_FALSE(file.whole);
  EXPECT_NE(file.id, 0u);
  const Got got = ReadAll(reader, PartOf(file, 1000, 100'000));
  EXPECT_TRUE(got.end.status.ok()) << got.end.status.message();
  EXPECT_EQ(got.bytes, text.substr(1000, 100'000));
  EXPECT_EQ(server.requests().back().Header("range"), "bytes=1000-100999");
  EXPECT_EQ(server.requests().back().Header("accept-encoding"), "identity");
  EXPECT_EQ(ReadAll(reader, PartOf(file, 0, text.size())).bytes, text);
  EXPECT_EQ(server.connections(), 1) << "connections are used again";
}

TEST(UrlReaderTest, AChangedFileIsNotRead) {
  std::string text = "one\n", etag = "\"v1\"";
  TestServer server([&](const TestRequest& request) { return RangeAnswer(request, text, etag); });
  const Reader reader(OptionsFor(server));
  const InputFile file = reader.Expand(server.Url("/data/a"))->front();
  const auto changed = [&] {
    const Got got = ReadAll(reader, PartOf(file, 0, 4));
    EXPECT_TRUE(got.end.status.ok()) << got.end.status.message();
    EXPECT_EQ(got.bytes, "");
    return got.end.changed;
  };
  etag = "\"v2\"";
  EXPECT_THAT(changed(), AllOf(HasSubstr("has changed since the job was planned"), HasSubstr("ETag: \"v2\"")));
  etag = "";
  EXPECT_THAT(changed(), HasSubstr("neither an ETag nor a date"));
  etag = "\"v1\"";
  text = "longer\n";
  EXPECT_THAT(changed(), HasSubstr("7 bytes, planned 4"));
  text = "";
  EXPECT_THAT(changed(), HasSubstr("shorter"));
  EXPECT_THAT(server.requests(), SizeIs(5)) << "a change is final";
}

TEST(UrlReaderTest, WithoutAnEtagTheDateIsTheVersion) {
  std::string date = "Mon, 01 Jan 2024 00:00:00 GMT";
  TestServer server([&](const TestRequest& request) {
    TestAnswer answer = RangeAnswer(request, "text\n", "");
    answer.headers.push_back("Last-Modified: " + date);
    return answer;
  });
  const Reader reader(OptionsFor(server));
  const InputFile file = reader.Expand(server.Url("/data/a"))->front();
  EXPECT_EQ(ReadAll(reader, PartOf(file, 0, 5)).bytes, "text\n");
  date = "Mon, 01 Jan 2024 00:00:01 GMT";
  EXPECT_THAT(ReadAll(reader, PartOf(file, 0, 5)).end.changed, HasSubstr("00:00:01"));
}

TEST(UrlReaderTest, AServerWithoutRangesSendsTheFileToOneReader) {
  const std::string text = Lines(5000);
  TestServer server([&](const TestRequest&) { return TestAnswer{200, {"ETag: \"v1\""}, text}; });
  const Reader reader(OptionsFor(server));
  const InputFile file = reader.Expand(server.Url("/data/a"))->front();
  EXPECT_TRUE(file.whole);
  EXPECT_EQ(file.bytes, text.size());
  EXPECT_EQ(file.head, text.substr(0, 16));
  EXPECT_EQ(ReadAll(reader, PartOf(file, 0, text.size())).bytes, text);
  EXPECT_EQ(ReadAll(reader, PartOf(file, 300, 50)).bytes, text.substr(300, 50));
  FilePart part = PartOf(file, 300, 50);
  part.whole = false;
  EXPECT_THAT(ReadAll(reader, part).end.status.message(), HasSubstr("now the whole file"));
}

TEST(UrlReaderTest, AnEmptyFileHasNoBytes) {
  TestServer server([&](const TestRequest& request) { return RangeAnswer(request, "", "\"v1\""); });
  const auto files = Reader(OptionsFor(server)).Expand(server.Url("/data/a"));
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files->front().bytes, 0u);
}

TEST(UrlReaderTest, AFileWithoutAFirstByteIsEmpty) {
  TestServer server([](const TestRequest&) { return TestAnswer{416, {}, "no such range"}; });
  const auto files = Reader(OptionsFor(server)).Expand(server.Url("/data/a"));
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files->front().bytes, 0u);
}

TEST(UrlReaderTest, ContinuesWhereAnAnswerBrokeOff) {
  const std::string text = Lines(5000);
  int served = 0;
  TestServer server([&](const TestRequest& request) {
    TestAnswer answer = RangeAnswer(request, text, "\"v1\"");
    if (++served == 2) answer.cut = 30'000;
    if (served == 3) answer = {503, {}, "busy"};
    return answer;
  });
  const Reader reader(OptionsFor(server));
  const InputFile file = reader.Expand(server.Url("/data/a"))->front();
  const Got got = ReadAll(reader, PartOf(file, 10, 40'000));
  EXPECT_TRUE(got.end.status.ok()) << got.end.status.message();
  EXPECT_EQ(Hash64(got.bytes), Hash64(text.substr(10, 40'000)));
  EXPECT_EQ(server.requests().back().Header("range"), "bytes=30010-40009");
}

TEST(UrlReaderTest, GivesUpAfterItsTries) {
  TestServer server([](const TestRequest&) { return TestAnswer{503, {}, "busy"}; });
  const Reader reader(OptionsFor(server));
  const auto files = reader.Expand(server.Url("/data/a"));
  EXPECT_EQ(files.status().code(), Code::kRejected) << "a client repeats kUnavailable, as if the master were away";
  EXPECT_THAT(files.status().message(), AllOf(HasSubstr("3 tries"), HasSubstr("503"), HasSubstr("next:")));
  EXPECT_THAT(server.requests(), SizeIs(3));
  EXPECT_EQ(ReadAll(reader, {server.Url("/data/a"), 0, 1, 1, 0, false}).end.status.code(), Code::kUnavailable);
}

TEST(UrlReaderTest, AnswersThatNoTryMendsEndAtOnce) {
  TestAnswer answer;
  TestServer server([&](const TestRequest&) { return answer; });
  const Reader reader(OptionsFor(server));
  const auto refused = [&](const TestAnswer& now) {
    answer = now;
    const size_t before = server.requests().size();
    const auto files = reader.Expand(server.Url("/data/a"));
    EXPECT_FALSE(files.ok());
    EXPECT_EQ(server.requests().size(), before + 1);
    return files.status();
  };
  EXPECT_EQ(refused({404, {}, ""}).code(), Code::kNotFound);
  EXPECT_EQ(refused({403, {}, ""}).code(), Code::kNotAllowed);
  EXPECT_EQ(refused({400, {}, "x"}).code(), Code::kRejected);
  const Status moved = refused({302, {"Location: https://other.example/a?X-Amz-Signature=hush"}, ""});
  EXPECT_EQ(moved.code(), Code::kRejected);
  EXPECT_THAT(moved.message(), AllOf(HasSubstr("redirects to https://other.example/a?..."), Not(HasSubstr("hush"))));
  EXPECT_THAT(refused({206, {"Content-Range: bytes 0-0/*"}, "a"}).message(), HasSubstr("does not say how long"));
}

TEST(UrlReaderTest, OtherBytesThanAskedForAreNotTaken) {
  TestServer server([](const TestRequest& request) {
    TestAnswer answer = RangeAnswer(request, "0123456789", "");
    if (request.Header("range") != "bytes=0-15") {
      answer = {206, {"Content-Range: bytes 0-3/10"}, "0123"};
    }
    return answer;
  });
  const Reader reader(OptionsFor(server));
  const InputFile file = reader.Expand(server.Url("/data/a"))->front();
  const Got got = ReadAll(reader, PartOf(file, 4, 4));
  EXPECT_EQ(got.bytes, "");
  EXPECT_THAT(got.end.status.message(), HasSubstr("other bytes"));
}

TEST(UrlReaderTest, UrlsOutsideOfTheRootsAreNotAskedFor) {
  TestServer server([](const TestRequest& request) { return RangeAnswer(request, "x", ""); });
  const Reader reader(OptionsFor(server));
  EXPECT_EQ(reader.Expand(server.Url("/other/a")).status().code(), Code::kNotAllowed);
  EXPECT_EQ(ReadAll(reader, {server.Url("/other/a"), 0, 1, 1, 0, false}).end.status.code(), Code::kNotAllowed);
  EXPECT_EQ(reader.Expand("s3://bucket/other").status().code(), Code::kNotAllowed);
  EXPECT_EQ(reader.Expand("s3://bucket/i*").status().code(), Code::kNotAllowed) << "lists more than the root";
  EXPECT_THAT(server.requests(), SizeIs(0));
  const auto none = MakeReader({});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
  EXPECT_THAT(NoReader("https://h/a").message(), HasSubstr("--url_roots: none"));
}

TEST(UrlReaderTest, ACancelledReadEnds) {
  TestServer server([](const TestRequest&) { return TestAnswer{503, {}, ""}; });
  ReaderOptions options = OptionsFor(server);
  options.tries = 1000;
  const Reader reader(options);
  std::atomic<int> polls = 0;
  const ReadEnd end = reader.Read(
      {server.Url("/data/a"), 0, 1, 1, 0, false}, [](std::string_view) { return Status::Ok(); },
      [&polls] { return ++polls > 5; });
  EXPECT_EQ(end.status.code(), Code::kCancelled);
}

TEST(UrlReaderTest, AStoppedReaderEndsItsListsAndTakesNoMore) {
  TestServer server([](const TestRequest&) { return TestAnswer{503, {}, ""}; });
  ReaderOptions options = OptionsFor(server);
  options.list_tries = 1'000'000;
  const Reader reader(options);
  std::promise<void> begun;
  Status ended;
  reader.Post([&] {
    begun.set_value();
    ended = reader.Expand(server.Url("/data/a")).status();
  });
  begun.get_future().wait();
  reader.Stop();
  EXPECT_EQ(ended.code(), Code::kCancelled);
  reader.Post([] { ADD_FAILURE() << "it is stopped"; });
}

TEST(UrlReaderTest, AFullDiskEndsARead) {
  TestServer server([](const TestRequest& request) { return RangeAnswer(request, "text", ""); });
  const Reader reader(OptionsFor(server));
  const ReadEnd end = reader.Read(
      {server.Url("/data/a"), 0, 4, 4, 0, false},
      [](std::string_view) { return Status(Code::kOverloaded, "no space"); }, nullptr);
  EXPECT_EQ(end.status.code(), Code::kOverloaded);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(UrlReaderTest, ListsAPrefixOfABucketInPagesAndSigns) {
  TestServer server([](const TestRequest& request) {
    EXPECT_THAT(request.Header("authorization"), HasSubstr("/eu-test-1/s3/aws4_request"));
    if (request.target.starts_with("/bucket/?")) {
      EXPECT_THAT(request.target, HasSubstr("list-type=2&prefix=in%2F"));
      const bool second = request.target.find("continuation-token=t%2F1") != std::string::npos;
      const auto object = [](const std::string& key) {
        return "<Contents><Key>" + key + "</Key><Size>3</Size><ETag>\"e\"</ETag></Contents>";
      };
      return TestAnswer{200,
                        {},
                        "<ListBucketResult>" +
                            (second ? object("in/sub/a.csv") + object("in/sub/_SUCCESS")
                                    : object("in/b.csv") + object("in/.hidden/x") + object("in/dir/") +
                                          "<IsTruncated>true</IsTruncated><NextContinuationToken>t/1"
                                          "</NextContinuationToken>") +
                            "</ListBucketResult>"};
    }
    if (request.target != "/bucket/in/b.csv") return TestAnswer{404, {}, "<Code>NoSuchKey</Code>"};
    return RangeAnswer(request, "abc", "\"e\"");
  });
  ReaderOptions options = OptionsFor(server);
  options.s3_keys = []() -> Result<S3Keys> { return S3Keys{"ID", Secret<std::string>("hush"), {}}; };
  const Reader reader(options);
  const auto names = [&](const std::string& uri) {
    const auto files = reader.Expand(uri);
    EXPECT_TRUE(files.ok()) << files.status().message();
    std::vector<std::string> out;
    for (size_t i = 0; files.ok() && i < files->size(); ++i) out.push_back((*files)[i].uri);
    return out;
  };
  EXPECT_THAT(names("s3://bucket/in/"), ElementsAre("s3://bucket/in/b.csv", "s3://bucket/in/sub/a.csv"));
  EXPECT_THAT(names("s3://bucket/in"), ElementsAre("s3://bucket/in/b.csv", "s3://bucket/in/sub/a.csv"));
  EXPECT_THAT(names("s3://bucket/in/b.csv"), ElementsAre("s3://bucket/in/b.csv"));
  EXPECT_THAT(names("s3://bucket/in/*.csv"), ElementsAre("s3://bucket/in/b.csv"));
  EXPECT_THAT(names("s3://bucket/in/s*"), ElementsAre("s3://bucket/in/sub/a.csv"));
  EXPECT_EQ(reader.Expand("s3://bucket/in/*.txt").status().code(), Code::kNotFound);
  const auto listed = reader.Expand("s3://bucket/in/")->front();
  EXPECT_EQ(ReadAll(reader, PartOf(listed, 1, 2)).bytes, "bc") << "the listing's ETag is that of the object";
}

TEST(UrlReaderTest, ABucketElsewhereNamesTheSettingsThatLeadThere) {
  TestServer server([](const TestRequest&) { return TestAnswer{301, {}, "<Error><Code>PermanentRedirect</Code>"}; });
  const auto files = Reader(OptionsFor(server)).Expand("s3://bucket/in/a");
  EXPECT_EQ(files.status().code(), Code::kRejected);
  EXPECT_THAT(files.status().message(), AllOf(HasSubstr("301 (PermanentRedirect)"), HasSubstr("--s3_region"),
                                              HasSubstr("--s3_endpoint"), Not(HasSubstr("nowhere"))));
}

TEST(UrlReaderTest, PagesOfAListingMayBeEmptyButNotForEver) {
  bool ends = true;
  int pages = 0;
  TestServer server([&](const TestRequest&) {
    const std::string next = std::to_string(++pages);
    if (ends && pages == 3) {
      return TestAnswer{200,
                        {},
                        "<ListBucketResult><Contents><Key>in/a</Key><Size>3</Size><ETag>\"e\"</ETag></Contents>"
                        "</ListBucketResult>"};
    }
    return TestAnswer{200,
                      {},
                      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" + next +
                          "</NextContinuationToken></ListBucketResult>"};
  });
  const Reader reader(OptionsFor(server));
  const auto files = reader.Expand("s3://bucket/in/");
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_THAT(*files, SizeIs(1));
  ends = false;
  EXPECT_THAT(reader.Expand("s3://bucket/in/").status().message(), HasSubstr("does not come to an end"));
}

// Sets a variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

TEST(UrlReaderTest, AnUnusableEnvironmentRefusesOnlyTheInputsThatNeedIt) {
  TestServer server([](const TestRequest& request) { return RangeAnswer(request, "text", "\"v1\""); });
  const Variable ca("SSL_CERT_FILE", "/no/such/file"), endpoint("AWS_ENDPOINT_URL", "localhost:4566");
  Settings settings;
  settings.roots = "any";
  const auto reader = MakeReader(settings);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_TRUE((*reader)->Expand(server.Url("/a")).ok());
  const Status https = (*reader)->Expand("https://127.0.0.1:1/a").status();
  EXPECT_EQ(https.code(), Code::kInvalidArgument);
  EXPECT_THAT(https.message(), AllOf(HasSubstr("SSL_CERT_FILE: /no/such/file"), Not(HasSubstr("--url_ca"))));
  const Status s3 = (*reader)->Expand("s3://bucket/a").status();
  EXPECT_EQ(s3.code(), Code::kInvalidArgument);
  EXPECT_THAT(s3.message(), AllOf(HasSubstr("AWS_ENDPOINT_URL"), Not(HasSubstr("--s3_endpoint"))));
}

TEST(UrlReaderTest, ThePathOfAnEndpointIsEncodedOnce) {
  TestServer server([](const TestRequest& request) { return RangeAnswer(request, "text", "\"v1\""); });
  Settings settings;
  settings.roots = "s3://bucket";
  settings.s3_endpoint = server.Url("/a%20b/");
  const auto reader = MakeReader(settings);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_TRUE((*reader)->Expand("s3://bucket/c").ok());
  EXPECT_EQ(server.requests().back().target, "/a%20b/bucket/c");
}

TEST(UrlReaderTest, AnyUrlIsNoRootThatHasASpecialAddress) {
  ReaderOptions options;
  options.roots = UrlRoots::Any();
  const Reader reader(options);
  for (const char* uri : {"http://169.254.169.254/latest/meta-data", "http://2852039166/", "http://[fe80::1]/"}) {
    EXPECT_EQ(reader.Expand(uri).status().code(), Code::kNotAllowed) << uri;
  }
}

TEST(UrlReaderTest, KeyFilesOfOthersAreRefused) {
  Settings settings;
  settings.roots = "s3://bucket";
  settings.s3_keys = "/proc/self/status";
  EXPECT_THAT(MakeReader(settings).status().message(), HasSubstr("--s3_keys"));
  settings.s3_keys = "";
  settings.s3_endpoint = "s3://bucket";
  EXPECT_THAT(MakeReader(settings).status().message(), HasSubstr("--s3_endpoint"));
  settings.s3_endpoint = "";
  settings.ca = "/no/such/file";
  EXPECT_THAT(MakeReader(settings).status().message(), HasSubstr("--url_ca"));
  settings.ca = "";
  EXPECT_TRUE(MakeReader(settings).ok());
}

TEST(HttpGetTest, NamesMustNotLeadToSpecialAddresses) {
  const HttpClient client({});
  for (const char* address : {"169.254.169.254", "0.0.0.0", "224.0.0.1", "[fe80::1]", "[::]",
                              "[::ffff:169.254.169.254]", "[fd00:ec2::254]"}) {
    HttpGet get;
    get.url = std::string("http://") + address + "/latest/meta-data";
    get.on_head = [](const HttpHead&) { return Status::Ok(); };
    get.on_bytes = [](std::string_view) -> Result<bool> { return true; };
    EXPECT_EQ(client.Get(get).code(), Code::kNotAllowed) << address << ", as if a name led there";
  }
}

TEST(HttpGetTest, ProxiesOfTheEnvironmentAreNotUsed) {
  TestServer server([](const TestRequest& request) { return RangeAnswer(request, "text", ""); });
  ASSERT_EQ(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
  const auto files = Reader(OptionsFor(server)).Expand(server.Url("/data/a"));
  unsetenv("http_proxy");
  EXPECT_TRUE(files.ok()) << files.status().message();
}

TEST(ContentRangeTest, IsReadStrictly) {
  const auto range = ParseContentRange("bytes 5-9/20");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 5u);
  EXPECT_EQ(range->end, 10u);
  EXPECT_EQ(range->total, 20u);
  EXPECT_EQ(ParseContentRange("bytes */0")->total, 0u);
  EXPECT_FALSE(ParseContentRange("bytes 5-9/*")->total);
  for (const char* wrong :
       {"", "bytes", "bytes 5-9", "bytes 9-5/20", "bytes 5-20/20", "bytes -5/20", "bytes */*", "bytes 5-9/x",
        "lines 5-9/20", "bytes 5-18446744073709551615/*", "bytes 5-99999999999999999999/*"}) {
    EXPECT_FALSE(ParseContentRange(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace mr::url
