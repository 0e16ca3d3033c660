#include "common/secure/rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/files.h"
#include "common/secure/authority.h"
#include "common/secure/cluster_files.h"
#include "common/secure/private_file.h"
#include "common/secure/token_log.h"
#include "tests/common/secure/constants.h"

namespace mr::secure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RotationTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rotation_test.XXXXXX";
    data = mkdtemp(name);
    path = CredentialsPath(data);
    ASSERT_TRUE(MakeClusterFiles(path, kCluster, kNow).ok());
  }
  void TearDown() override { (void)RemoveTree(data); }

  // Signs a worker's certificate and notes it, as the master does.
  NodeCredentials Sign(const std::string& worker) {
    const PrivateKey key = *PrivateKey::Make(KeyKind::kNode);
    auto made = SignWorker(path, worker, *MakeRequest(key), kNow);
    EXPECT_TRUE(made.ok()) << made.status().message();
    made->key_pem = key.ToPem();
    EXPECT_TRUE(
        TokenLog::Open(path + "/tokens")->Signed("worker:" + worker, {made->signer, made->certificate.until}).ok());
    return *std::move(made);
  }
  NodeCredentials Join(const std::string& worker) {
    const Token token = IssueToken(path, {.kind = TokenKind::kJoin, .life = kJoinLife}, kNow)->token;
    EXPECT_TRUE(TokenLog::Open(path + "/tokens")->Joined(token, "worker:" + worker).ok());
    return Sign(worker);
  }
  IssuedToken Person(const std::string& name) {
    auto issued = IssueToken(path, {.subject = name, .roles = kViewer}, kNow);
    EXPECT_TRUE(issued.ok()) << issued.status().message();
    return *std::move(issued);
  }
  Authority Now() { return *ReadAuthority(*ReadFile(path + "/ca.pem")); }
  bool Accepts(const IssuedToken& token) {
    const TokenKeys keys = *ReadTokenKeys(*ReadFile(path + "/token.pub"));
    return VerifyToken(token.text.Reveal(), keys, kCluster, kNow, {}).ok();
  }
  // Runs a step ("begin" or "finish") in a process that dies at the point.
  void DieAt(const std::string& point, const char* step) {
    const std::string token = data + "/fault";
    ASSERT_TRUE(WriteFileDurably(token, "x").ok());
    const pid_t child = fork();
    if (child == 0) {
      ::setenv("MR_FAULT", (point + ":1:" + token).c_str(), 1);
      ::execl(MR_ROTATE_STEP, MR_ROTATE_STEP, step, path.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << point << " was not passed";
  }
  // All that a master does with its files works.
  void ExpectUsable(const std::string& when) {
    const auto master = LoadMaster(path, kNow);
    ASSERT_TRUE(master.ok()) << when << ": " << master.status().message();
    EXPECT_FALSE(master->previous) << when;
    const NodeCredentials worker = Sign("w9");
    EXPECT_TRUE(CheckNode(worker.certificate_pem, Now(), kNow).ok()) << when;
    EXPECT_TRUE(Accepts(Person("zoe"))) << when;
  }

  std::string data, path;
};

TEST_F(RotationTest, BothAuthoritiesAndKeysAreTrustedUntilItIsFinished) {
  const NodeCredentials before = Join("w1");
  const IssuedToken old = Person("anna");
  const std::string trust = LoadMaster(path, kNow)->trust;
  ASSERT_TRUE(BeginRotation(path, kNow).ok());

  const auto master = LoadMaster(path, kNow);
  ASSERT_TRUE(master.ok()) << master.status().message();
  EXPECT_TRUE(CheckNodeCertificate(master->certificate_pem, Now().current, kNow).ok());
  EXPECT_NE(master->trust, trust);
  EXPECT_TRUE(CheckNode(before.certificate_pem, Now(), kNow)->previous);
  const NodeCredentials after = Sign("w1");
  EXPECT_FALSE(CheckNode(after.certificate_pem, Now(), kNow)->previous);
  EXPECT_EQ(after.trust, master->trust);
  EXPECT_TRUE(Accepts(old));
  const IssuedToken fresh = Person("bert");
  EXPECT_TRUE(Accepts(fresh));
  EXPECT_EQ(fresh.authority_pem, Now().current) << "new token files trust the new authority only";

  ASSERT_TRUE(FinishRotation(path, kNow, /*force=*/true).ok());
  EXPECT_FALSE(Now().rotating());
  EXPECT_EQ(CheckNode(before.certificate_pem, Now(), kNow).status().code(), Code::kNotAllowed);
  EXPECT_TRUE(CheckNode(after.certificate_pem, Now(), kNow).ok());
  EXPECT_FALSE(Accepts(old));
  EXPECT_TRUE(Accepts(fresh));
  EXPECT_EQ(LoadMaster(path, kNow)->certificate.serial, master->certificate.serial);
}

TEST_F(RotationTest, FinishNamesThoseThatAreBehindAndChangesNothing) {
  Join("w1");
  Join("w2");
  Join("w3");
  const IssuedToken anna = Person("anna"), bert = Person("bert");
  ASSERT_TRUE(TokenLog::Open(path + "/tokens")->Denied("worker:w3", true).ok());
  ASSERT_TRUE(TokenLog::Open(path + "/tokens")->Revoked(bert.token.id).ok());
  ASSERT_TRUE(BeginRotation(path, kNow).ok());
  Sign("w1");
  Person("carl");
  const auto behind = FinishRotation(path, kNow, false);
  ASSERT_TRUE(behind.ok()) << behind.status().message();
  EXPECT_THAT(behind->workers, ElementsAre("worker:w2"));
  ASSERT_EQ(behind->tokens.size(), 1u);
  EXPECT_EQ(behind->tokens[0].subject, "anna");
  EXPECT_TRUE(Now().rotating());
  EXPECT_TRUE(Accepts(anna));
  // A worker whose certificate has expired has nothing to lose, and neither has the holder of an expired token.
  const auto later = FinishRotation(path, kNow + kDay * 31, false);
  ASSERT_TRUE(later.ok());
  EXPECT_TRUE(later->empty());
  EXPECT_FALSE(Now().rotating());
}

TEST_F(RotationTest, ASecondRotationWaitsForTheFirstAndFinishNeedsOne) {
  const auto none = FinishRotation(path, kNow, true);
  EXPECT_EQ(none.status().code(), Code::kRejected);
  ASSERT_TRUE(BeginRotation(path, kNow).ok());
  const std::string authority = *ReadFile(path + "/ca.pem");
  const Status again = BeginRotation(path, kNow);
  EXPECT_EQ(again.code(), Code::kRejected);
  EXPECT_THAT(again.message(), HasSubstr("--finish"));
  EXPECT_EQ(*ReadFile(path + "/ca.pem"), authority);
  ASSERT_TRUE(FinishRotation(path, kNow, true).ok());
  EXPECT_TRUE(BeginRotation(path, kNow).ok());
}

TEST_F(RotationTest, ARotationThatWasKilledAnywhereIsCompletedByTheNextRun) {
  for (const std::string point :
       {"rotation_token_key", "rotation_token", "rotation_authority_key", "rotation_authority"}) {
    const IssuedToken old = Person("anna");
    const NodeCredentials worker = Sign("w1");
    DieAt(point, "begin");
    ExpectUsable(point);
    EXPECT_TRUE(Accepts(old)) << point;
    EXPECT_TRUE(CheckNode(worker.certificate_pem, Now(), kNow).ok()) << point;
    const Status again = BeginRotation(path, kNow);
    ASSERT_TRUE(again.ok()) << point << ": " << again.message();
    ExpectUsable(point + ", completed");
    EXPECT_TRUE(Now().rotating()) << point;
    EXPECT_EQ(ReadTokenKeys(*ReadFile(path + "/token.pub"))->size(), 2u) << point;
    EXPECT_FALSE(PathExists(path + "/ca.key.next") || PathExists(path + "/token.key.next")) << point;
    EXPECT_TRUE(Accepts(old)) << point;
    ASSERT_TRUE(FinishRotation(path, kNow, true).ok()) << point;
    EXPECT_FALSE(Accepts(old)) << point;
    ExpectUsable(point + ", finished");
  }
}

TEST_F(RotationTest, AFinishThatWasKilledIsCompletedByTheNextRun) {
  Join("w1");
  Person("anna");
  ASSERT_TRUE(BeginRotation(path, kNow).ok());
  DieAt("rotation_finish", "finish");
  ExpectUsable("killed");
  EXPECT_EQ(BeginRotation(path, kNow).code(), Code::kRejected);
  // Without force: that was decided by the first run.
  ASSERT_TRUE(FinishRotation(path, kNow, false).ok());
  EXPECT_FALSE(Now().rotating());
  ExpectUsable("finished");
}

TEST_F(RotationTest, AMasterThatWasOffDuringAWholeRotationStarts) {
  ASSERT_TRUE(BeginRotation(path, kNow).ok());
  ASSERT_TRUE(FinishRotation(path, kNow, true).ok());
  ExpectUsable("off");
}

TEST_F(RotationTest, ARunningMasterIsSeenToHaveTakenIt) {
  EXPECT_TRUE(*MasterHasNew(path, kNow));
  ASSERT_TRUE(BeginRotation(path, kNow).ok());
  EXPECT_FALSE(*MasterHasNew(path, kNow));
  ASSERT_TRUE(LoadMaster(path, kNow).ok());
  EXPECT_TRUE(*MasterHasNew(path, kNow));
}

TEST(AuthorityTest, PartsThatDoNotBelongTogetherAreRefused) {
  const auto key = [] { return *PrivateKey::Make(KeyKind::kNode); };
  const PrivateKey first = key(), second = key(), third = key();
  const Authority old{*MakeAuthority(first, kCluster, kNow), "", ""};
  const Authority rotated = *Rotated(old, first, second, kNow);
  EXPECT_EQ(AuthorityText(*ReadAuthority(AuthorityText(rotated))), AuthorityText(rotated));
  const Authority other = *Rotated(old, first, third, kNow);
  EXPECT_FALSE(ReadAuthority("").ok());
  EXPECT_FALSE(ReadAuthority(rotated.current + rotated.cross).ok());
  EXPECT_FALSE(ReadAuthority(rotated.current + rotated.previous + rotated.cross).ok());
  EXPECT_FALSE(ReadAuthority(rotated.current + other.cross + rotated.previous).ok()) << "of another key";
  EXPECT_FALSE(ReadAuthority(rotated.current + rotated.cross + other.current).ok()) << "of another authority";
  EXPECT_FALSE(ReadAuthority(AuthorityText(rotated) + rotated.current).ok());
  EXPECT_FALSE(ReadAuthority(AuthorityText(rotated) + "more").ok());
  EXPECT_FALSE(Rotated(old, second, third, kNow).ok()) << "only the authority's own key rotates it";
}

}  // namespace
}  // namespace mr::secure
