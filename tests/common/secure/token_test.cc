#include "common/secure/token.h"

#include <gtest/gtest.h>

#include "common/secure/names.h"
#include "tests/common/secure/constants.h"

namespace mr::secure {
namespace {

constexpr UnixTime kIssued{1'800'000'000};
constexpr char kId[] = "00112233445566778899aabbccddeeff";

// RFC 8032, section 7.1, test 1, so that the golden token below is always the same.
constexpr char kKeyPem[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";

PrivateKey Key() { return *PrivateKey::FromPem(Secret<std::string>(std::string(kKeyPem)), KeyKind::kToken); }

Token Anna() {
  return {.kind = TokenKind::kPerson,
          .id = kId,
          .subject = "anna",
          .roles = kViewer | kSubmitter,
          .cluster_id = kCluster,
          .issued = kIssued,
          .expires = kIssued + kTokenLife};
}

std::string Signed(const Token& token) { return SignToken(token, Key())->Reveal(); }

Result<Token> Verify(std::string_view text, UnixTime now = kIssued, const TokenIds& revoked = {}) {
  return VerifyToken(text, std::vector{Key().Public()}, kCluster, now, revoked);
}

TEST(TokenTest, ProvesItsSubjectAndRoles) {
  const auto token = Verify(Signed(Anna()));
  ASSERT_TRUE(token.ok()) << token.status().message();
  EXPECT_EQ(token->id, kId);
  const Identity identity = IdentityOf(*token);
  EXPECT_EQ(identity.subject, "anna");
  EXPECT_EQ(identity.roles, kViewer | kSubmitter);
  EXPECT_EQ(identity.proof, Proof::kToken);
}

// Tokens are in files of users: what an older release signed must stay readable.
TEST(TokenTest, HasAShapeThatStays) {
  EXPECT_EQ(
      Signed(Anna()),
      "mrt1_AQEDABEiM0RVZneImaq7zN3u__DevJp4VjQSANJJawAAAADAekprAAAAAARhbm5hUJ_XBEnes14lArd4FxL0bZBtnwLSHsuYZ8rw4Cuizh"
      "krG3IAGOYe-7BxAQ1etRefB5I7ex0kLA-dHWWpGAHdAg");
}

TEST(TokenTest, FitsTheCredentialFrame) {
  Token token = Anna();
  token.subject = std::string(kMaxNameBytes, 'a');
  EXPECT_LE(Signed(token).size(), 256u);
  EXPECT_EQ(Verify(Signed(token))->subject, token.subject);
}

TEST(TokenTest, EndsAtItsExpiryToTheSecond) {
  const std::string text = Signed(Anna());
  EXPECT_TRUE(Verify(text, Anna().expires - Seconds(1)).ok());
  const auto late = Verify(text, Anna().expires);
  EXPECT_EQ(late.status().code(), Code::kNotAllowed);
  EXPECT_NE(late.status().message().find("expired (2027-"), std::string::npos) << late.status().message();
}

TEST(TokenTest, ToleratesClocksThatDifferByMinutes) {
  const std::string text = Signed(Anna());
  EXPECT_TRUE(Verify(text, kIssued - kTokenSkew).ok());
  EXPECT_EQ(Verify(text, kIssued - kTokenSkew - Seconds(1)).status().code(), Code::kNotAllowed);
}

TEST(TokenTest, IsWorthNothingOnceRevoked) {
  const auto revoked = Verify(Signed(Anna()), kIssued, {kId});
  EXPECT_EQ(revoked.status().code(), Code::kNotAllowed);
  EXPECT_NE(revoked.status().message().find("revoked"), std::string::npos);
}

TEST(TokenTest, AnotherKeyOrClusterProvesNothing) {
  const PrivateKey other = *PrivateKey::Make(KeyKind::kToken);
  EXPECT_EQ(Verify(SignToken(Anna(), other)->Reveal()).status().code(), Code::kNotAllowed);
  const PrivateKey node = *PrivateKey::Make(KeyKind::kNode);
  EXPECT_FALSE(VerifyToken(Signed(Anna()), std::vector{node.Public()}, kCluster, kIssued, {}).ok());
  Token elsewhere = Anna();
  elsewhere.cluster_id = 7;
  const auto refused = Verify(Signed(elsewhere));
  EXPECT_EQ(refused.status().code(), Code::kNotAllowed);
  EXPECT_NE(refused.status().message().find("another cluster (0000000000000007)"), std::string::npos);
}

TEST(TokenTest, NoPartOfItVerifies) {
  const std::string text = Signed(Anna());
  for (size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(Verify(text.substr(0, n)).ok()) << n;
  for (size_t n = 1; n < text.size(); ++n) EXPECT_FALSE(Verify(text.substr(n)).ok()) << n;
}

TEST(TokenTest, NoChangeOfAByteVerifies) {
  const std::string text = Signed(Anna());
  for (size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {1, 2, 4, 8, 16, 32, 64, 128}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      EXPECT_EQ(Verify(changed).status().code(), Code::kNotAllowed) << i << " " << bit;
    }
  }
  for (const std::string& more : {text + "A", text + "=", text + "\n", " " + text, text + text}) {
    EXPECT_FALSE(Verify(more).ok());
  }
  EXPECT_FALSE(Verify(std::string(kTokenPrefix) + std::string(kMaxTokenBytes, 'A')).ok());
}

TEST(TokenTest, IsSignedOnlyWithFieldsInTheirRange) {
  const auto refused = [](auto change) {
    Token token = Anna();
    change(token);
    return SignToken(token, Key()).status().code();
  };
  EXPECT_EQ(refused([](Token& t) { t.subject = "worker:3"; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.subject = ""; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.roles = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.roles = kWorker | kViewer; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.expires = t.issued; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.expires = t.issued + kLongestTokenLife + Seconds(1); }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.id = "short"; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.cluster_id = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](Token& t) { t.kind = TokenKind::kJoin; }), Code::kInvalidArgument);
}

TEST(TokenTest, LivesNoLongerBecauseItsLifeOverflows) {
  Token token = Anna();
  token.expires.seconds = kIssued.seconds + 18'446'744'074;  // 0.3 s above 2^64 ns
  EXPECT_EQ(SignToken(token, Key()).status().code(), Code::kInvalidArgument);
  token.issued.seconds = INT64_MIN;
  token.expires.seconds = INT64_MAX;
  EXPECT_EQ(SignToken(token, Key()).status().code(), Code::kInvalidArgument);
}

TEST(TokenTest, AJoinTokenHasNoRoles) {
  Token token = Anna();
  token.kind = TokenKind::kJoin;
  token.roles = 0;
  token.subject = "";
  token.expires = token.issued + kJoinLife;
  const auto read = Verify(Signed(token));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->kind, TokenKind::kJoin);
  EXPECT_EQ(IdentityOf(*read).roles, kJoiner);
  EXPECT_EQ(IdentityOf(*read).proof, Proof::kJoin);
}

TEST(TokenTest, IdsAreRandom) { EXPECT_NE(*NewTokenId(), *NewTokenId()); }

TEST(TokenTest, ItsHolderCanReadItWithoutTheKey) {
  EXPECT_EQ(ReadUncheckedToken(Signed(Anna()))->expires, Anna().expires);
  EXPECT_EQ(ReadUncheckedToken("hello").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace mr::secure
