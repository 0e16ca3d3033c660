#include "common/rpc/credential.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/rng.h"

namespace mr::rpc {
namespace {

FrameHeader HeaderOf(const Secret<std::string>& frame) {
  FrameHeader header;
  std::copy_n(frame.Reveal().begin(), header.size(), header.begin());
  return header;
}
Secret<std::string> RestOf(const Secret<std::string>& frame) {
  return Secret<std::string>(frame.Reveal().substr(kFrameHeaderBytes));
}
FrameHeader Header(unsigned head, unsigned length) {
  return {static_cast<uint8_t>(head), static_cast<uint8_t>(head >> 8), static_cast<uint8_t>(length),
          static_cast<uint8_t>(length >> 8)};
}

TEST(CredentialTest, ComesBackAsItWasSent) {
  for (const auto& [kind, bytes] :
       {std::pair(CredentialKind::kNothing, std::string()), std::pair(CredentialKind::kSecret, std::string(32, '\xff')),
        std::pair(CredentialKind::kToken, std::string(kCredentialBytes, 't'))}) {
    const auto frame = EncodeCredential({kind, Secret<std::string>(bytes)});
    EXPECT_EQ(*CredentialLength(HeaderOf(frame)), bytes.size());
    const Credential out = DecodeCredential(HeaderOf(frame), RestOf(frame));
    EXPECT_EQ(out.kind, kind);
    EXPECT_EQ(out.bytes.Reveal(), bytes);
  }
}

TEST(CredentialTest, AWrongHeaderIsRefusedBeforeItsBytesAreRead) {
  EXPECT_TRUE(CredentialLength(Header(2, kCredentialBytes)).ok());
  EXPECT_FALSE(CredentialLength(Header(2, kCredentialBytes + 1)).ok()) << "too long";
  EXPECT_FALSE(CredentialLength(Header(2, 0xffff)).ok()) << "too long";
  EXPECT_FALSE(CredentialLength(Header(2, 0)).ok()) << "empty";
  EXPECT_FALSE(CredentialLength(Header(1, 1)).ok()) << "nothing has no bytes";
  for (const unsigned kind : {0u, 6u, 256u, 0xffffu}) EXPECT_FALSE(CredentialLength(Header(kind, 1)).ok()) << kind;
}

TEST(CredentialTest, EveryHeaderIsAcceptedOrRefusedWithinTheLimit) {
  Rng rng(7);
  for (int i = 0; i < 100'000; ++i) {
    const FrameHeader header = Header(static_cast<unsigned>(rng.Below(8)), static_cast<unsigned>(rng.Below(1 << 16)));
    if (const auto length = CredentialLength(header); length.ok()) {
      ASSERT_LE(*length, kCredentialBytes);
      (void)DecodeCredential(header, Secret<std::string>(std::string(*length, 'x')));
    }
    if (const auto length = EntryVerdictLength(header); length.ok()) {
      ASSERT_LE(*length, kEntryVerdictBytes);
      (void)DecodeEntryVerdict(header, Secret<std::string>(std::string(*length, 'x')));
    }
  }
}

TEST(VerdictTest, SuccessCarriesAProofAndARefusalItsReason) {
  const auto good = EncodeEntryVerdict({Code::kOk, Secret<std::string>("proof"), ""});
  EXPECT_EQ(DecodeEntryVerdict(HeaderOf(good), RestOf(good)).proof.Reveal(), "proof");
  const auto bad = EncodeEntryVerdict({Code::kNotAllowed, {}, "no\nno"});
  const EntryVerdict out = DecodeEntryVerdict(HeaderOf(bad), RestOf(bad));
  EXPECT_EQ(out.code, Code::kNotAllowed);
  EXPECT_EQ(out.why, "no?no") << "it is printed, so it must not move the cursor";
  EXPECT_TRUE(out.proof.Reveal().empty());
}

TEST(VerdictTest, ALongReasonIsCutAndAnUnknownCodeRefused) {
  const auto frame = EncodeEntryVerdict({Code::kRejected, {}, std::string(5000, 'w')});
  EXPECT_EQ(*EntryVerdictLength(HeaderOf(frame)), kEntryVerdictBytes);
  EXPECT_EQ(RestOf(frame).Reveal().size(), kEntryVerdictBytes);
  EXPECT_FALSE(EntryVerdictLength(Header(11, 0)).ok());
  EXPECT_FALSE(EntryVerdictLength(Header(0, kEntryVerdictBytes + 1)).ok());
}

}  // namespace
}  // namespace mr::rpc
