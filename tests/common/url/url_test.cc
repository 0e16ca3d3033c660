// Which URLs jobs may name, and which of them lie below a root.
#include "common/url/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/url/url_roots.h"

namespace mr::url {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Normal(const std::string& text) {
  const auto url = ParseUrl(text);
  return url.ok() ? url->Text() : "refused: " + url.status().message();
}

TEST(UrlTest, OnePlaceHasOneText) {
  EXPECT_EQ(Normal("https://Data.Example.COM:443"), "https://data.example.com/");
  EXPECT_EQ(Normal("https://data.example.com./a"), "https://data.example.com/a");
  EXPECT_EQ(Normal("http://h:80/a%41%7e%2bb?x=%41"), "http://h/aA~%2Bb?x=%41");
  EXPECT_EQ(Normal("http://h:8080/a%c3%a9"), "http://h:8080/a%C3%A9");
  EXPECT_EQ(Normal("http://0x7f.1/"), "http://127.0.0.1/");
  EXPECT_EQ(Normal("http://2852039166/x"), "http://169.254.169.254/x");
  EXPECT_EQ(Normal("http://[::1]:90/x"), "http://[::1]:90/x");
  EXPECT_EQ(Normal("s3://bucket"), "s3://bucket/");
  EXPECT_EQ(Normal("s3://bucket/a b/%2e?*"), "s3://bucket/a b/%2e?*") << "keys are not encoded";
}

TEST(UrlTest, RefusesWhatServersReadInSeveralWays) {
  for (const char* text : {"http://h/a/../b",
                           "http://h/..",
                           "http://h/a/%2e%2E/b",
                           "http://h/./b",
                           "http://h/a%2fb",
                           "http://h/a%5Cb",
                           "http://h/a\\b",
                           "http://h/a%00",
                           "http://h/a%0d%0aX: 1",
                           "http://h/%",
                           "http://h/%zz",
                           "http://h/a b",
                           "http://h/\xc3\xa9",
                           "http://h/a#b",
                           "http:///a",
                           "http://h:0/",
                           "http://h:70000/",
                           "ftp://h/a",
                           "file:///a",
                           "http://a%41/",
                           "HTTP://h/",
                           "s3://b",
                           "s3://Bucket/k",
                           "s3:///k",
                           "s3://bucket/../k",
                           "s3://bucket/a\nb",
                           ""}) {
    EXPECT_EQ(ParseUrl(text).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseUrl("http://h/" + std::string(5000, 'a')).status().code(), Code::kInvalidArgument);
}

TEST(UrlTest, RefusesSecretsWithoutRepeatingThem) {
  for (const char* text :
       {"https://ann:hush@h/a", "https://hush@h/", "https://h/a?X-Amz-Credential=1&X-Amz-Signature=hush",
        "https://h/a?AWSAccessKeyId=hush", "https://h/a?sv=2024&sig=hush",
        "https://h/a?Expires=1&Signature=hush&Key-Pair-Id=K", "https://h/a?GoogleAccessId=hush"}) {
    const auto url = ParseUrl(text);
    EXPECT_EQ(url.status().code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(url.status().message(), Not(HasSubstr("hush")));
  }
}

TEST(UrlTest, QueriesThatOnlyResembleSecretsAreRead) {
  EXPECT_TRUE(ParseUrl("https://h/a?design=1&countersignature=2").ok());
}

TEST(UrlTest, KnowsNumericHosts) {
  for (const char* text : {"http://127.0.0.1/", "http://169.254.169.254/", "http://[fe80::1]/"}) {
    EXPECT_TRUE(ParseUrl(text)->literal()) << text;
  }
  for (const char* text : {"http://localhost/", "http://10.0.0.1.example.com/", "s3://127.0.0.1/"}) {
    EXPECT_FALSE(ParseUrl(text)->literal()) << text;
  }
}

TEST(UrlRootsTest, LetInWhatIsBelowARootAndNothingElse) {
  const auto roots = UrlRoots::Parse("https://data.example.com/public/,http://10.0.0.5:9000,s3://logs/2024").value();
  const auto allowed = [&roots](const std::string& text) {
    const auto url = ParseUrl(text);
    return url.ok() && roots.Check(*url).ok();
  };
  for (const char* inside : {"https://data.example.com/public", "https://DATA.example.com:443/public/a.csv",
                             "https://data.example.com/pub%6cic/a", "https://data.example.com/public/a?x=1",
                             "http://10.0.0.5:9000/any/thing", "s3://logs/2024/a", "s3://logs/2024"}) {
    EXPECT_TRUE(allowed(inside)) << inside;
  }
  for (const char* outside :
       {"http://data.example.com/public/a", "https://data.example.com/", "https://data.example.com/publicity/a",
        "https://data.example.com/Public/a", "https://data.example.com:8443/public/a",
        "https://data.example.com.evil.org/public/a", "https://evil.org/public/a",
        "https://data.example.com/public/../secret", "https://data.example.com/public/..;/secret",
        "https://data.example.com/public/%2e%2e%3Bx/secret", "https://data.example.com/public/%2e%2e/secret",
        "https://data.example.com@evil.org/public/a", "http://10.0.0.5/x", "http://10.0.0.50:9000/x",
        "http://169.254.169.254/latest/meta-data", "s3://logs/2025/a", "s3://logs/20245", "s3://logs-2/2024/a",
        "https://logs/2024/a"}) {
    EXPECT_FALSE(allowed(outside)) << outside;
  }
}

TEST(UrlRootsTest, WithoutRootsTheErrorNamesTheFlag) {
  for (const char* none : {"", "none"}) {
    const auto roots = UrlRoots::Parse(none).value();
    EXPECT_TRUE(roots.none());
    const Status status = roots.Check(*ParseUrl("https://h/a"));
    EXPECT_EQ(status.code(), Code::kNotAllowed);
    EXPECT_THAT(status.message(), HasSubstr("next: add a URL that it begins with to --url_roots of the master"));
  }
  EXPECT_TRUE(UrlRoots::Parse("any")->Check(*ParseUrl("https://h/a")).ok());
  for (const char* wrong : {"h/a", "https://h/a?b=1", "https://ann@h/", "https://h/../a", "any,https://h/"}) {
    EXPECT_EQ(UrlRoots::Parse(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace mr::url
