#include "common/io/sha256.h"

#include <gtest/gtest.h>

#include "common/io/files.h"

namespace mr {
namespace {

std::string Digest(std::string_view text) {
  Sha256 digest;
  digest.Update(text);
  return digest.HexDigest();
}

// Vectors of FIPS 180-4's examples and of NIST's byte-oriented set.
TEST(Sha256Test, MatchesThePublishedVectors) {
  EXPECT_EQ(Digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Digest(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, TheBordersOfUpdatesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 300; ++i) text.push_back(static_cast<char>(i * 7));
  for (const size_t piece : {1u, 7u, 63u, 64u, 65u, 128u, 299u}) {
    Sha256 digest;
    for (size_t at = 0; at < text.size(); at += piece) digest.Update(text.substr(at, piece));
    EXPECT_EQ(digest.HexDigest(), Digest(text)) << "pieces of " << piece;
  }
}

TEST(Sha256Test, ADigestTakenHalfwayDoesNotDisturbTheRest) {
  Sha256 digest;
  digest.Update("ab");
  EXPECT_EQ(digest.HexDigest(), Digest("ab"));
  digest.Update("c");
  EXPECT_EQ(digest.HexDigest(), Digest("abc"));
}

TEST(Sha256Test, AFileHasTheDigestOfItsBytes) {
  const std::string path = testing::TempDir() + "sha256_file";
  const std::string text(600'000, 'q');
  ASSERT_TRUE(WriteFileDurably(path, text).ok());
  EXPECT_EQ(*Sha256File(path), Digest(text));
  EXPECT_EQ(Sha256File(path + ".absent").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace mr
