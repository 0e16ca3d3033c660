// Listings of buckets, also from servers that send anything.
#include "common/url/s3_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace mr::url {
namespace {

using testing::HasSubstr;

constexpr char kPage[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>in/</Prefix>
<IsTruncated>true</IsTruncated>
<EncodingType>url</EncodingType><NextContinuationToken>a&amp;b=</NextContinuationToken>
<Contents><Key>in/a+b%2B.csv</Key><Size>5</Size>
<ETag>&quot;e1&quot;</ETag><Owner><ID>x</ID><Key>no</Key></Owner></Contents>
<Contents><Key>in/c</Key><Size>0</Size></Contents><CommonPrefixes><Prefix>in/d/</Prefix></CommonPrefixes>
</ListBucketResult>)";

TEST(S3ListingTest, ReadsKeysSizesAndTheNextPage) {
  const auto listing = ParseS3Listing(kPage);
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  ASSERT_EQ(listing->objects.size(), 2u);
  EXPECT_EQ(listing->objects[0].key, "in/a b+.csv");
  EXPECT_EQ(listing->objects[0].bytes, 5u);
  EXPECT_EQ(listing->objects[0].etag, "\"e1\"");
  EXPECT_EQ(listing->objects[1].key, "in/c");
  EXPECT_EQ(listing->next, "a&b=");
  const auto plain =
      ParseS3Listing("<ListBucketResult><Contents><Key>a%2B</Key><Size>1</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->objects[0].key, "a%2B") << "not encoded where the server does not say so";
  EXPECT_EQ(plain->next, "");
}

TEST(S3ListingTest, RefusesWhatIsNoListing) {
  const auto message = [](const std::string& xml) {
    const auto listing = ParseS3Listing(xml);
    EXPECT_EQ(listing.status().code(), Code::kCorrupted) << xml;
    return listing.status().message();
  };
  const auto in = [](const std::string& text) { return "<ListBucketResult>" + text + "</ListBucketResult>"; };
  message("");
  message("<html></html>");
  message("<html/>");
  message("<ListBucketResult>");
  EXPECT_THAT(message("<!DOCTYPE x [<!ENTITY a \"aaaa\">]>" + in("<Name>&a;</Name>")), HasSubstr("document type"));
  EXPECT_THAT(message(in("<Contents><Size>1</Size></Contents>")), HasSubstr("no key"));
  EXPECT_THAT(message(in("<Contents><Key>a</Key></Contents>")), HasSubstr("no size"));
  EXPECT_THAT(message(in("<Contents><Key>a</Key><Size>-1</Size></Contents>")), HasSubstr("no number"));
  EXPECT_THAT(message(in("<IsTruncated>true</IsTruncated>")), HasSubstr("continuation token"));
  EXPECT_THAT(message(in("<Name>" + std::string(70'000, 'a') + "</Name>")), HasSubstr("64 KiB"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_THAT(message("<ListBucketResult>" + deep), HasSubstr("too deeply"));
  EXPECT_THAT(message(std::string(kMostListingBytes + 1, ' ')), HasSubstr("16 MiB"));
}

TEST(S3ListingTest, DamagedListingsAreRefusedOrReadWithinLimits) {
  Rng rng(7);
  for (int i = 0; i < 3000; ++i) {
    std::string xml = kPage;
    for (uint64_t edits = 1 + rng.Below(4); edits > 0 && !xml.empty(); --edits) {
      const size_t at = rng.Below(xml.size());
      switch (rng.Below(4)) {
        case 0: xml[at] = static_cast<char>(rng.Below(256)); break;
        case 1: xml.erase(at, 1 + rng.Below(20)); break;
        case 2: {
          const size_t from = rng.Below(xml.size());
          xml.insert(at, xml.substr(from, rng.Below(60)));
          break;
        }
        default: xml.resize(at + 1);
      }
    }
    const auto listing = ParseS3Listing(xml);
    if (!listing.ok()) {
      EXPECT_EQ(listing.status().code(), Code::kCorrupted) << xml;
      continue;
    }
    EXPECT_LE(listing->objects.size(), 10u);
    for (const S3Object& object : listing->objects) EXPECT_FALSE(object.key.empty()) << xml;
  }
}

}  // namespace
}  // namespace mr::url
