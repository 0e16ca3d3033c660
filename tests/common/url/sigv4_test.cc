// AWS Signature Version 4, by AWS's published examples.
#include "common/url/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::url {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// "Examples: Signature Calculations", Amazon S3 API Reference.
S3Keys S3ExampleKeys() {
  return {"AKIAIOSFODNN7EXAMPLE", Secret<std::string>("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), {}};
}
SignedRequest S3Example() {
  SignedRequest request;
  request.unix_seconds = 1369353600;  // 2013-05-24
  request.payload_sha256 = kEmptySha256;
  request.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                     {"x-amz-content-sha256", kEmptySha256},
                     {"x-amz-date", "20130524T000000Z"}};
  return request;
}

// The test suite of Signature Version 4 ("aws-sig-v4-test-suite").
S3Keys SuiteKeys() { return {"AKIDEXAMPLE", Secret<std::string>("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), {}}; }
SignedRequest SuiteRequest() {
  SignedRequest request;
  request.path = "/";
  request.unix_seconds = 1440938160;  // 2015-08-30T12:36:00Z
  request.service = "service";
  request.payload_sha256 = kEmptySha256;
  request.headers = {{"host", "example.amazonaws.com"}, {"x-amz-date", "20150830T123600Z"}};
  return request;
}

std::string SignatureOf(const SignedRequest& request, const S3Keys& keys) {
  const std::string text = Authorization(request, keys);
  return text.substr(text.find("Signature=") + 10);
}

TEST(SigV4Test, EqualsTheExamplesOfS3) {
  SignedRequest get = S3Example();
  get.path = "/test.txt";
  get.headers.emplace_back("range", "bytes=0-9");
  EXPECT_EQ(Authorization(get, S3ExampleKeys()),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  SignedRequest lifecycle = S3Example();
  lifecycle.path = "/";
  lifecycle.query = {{"lifecycle", ""}};
  EXPECT_EQ(SignatureOf(lifecycle, S3ExampleKeys()),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  SignedRequest list = S3Example();
  list.path = "/";
  list.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(SignatureOf(list, S3ExampleKeys()), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4Test, EqualsTheTestSuite) {
  EXPECT_EQ(SignatureOf(SuiteRequest(), SuiteKeys()),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  SignedRequest order = SuiteRequest();
  order.query = {{"Param2", "value2"}, {"Param1", "value1"}};
  EXPECT_EQ(SignatureOf(order, SuiteKeys()), "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  SignedRequest utf8 = SuiteRequest();
  utf8.path = "/\xe1\x88\xb4";
  EXPECT_EQ(SignatureOf(utf8, SuiteKeys()), "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
}

TEST(SigV4Test, HeadersHaveTheTokenAndNeverTheSecret) {
  SignedRequest get;
  get.path = "/b/k";
  get.headers = {{"host", "s3.us-east-1.amazonaws.com"}, {"range", "bytes=0-9"}};
  S3Keys keys = S3ExampleKeys();
  keys.token = Secret<std::string>("TOKEN");
  const auto lines = S3Headers(get, keys);
  EXPECT_THAT(lines, Contains("x-amz-security-token: TOKEN"));
  EXPECT_THAT(lines, Contains("range: bytes=0-9"));
  EXPECT_THAT(lines,
              Contains(HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token")));
  for (const std::string& line : lines) EXPECT_THAT(line, Not(HasSubstr("wJalr")));
  EXPECT_THAT(S3Headers(get, {}), Not(Contains(StartsWith("Authorization")))) << "without keys";
}

TEST(S3KeysTest, ReadsTheDefaultSectionOfAFile) {
  const auto keys =
      ParseS3Keys(Secret<std::string>("# mine\n[other]\naws_access_key_id=X\naws_secret_access_key=Y\n"
                                      "[default]\r\naws_access_key_id = AKID\r\n"
                                      "aws_secret_access_key=a/b+c=\naws_session_token = T\n"));
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  EXPECT_EQ(keys->id, "AKID");
  EXPECT_EQ(keys->secret.Reveal(), "a/b+c=");
  EXPECT_EQ(keys->token.Reveal(), "T");
  EXPECT_TRUE(ParseS3Keys(Secret<std::string>("aws_access_key_id=A\naws_secret_access_key=B")).ok());
  for (const char* wrong :
       {"", "hush", "aws_access_key_id = hush", "[other]\naws_access_key_id=hush\naws_secret_access_key=hush",
        "aws_access_key_id=hu sh\naws_secret_access_key=hush"}) {
    const auto refused = ParseS3Keys(Secret<std::string>(wrong));
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument) << wrong;
    EXPECT_THAT(refused.status().message(), Not(HasSubstr("hu")));
  }
}

}  // namespace
}  // namespace mr::url
