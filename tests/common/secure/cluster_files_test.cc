#include "common/secure/cluster_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/files.h"
#include "common/secure/authority.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"
#include "common/secure/token_log.h"
#include "tests/common/secure/constants.h"

namespace mr::secure {
namespace {

class ClusterFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cluster_files_test.XXXXXX";
    data = mkdtemp(name);
    path = CredentialsPath(data);
    ASSERT_TRUE(MakeClusterFiles(path, kCluster, kNow).ok());
  }
  void TearDown() override { (void)RemoveTree(data); }

  std::string SignedWorker(const std::string& worker, PrivateKey* key, UnixTime now = kNow) {
    *key = *PrivateKey::Make(KeyKind::kNode);
    return SignWorker(path, worker, *MakeRequest(*key), now)->certificate_pem;
  }

  std::string data, path;
};

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST_F(ClusterFilesTest, OnlyItsUserReadsAnyOfThem) {
  EXPECT_EQ(ModeOf(path), 0700u);
  for (const char* name : {"/ca.key", "/master.key", "/token.key", "/tokens"}) {
    EXPECT_EQ(ModeOf(path + name), 0600u) << name;
  }
  EXPECT_FALSE(PathExists(path + ".new"));
}

TEST_F(ClusterFilesTest, NothingIsOverwritten) {
  const std::string before = *ReadFile(path + "/ca.pem");
  const Status again = MakeClusterFiles(path, kCluster, kNow);
  EXPECT_EQ(again.code(), Code::kRejected);
  EXPECT_NE(again.message().find(path), std::string::npos);
  EXPECT_EQ(*ReadFile(path + "/ca.pem"), before);
}

TEST_F(ClusterFilesTest, WhatACrashedStartLeftIsMadeAgain) {
  const std::string other = data + "/other";
  ASSERT_TRUE(MakePrivateDirectory(other + ".new").ok());
  ASSERT_TRUE(WriteFileDurably(other + ".new/ca.key", "half").ok());
  ASSERT_TRUE(MakeClusterFiles(other, kCluster, kNow).ok());
  EXPECT_TRUE(LoadMaster(other, kNow).ok());
}

TEST_F(ClusterFilesTest, TheMasterLoadsItsOwn) {
  const auto master = LoadMaster(path, kNow);
  ASSERT_TRUE(master.ok()) << master.status().message();
  EXPECT_EQ(master->certificate.common_name, MasterName(kCluster));
  EXPECT_EQ(master->certificate.cluster_id, kCluster);
  EXPECT_EQ(LoadMaster(data + "/none", kNow).status().code(), Code::kNotFound);
}

TEST_F(ClusterFilesTest, TheMasterRenewsItsOwnCertificateAlsoLongAfterItsEnd) {
  const std::string first = LoadMaster(path, kNow + kDay * 10)->certificate.serial;
  EXPECT_EQ(LoadMaster(path, kNow + kDay * 19)->certificate.serial, first);
  const auto renewed = LoadMaster(path, kNow + kDay * 21);
  ASSERT_TRUE(renewed.ok());
  EXPECT_NE(renewed->certificate.serial, first);
  EXPECT_EQ(renewed->certificate.until, kNow + kDay * 51);
  const auto late = LoadMaster(path, kNow + kDay * 1000);
  ASSERT_TRUE(late.ok()) << late.status().message();
  EXPECT_EQ(late->key_pem.Reveal(), renewed->key_pem.Reveal());
}

TEST_F(ClusterFilesTest, KeysThatOthersCouldReadAreRefused) {
  for (const char* name : {"/master.key", "/ca.key", "/token.key"}) {
    ASSERT_EQ(chmod((path + name).c_str(), 0644), 0);
    const Status status = std::string(name) == "/master.key" ? LoadMaster(path, kNow).status()
                          : std::string(name) == "/ca.key"
                              ? SignWorker(path, "a", "", kNow).status()
                              : IssueToken(path, {.subject = "a", .roles = kViewer}, kNow).status();
    EXPECT_EQ(status.code(), Code::kNotAllowed) << name;
    EXPECT_NE(status.message().find("chmod 600"), std::string::npos) << status.message();
    ASSERT_EQ(chmod((path + name).c_str(), 0600), 0);
  }
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(LoadMaster(path, kNow).status().code(), Code::kNotAllowed);
}

