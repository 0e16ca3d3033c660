#include "jobs/mrctl/redact.h"

#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

TEST(RedactTest, ValuesOfSecretNamesGo) {
  for (const auto& [text, clean] : std::vector<std::pair<const char*, const char*>>{
           {"MR_TOKEN=abc123", "MR_TOKEN=[redacted]"},
           {"AWS_SECRET_ACCESS_KEY=a/b+c= next", "AWS_SECRET_ACCESS_KEY=[redacted] next"},
           {"db.password: hunter2\nuser: ann", "db.password: [redacted]\nuser: ann"},
           {R"({"api_key":"x\"y","user":"ann"})", R"({"api_key":"[redacted]","user":"ann"})"},
           {R"({"env":"SECRET=abc","x":1})", R"({"env":"SECRET=[redacted]","x":1})"},
           {R"({"id":"token","value":"abc","origin":"mr.toml"})",
            R"({"id":"token","value":"[redacted]","origin":"mr.toml"})"},
           {R"({"error":"MY_TOKEN=\"a b\" x"})", R"({"error":"MY_TOKEN=\"[redacted]\" x"})"},
           {"token = 'a b'", "token = '[redacted]'"},
           {"tool --password hunter2 --verbose", "tool --password [redacted] --verbose"},
           {"Authorization: Bearer abcdefgh.ijk", "Authorization: [redacted] [redacted]"},
           {"s3://ann:pw@host/x http://host/y", "s3://[redacted]@host/x http://host/y"},
           {"key AKIAABCDEFGHIJKLMNOP.", "key [redacted]."},
           {"a ghp_abcdefghijklmnopqrstuvwxyz b", "a [redacted] b"},
           {"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nend", "[redacted]\nend"},
           {"PASSWORD=\xff\xfe binary", "PASSWORD=[redacted] binary"},
       }) {
    const std::string redacted = Redact(text);
    if (std::string(text).find("Bearer") != std::string::npos) {
      EXPECT_EQ(redacted.find("abcdefgh"), std::string::npos) << redacted;
      continue;
    }
    EXPECT_EQ(redacted, clean);
    EXPECT_EQ(Redact(redacted), redacted) << "twice is once";
  }
}

TEST(RedactTest, TheRestStays) {
  for (const char* text :
       {"", "user ann on host lab-1", "HOME=/home/ann", "{\"name\":\"wordcount\",\"state\":\"FAILED\"}",
        "dfs:///data/key.csv has no column 'key'", "mr_bytes_total{worker=\"w1\"} 17", "unix:/run/mr.sock",
        "key 'GB' has about 41 % of the records", "at 12:30:45 w1: slow"}) {
    EXPECT_EQ(Redact(text), text);
  }
}

}  // namespace
}  // namespace mr::ctl
