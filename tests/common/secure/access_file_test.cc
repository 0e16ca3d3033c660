#include "common/secure/access_file.h"

#include <gtest/gtest.h>

#include "common/secure/certificate.h"
#include "tests/common/secure/constants.h"

namespace mr::secure {
namespace {

AccessFile Access(TokenKind kind, uint64_t cluster = 7) {
  Token token{.kind = kind, .id = *NewTokenId(), .cluster_id = 7, .issued = kNow, .expires = kNow + kJoinLife};
  if (kind == TokenKind::kPerson) {
    token.subject = "anna";
    token.roles = kViewer;
  }
  AccessFile access;
  access.kind = kind;
  access.master = kind == TokenKind::kJoin ? "lab-1:7070" : "";
  access.cluster_id = cluster;
  access.token = *SignToken(token, *PrivateKey::Make(KeyKind::kToken));
  access.authority = *MakeAuthority(*PrivateKey::Make(KeyKind::kNode), 7, kNow);
  return access;
}

constexpr TokenKind kKinds[] = {TokenKind::kPerson, TokenKind::kJoin};

TEST(AccessFileTest, ComesBackAsItWasWritten) {
  for (const TokenKind kind : kKinds) {
    const AccessFile access = Access(kind);
    const auto read = ParseAccess(AccessText(access), kind, "f");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->master, access.master);
    EXPECT_EQ(read->cluster_id, access.cluster_id);
    EXPECT_EQ(read->token.Reveal(), access.token.Reveal());
    EXPECT_EQ(read->authority, access.authority);
    EXPECT_EQ(read->unchecked.expires, kNow + kJoinLife);
  }
}

TEST(AccessFileTest, IsRefusedWhereAPartIsMissing) {
  for (const TokenKind kind : kKinds) {
    const AccessFile access = Access(kind);
    const std::string text = AccessText(access).Reveal();
    const std::string secret = access.token.Reveal().substr(kTokenPrefix.size(), 8);
    for (size_t n = 0; n + 1 < text.size(); ++n) {
      const auto read = ParseAccess(Secret<std::string>(text.substr(0, n)), kind, "f");
      EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << n;
      EXPECT_EQ(read.status().message().find(secret), std::string::npos) << read.status().message();
    }
  }
}

TEST(AccessFileTest, IsRefusedAsTheOtherKindAndForAnotherCluster) {
  const auto join_as_person = ParseAccess(AccessText(Access(TokenKind::kJoin)), TokenKind::kPerson, "f");
  EXPECT_NE(join_as_person.status().message().find("mrworker --join"), std::string::npos);
  EXPECT_FALSE(ParseAccess(AccessText(Access(TokenKind::kPerson)), TokenKind::kJoin, "f").ok());
  EXPECT_FALSE(ParseAccess(AccessText(Access(TokenKind::kPerson, 8)), TokenKind::kPerson, "f").ok());
}

// A bare token under the first line must not be printed as an unknown line.
TEST(AccessFileTest, NoMessageHasALineOfTheFile) {
  const auto read = ParseAccess(Secret<std::string>("# Paceline token file 1\nmrt1_secret\n"), TokenKind::kPerson, "f");
  EXPECT_EQ(read.status().message().find("secret"), std::string::npos) << read.status().message();
}

}  // namespace
}  // namespace mr::secure