TEST_F(ClusterFilesTest, AWorkerKeepsItsOwnAndTheyEnd) {
  PrivateKey key = *PrivateKey::Make(KeyKind::kNode);
  NodeCredentials own;
  own.certificate_pem = SignedWorker("w1", &key);
  own.key_pem = key.ToPem();
  own.authority_pem = *ReadFile(path + "/ca.pem");
  own.token_key_pem = *ReadFile(path + "/token.pub");
  const std::string mine = data + "/worker";
  ASSERT_TRUE(KeepWorker(mine, own).ok());
  EXPECT_EQ(ModeOf(mine), 0700u);
  EXPECT_EQ(ModeOf(mine + "/worker.key"), 0600u);
  const auto loaded = LoadWorker(mine, kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->certificate.common_name, "worker:w1");
  EXPECT_EQ(loaded->certificate.cluster_id, kCluster);
  const auto expired = LoadWorker(mine, kNow + kNodeLife);
  EXPECT_EQ(expired.status().code(), Code::kNotAllowed);
  EXPECT_NE(expired.status().message().find("expired"), std::string::npos);
}

// Role confusion: the stolen files of a worker, renamed, are not those of the master.
TEST_F(ClusterFilesTest, AWorkersCertificateNeverPassesAsTheMasters) {
  PrivateKey key = *PrivateKey::Make(KeyKind::kNode);
  const std::string pem = SignedWorker("w1", &key);
  ASSERT_TRUE(WriteFileDurably(path + "/master.pem", pem).ok());
  ASSERT_TRUE(WritePrivateFile(path + "/master.key", key.ToPem()).ok());
  const auto loaded = LoadMaster(path, kNow);
  EXPECT_EQ(loaded.status().code(), Code::kNotAllowed);
  EXPECT_NE(loaded.status().message().find("worker:w1"), std::string::npos);
}

TEST_F(ClusterFilesTest, TokensAreListedBeforeTheyAreHandedOut) {
  const auto issued = IssueToken(path, {.subject = "anna", .roles = kAdmin | kOperator | kViewer}, kNow);
  ASSERT_TRUE(issued.ok()) << issued.status().message();
  const auto master = LoadMaster(path, kNow);
  const TokenKeys key = *ReadTokenKeys(master->token_key_pem);
  auto log = TokenLog::Open(path + "/tokens");
  ASSERT_TRUE(log.ok());
  const auto read = VerifyToken(issued->text.Reveal(), key, kCluster, kNow, log->list().revoked);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->expires, kNow + kTokenLife);
  ASSERT_TRUE(log->list().issued.contains(read->id));
  EXPECT_EQ(log->list().issued.at(read->id).subject, "anna");
  // The list has nothing that could be presented.
  EXPECT_EQ(ReadFile(path + "/tokens")->find(issued->text.Reveal().substr(5, 20)), std::string::npos);
  ASSERT_TRUE(log->Revoked(read->id).ok());
  EXPECT_FALSE(VerifyToken(issued->text.Reveal(), key, kCluster, kNow, log->list().revoked).ok());
}

TEST_F(ClusterFilesTest, TheListIsOneForSeveralProcesses) {
  auto master = TokenLog::Open(path + "/tokens");
  auto other = TokenLog::Open(path + "/tokens");
  ASSERT_TRUE(master.ok() && other.ok());
  const Token join = IssueToken(path, {.kind = TokenKind::kJoin, .life = kJoinLife}, kNow)->token;
  EXPECT_TRUE(*master->Refresh());
  EXPECT_FALSE(*master->Refresh());
  EXPECT_TRUE(master->list().issued.contains(join.id));
  EXPECT_TRUE(master->Joined(join, "worker:w1").ok());
  // Once: also where the other process has not read that line.
  EXPECT_EQ(other->Joined(join, "worker:w2").code(), Code::kRejected);
  EXPECT_EQ(master->Joined(join, "worker:w1").code(), Code::kRejected);
  EXPECT_TRUE(other->list().used.contains(join.id));
  EXPECT_TRUE(other->Denied("worker:w1", true).ok());
  EXPECT_TRUE(*master->Refresh());
  EXPECT_TRUE(master->list().denied.contains("worker:w1"));
  EXPECT_TRUE(master->Denied("worker:w1", false).ok());
  EXPECT_TRUE(*other->Refresh());
  EXPECT_TRUE(other->list().denied.empty());
  EXPECT_EQ(other->Denied("anna", true).code(), Code::kInvalidArgument);
  EXPECT_EQ(other->Revoked("00000000000000000000000000000000").code(), Code::kNotFound);
}

