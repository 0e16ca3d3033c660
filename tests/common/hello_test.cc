#include "common/rpc/hello.h"

#include <gtest/gtest.h>

#include "common/rpc/connection.h"

namespace mr::rpc {
namespace {

TEST(HelloTest, ComesBackAsItWasSent) {
  const Hello in{.role = Role::kWorker, .cluster_id = 9, .incarnation = 8};
  const auto out = DecodeHello(EncodeHello(in));
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->role, Role::kWorker);
  EXPECT_EQ(out->incarnation, 8u);
}

TEST(HelloTest, OtherProtocolsAndStrangersAreToldApart) {
  auto bytes = EncodeHello({});
  bytes[8] = 99;
  EXPECT_EQ(DecodeHello(bytes).status().code(), Code::kUnavailable);
  bytes[0] = 'G';
  EXPECT_EQ(DecodeHello(bytes).status().code(), Code::kInvalidArgument);
}

TEST(HelloTest, UnknownRolesAndContentAreRefused) {
  const auto with = [](size_t at, uint8_t value) {
    auto bytes = EncodeHello({.role = Role::kWorker, .cluster_id = 9, .incarnation = 8});
    bytes[at] = value;
    return DecodeHello(bytes).status().code();
  };
  for (size_t at = 40; at < kHelloBytes; ++at) EXPECT_EQ(with(at, 1), Code::kInvalidArgument) << at;
  EXPECT_EQ(with(36, kHelloFlags), Code::kOk);
  EXPECT_EQ(with(36, kHelloFlags + 1), Code::kInvalidArgument);
  for (size_t at = 37; at < 40; ++at) EXPECT_EQ(with(at, 1), Code::kInvalidArgument) << at;
  EXPECT_EQ(with(12, 0), Code::kInvalidArgument);
  EXPECT_EQ(with(12, static_cast<uint8_t>(Role::kJoin) + 1), Code::kInvalidArgument);
  EXPECT_EQ(with(12, static_cast<uint8_t>(Role::kJoin)), Code::kOk);
}

TEST(HostPortTest, NeedsBothParts) {
  EXPECT_EQ(ParseHostPort("127.0.0.1:7070")->second, 7070);
  for (const char* text : {"", "host", ":1", "host:", "host:0", "host:99999", "a:b:1"}) {
    EXPECT_FALSE(ParseHostPort(text).ok()) << text;
  }
}

TEST(UnixAddressTest, APathIsAbsoluteAndFitsASocketAddress) {
  EXPECT_EQ(*ParseUnixPath("unix:/run/p/m"), "/run/p/m");
  EXPECT_EQ(*ParseUnixPath("host:1"), "");
  EXPECT_TRUE(CheckAddress("unix:/" + std::string(106, 'a')).ok());
  for (const std::string& text : {std::string("unix:"), std::string("unix:m"), "unix:/" + std::string(107, 'a')}) {
    EXPECT_EQ(CheckAddress(text).code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace mr::rpc
