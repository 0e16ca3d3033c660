#include "master/web/hosts.h"

#include <gtest/gtest.h>

namespace mr::web {
namespace {

const Hosts kHosts({" Paceline.example:8443 ", ""});

TEST(HostsTest, NumbersLocalhostAndKnownNamesAreServed) {
  for (const char* host : {"localhost", "localhost:7080", "127.0.0.1:7080", "10.1.2.3", "[::1]:7080", "[fe80::1]",
                           "paceline.example", "Paceline.Example:443"}) {
    EXPECT_TRUE(kHosts.Check(host, "", "", false).ok()) << host;
  }
}

// A page of evil.example that lets its name point here sends it as the Host.
TEST(HostsTest, OtherNamesAreRefused) {
  for (const char* host : {"evil.example", "evil.example:7080", "localhost.evil.example", "127.0.0.1.evil.example", "",
                           "paceline.example.", "[", "1a.example"}) {
    EXPECT_EQ(kHosts.Check(host, "", "", true).code(), Code::kRejected) << host;
  }
}

TEST(HostsTest, APageOfAnotherSiteMayNotRead) {
  EXPECT_TRUE(kHosts.Check("localhost:7080", "http://localhost:7080", "same-origin", false).ok());
  EXPECT_TRUE(kHosts.Check("paceline.example", "https://paceline.example", "same-origin", false).ok());
  for (const char* origin : {"http://evil.example", "null", "http://", "localhost", "https://localhost.evil.example"}) {
    EXPECT_EQ(kHosts.Check("localhost", origin, "", false).code(), Code::kRejected) << origin;
  }
  EXPECT_EQ(kHosts.Check("localhost", "", "cross-site", false).code(), Code::kRejected);
  EXPECT_TRUE(kHosts.Check("localhost", "", "cross-site", true).ok()) << "a link that was followed";
}

}  // namespace
}  // namespace mr::web
