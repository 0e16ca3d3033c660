#include "common/secure/certificate.h"

#include <gtest/gtest.h>

#include "common/secure/names.h"
#include "tests/common/secure/constants.h"

namespace mr::secure {
namespace {

struct TestAuthority {
  PrivateKey key = *PrivateKey::Make(KeyKind::kNode);
  std::string certificate;
  explicit TestAuthority(uint64_t cluster = kCluster, UnixTime now = kNow)
      : certificate(*MakeAuthority(key, cluster, now)) {}
  Result<std::string> Sign(NodeKind kind, const std::string& name, UnixTime now = kNow) const {
    return SignRequest(*MakeRequest(*PrivateKey::Make(KeyKind::kNode)), kind, name, certificate, key, now);
  }
};

TEST(CertificateTest, TheAuthorityCarriesTheClusterAndLivesTenYears) {
  const TestAuthority ca;
  const auto read = ReadCertificate(ca.certificate);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->common_name, "Paceline cluster 123456789abcdef0");
  EXPECT_EQ(read->cluster_id, kCluster);
  EXPECT_TRUE(read->authority);
  EXPECT_EQ(read->from, kNow - kClockSkew);
  EXPECT_EQ(read->until, kNow + kAuthorityLife);
  EXPECT_EQ(read->serial.size(), 32u);
  EXPECT_EQ(Fingerprint(ca.certificate)->size(), 64u);
}

TEST(CertificateTest, TheMastersAndAWorkersCertificatesHaveTheirNames) {
  const TestAuthority ca;
  const auto master = CheckNodeCertificate(*ca.Sign(NodeKind::kMaster, ""), ca.certificate, kNow);
  ASSERT_TRUE(master.ok()) << master.status().message();
  EXPECT_EQ(master->common_name, "master.123456789abcdef0");
  const auto worker = CheckNodeCertificate(*ca.Sign(NodeKind::kWorker, "rack1-7"), ca.certificate, kNow);
  ASSERT_TRUE(worker.ok()) << worker.status().message();
  EXPECT_EQ(worker->common_name, "worker:rack1-7");
  EXPECT_EQ(worker->cluster_id, kCluster);
  EXPECT_FALSE(worker->authority);
  EXPECT_EQ(worker->DaysLeft(kNow), 30);
}

TEST(CertificateTest, NoWorkerGetsTheMastersNameOrOneThatNeedsQuotes) {
  const TestAuthority ca;
  for (const char* name : {"", "a,DNS:master.123456789abcdef0", "a b", "*", "a\n", "-a", "a:b", "a@b", "\xc3\xa4"}) {
    EXPECT_EQ(ca.Sign(NodeKind::kWorker, name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(ca.Sign(NodeKind::kWorker, std::string(kMaxNameBytes + 1, 'a')).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(ca.Sign(NodeKind::kWorker, std::string(kMaxNameBytes, 'a')).ok());
  // The nearest that a name can come.
  EXPECT_EQ(ReadCertificate(*ca.Sign(NodeKind::kWorker, MasterName(kCluster)))->common_name,
            "worker:master.123456789abcdef0");
}

TEST(CertificateTest, ExpiryIsExactAndRenewalIsDueAtTwoThirds) {
  const TestAuthority ca;
  const std::string pem = *ca.Sign(NodeKind::kWorker, "a");
  const Certificate read = *ReadCertificate(pem);
  EXPECT_TRUE(CheckNodeCertificate(pem, ca.certificate, read.until - Seconds(1)).ok());
  EXPECT_EQ(CheckNodeCertificate(pem, ca.certificate, read.until).status().code(), Code::kNotAllowed);
  EXPECT_TRUE(CheckNodeCertificate(pem, ca.certificate, read.from).ok());
  EXPECT_EQ(CheckNodeCertificate(pem, ca.certificate, read.from - Seconds(1)).status().code(), Code::kNotAllowed);
  EXPECT_EQ(read.DaysLeft(read.until), 0);
  EXPECT_EQ(read.DaysLeft(read.until - kDay), 1);
  const int64_t life = read.until.seconds - read.from.seconds;
  const UnixTime due{read.from.seconds + life / 3 * 2};
  EXPECT_FALSE(read.RenewalDue(due - Seconds(1)));
  EXPECT_TRUE(read.RenewalDue(due));
}

TEST(CertificateTest, NothingOutlivesItsAuthority) {
  const TestAuthority ca(kCluster, kNow - kAuthorityLife + kDay);
  EXPECT_EQ(ReadCertificate(*ca.Sign(NodeKind::kWorker, "a"))->until, kNow + kDay);
}

TEST(CertificateTest, AnotherAuthorityIsNoneEvenWithTheSameName) {
  const TestAuthority ours, other;
  const auto checked = CheckNodeCertificate(*other.Sign(NodeKind::kWorker, "a"), ours.certificate, kNow);
  EXPECT_EQ(checked.status().code(), Code::kNotAllowed);
  // The authority's own certificate is no node's.
  EXPECT_EQ(CheckNodeCertificate(ours.certificate, ours.certificate, kNow).status().code(), Code::kNotAllowed);
}

TEST(CertificateTest, AWorkerSignsNobody) {
  const TestAuthority ca;
  const PrivateKey key = *PrivateKey::Make(KeyKind::kNode);
  const std::string worker = *SignRequest(*MakeRequest(key), NodeKind::kWorker, "a", ca.certificate, ca.key, kNow);
  const std::string request = *MakeRequest(*PrivateKey::Make(KeyKind::kNode));
  const auto below = SignRequest(request, NodeKind::kMaster, "", worker, key, kNow);
  if (below.ok()) {
    EXPECT_EQ(CheckNodeCertificate(*below, ca.certificate, kNow).status().code(), Code::kNotAllowed);
    EXPECT_EQ(CheckNodeCertificate(*below, worker, kNow).status().code(), Code::kNotAllowed);
  }
}

TEST(CertificateTest, ARequestIsSignedOnlyIfItsKeySignedIt) {
  const TestAuthority ca;
  const std::string good = *MakeRequest(*PrivateKey::Make(KeyKind::kNode));
  EXPECT_EQ(SignRequest("", NodeKind::kWorker, "a", ca.certificate, ca.key, kNow).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(SignRequest(ca.certificate, NodeKind::kWorker, "a", ca.certificate, ca.key, kNow).status().code(),
            Code::kInvalidArgument);
  // Another key than P-256.
  EXPECT_FALSE(MakeRequest(*PrivateKey::Make(KeyKind::kToken)).ok());
  size_t signed_anyway = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == 'A' ? 'B' : 'A';
    // Bits behind the last byte and the text of the frame do not count.
    if (SignRequest(bad, NodeKind::kWorker, "a", ca.certificate, ca.key, kNow).ok()) ++signed_anyway;
  }
  EXPECT_LE(signed_anyway, 4u);
}

TEST(CertificateTest, AKeyMustFitItsCertificate) {
  const TestAuthority ca, other;
  EXPECT_TRUE(CheckKeyFits(ca.certificate, ca.key).ok());
  EXPECT_EQ(CheckKeyFits(ca.certificate, other.key).code(), Code::kInvalidArgument);
  EXPECT_FALSE(SignRequest(*MakeRequest(ca.key), NodeKind::kWorker, "a", ca.certificate, other.key, kNow).ok());
}

TEST(CertificateTest, TextThatIsNoCertificateIsRefused) {
  const TestAuthority ca;
  EXPECT_FALSE(ReadCertificate("").ok());
  EXPECT_FALSE(ReadCertificate("-----BEGIN CERTIFICATE-----\n").ok());
  EXPECT_FALSE(ReadCertificate(ca.certificate + ca.certificate).ok());
  EXPECT_FALSE(ReadCertificate(ca.certificate + std::string(kMaxPemBytes, '\n')).ok());
  for (size_t n = 0; n + 1 < ca.certificate.size(); ++n) {
    EXPECT_FALSE(ReadCertificate(ca.certificate.substr(0, n)).ok()) << n;
  }
}

TEST(KeyTest, PemBringsAKeyBackAndNoOtherKind) {
  for (const KeyKind kind : {KeyKind::kNode, KeyKind::kToken}) {
    const PrivateKey key = *PrivateKey::Make(kind);
    const Secret<std::string> pem = key.ToPem();
    EXPECT_TRUE(pem.Reveal().starts_with("-----BEGIN PRIVATE KEY-----"));
    const auto read = PrivateKey::FromPem(pem, kind);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->Public().ToPem(), key.Public().ToPem());
    EXPECT_EQ(PublicKey::FromPem(key.Public().ToPem())->ToPem(), key.Public().ToPem());
    EXPECT_FALSE(PrivateKey::FromPem(pem, kind == KeyKind::kNode ? KeyKind::kToken : KeyKind::kNode).ok());
    EXPECT_EQ(key.Sign("x").ok(), kind == KeyKind::kToken);
  }
  EXPECT_FALSE(PrivateKey::FromPem(Secret<std::string>("no key"), KeyKind::kNode).ok());
  EXPECT_FALSE(PublicKey::FromPem("no key").ok());
}

TEST(NamesTest, RolesBringThoseThatTheyContain) {
  EXPECT_EQ(*ParseRoles("viewer"), kViewer);
  EXPECT_EQ(*ParseRoles("operator"), kOperator | kViewer);
  EXPECT_EQ(*ParseRoles("submitter,admin"), kAllPeople);
  EXPECT_EQ(RoleNames(*ParseRoles("admin,submitter")), "viewer,submitter,operator,admin");
  for (const char* text : {"", "worker", "Admin", "admin,", ",", "admin viewer", "root"}) {
    EXPECT_EQ(ParseRoles(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(NamesTest, NoPersonIsTakenForANode) {
  EXPECT_TRUE(CheckPerson("anna").ok());
  EXPECT_TRUE(CheckPerson("ci.bot@example.org").ok());
  for (const char* name : {"", "admin", "master", "join", "worker:3", "a b", ".a", "a/b", "a\"b"})
    EXPECT_FALSE(CheckPerson(name).ok()) << name;
  EXPECT_EQ(*WorkerInSubject("worker:3"), "3");
  for (const char* text : {"worker:", "worker", "Worker:3", "worker:a:b", "master.123456789abcdef0", ""}) {
    EXPECT_FALSE(WorkerInSubject(text).ok()) << text;
  }
}

TEST(NamesTest, ClusterIdsComeBack) {
  EXPECT_EQ(*ParseCluster(ClusterText(kCluster)), kCluster);
  for (const char* text : {"", "0000000000000000", "123456789ABCDEF0", "123", "123456789abcdef00"}) {
    EXPECT_FALSE(ParseCluster(text).ok()) << text;
  }
}

}  // namespace
}  // namespace mr::secure