TEST_F(ClusterFilesTest, ANameIsTakenOverOnlyWithATokenForThatName) {
  const auto join = [&](const std::string& name) {
    return IssueToken(path, {.kind = TokenKind::kJoin, .subject = name, .life = kJoinLife}, kNow)->token;
  };
  auto log = *TokenLog::Open(path + "/tokens");
  EXPECT_TRUE(log.Joined(join(""), "worker:w1").ok());
  const Token any = join("");
  EXPECT_EQ(log.Joined(any, "worker:w1").code(), Code::kRejected);
  EXPECT_TRUE(log.Joined(any, "worker:w2").ok()) << "a refused join spends no token";
  EXPECT_TRUE(log.Joined(join("w1"), "worker:w1").ok());
  EXPECT_EQ(log.Joined(join("w1"), "worker:w3").code(), Code::kNotAllowed);
  EXPECT_TRUE(log.Denied("worker:w4", true).ok());
  EXPECT_EQ(log.Joined(join("w4"), "worker:w4").code(), Code::kNotAllowed);
}

TEST_F(ClusterFilesTest, DenyingAWorkerRevokesTheJoinTokensForItsNameAndNoOthers) {
  const auto join = [&](const std::string& name) {
    return IssueToken(path, {.kind = TokenKind::kJoin, .subject = name, .life = kJoinLife}, kNow)->token.id;
  };
  const std::string own = join("w1"), other = join("w2"), any = join("");
  const std::string person = IssueToken(path, {.subject = "w1", .roles = kViewer}, kNow)->token.id;
  auto log = *TokenLog::Open(path + "/tokens");
  ASSERT_TRUE(log.Denied("worker:w1", true).ok());
  EXPECT_TRUE(log.list().revoked.contains(own));
  for (const std::string& id : {other, any, person}) EXPECT_FALSE(log.list().revoked.contains(id)) << id;
  EXPECT_EQ(TokenLog::Open(path + "/tokens")->list().revoked, log.list().revoked) << "as the file says";
}

TEST_F(ClusterFilesTest, WorkersAreKnownOnceTheyAreInvitedJoinedOrDenied) {
  const Token any = IssueToken(path, {.kind = TokenKind::kJoin, .life = kJoinLife}, kNow)->token;
  ASSERT_TRUE(IssueToken(path, {.kind = TokenKind::kJoin, .subject = "w1", .life = kJoinLife}, kNow).ok());
  ASSERT_TRUE(IssueToken(path, {.subject = "anna", .roles = kViewer}, kNow).ok());
  auto log = *TokenLog::Open(path + "/tokens");
  ASSERT_TRUE(log.Joined(any, "worker:w2").ok());
  ASSERT_TRUE(log.Signed("worker:w3", {"0123456789abcdef0123456789abcdef", kNow}).ok());
  ASSERT_TRUE(log.Denied("worker:w4", true).ok());
  EXPECT_EQ(KnownWorkers(log.list()), (Subjects{"worker:w1", "worker:w2", "worker:w3", "worker:w4"}));
}

TEST_F(ClusterFilesTest, TheAddressForJoinFilesIsKept) {
  EXPECT_EQ(KnownAddress(path), "") << "of a release that kept none";
  ASSERT_TRUE(KeepAddress(path, "lab-1:7099").ok());
  EXPECT_EQ(KnownAddress(path), "lab-1:7099");
}

TEST_F(ClusterFilesTest, ALineThatACrashCutIsGoneAndTheNextIsWhole) {
  const Token token = IssueToken(path, {.subject = "anna", .roles = kViewer}, kNow)->token;
  const std::string text = *ReadFile(path + "/tokens");
  for (size_t cut = 0; cut < text.size(); ++cut) {
    ASSERT_TRUE(WritePrivateFile(path + "/tokens", Secret<std::string>(text + text.substr(0, cut))).ok());
    auto log = TokenLog::Open(path + "/tokens");
    ASSERT_TRUE(log.ok()) << cut;
    ASSERT_TRUE(log->Revoked(token.id).ok());
    EXPECT_EQ(*ReadFile(path + "/tokens"), text + "revoked " + token.id + "\n");
  }
}

TEST(TokenLogTest, DamageIsReportedWithItsLine) {
  const std::string good = "denied worker:a\n";
  for (const char* bad : {"", "denied", "denied anna", "revoked 12", "issued", "granted worker:a", "used  x",
                          "used 00112233445566778899aabbccddeeff", "used 00112233445566778899aabbccddeeff anna",
                          "issued 00112233445566778899aabbccddeeff 3 1 2 1 anna"}) {
    const auto list = ParseTokenLog(good + bad + "\n");
    EXPECT_EQ(list.status().code(), Code::kCorrupted) << bad;
    EXPECT_NE(list.status().message().find("line 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace mr::secure
