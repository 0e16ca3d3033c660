// Reads the answer of S3's ListObjectsV2: XML from a server, by expat, within limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace mr::url {

inline constexpr size_t kMostListingBytes = 16u << 20;  // of one page; S3's have 1000 objects of at most some KiB each

struct S3Object {
  std::string key;
  uint64_t bytes = 0;
  std::string etag;  // as in the answer, with quotes
};
struct S3Listing {
  std::vector<S3Object> objects;
  std::string next;  // continuation token; empty: this is the last page
};

// Errors: kCorrupted, with the line: no well-formed listing, a document type, deeper than 16 elements, a text over
// 64 KiB, or over kMostListingBytes. Pure.
Result<S3Listing> ParseS3Listing(std::string_view xml);

}  // namespace mr::url
