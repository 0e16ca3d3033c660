#include "common/url/s3_listing.h"

#include <expat.h>

#include <charconv>
#include <memory>
#include <optional>

#include "common/url/url.h"

namespace mr::url {
namespace {

constexpr size_t kMostDepth = 16, kMostTextBytes = 64u << 10;

class ListingReader {
 public:
  explicit ListingReader(XML_Parser parser) : parser_(parser) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(
        parser, [](void* self, const XML_Char* name, const XML_Char**) { Of(self)->Begin(name); },
        [](void* self, const XML_Char*) { Of(self)->End(); });
    XML_SetCharacterDataHandler(parser, [](void* self, const XML_Char* text, int size) {
      Of(self)->Text({text, static_cast<size_t>(size)});
    });
    // Entities would be declared there, and S3 has none.
    XML_SetStartDoctypeDeclHandler(parser, [](void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
      Of(self)->Fail("it has a document type");
    });
  }

  Result<S3Listing> Read(std::string_view xml) {
    const bool parsed = XML_Parse(parser_, xml.data(), static_cast<int>(xml.size()), XML_TRUE) == XML_STATUS_OK;
    const std::string line = "line " + std::to_string(XML_GetCurrentLineNumber(parser_)) + ": ";
    if (!wrong_.empty()) return Corrupted(line + wrong_);
    if (!parsed) return Corrupted(line + XML_ErrorString(XML_GetErrorCode(parser_)));
    if (truncated_ && listing_.next.empty()) return Corrupted("it is not complete, and has no continuation token");
    if (!truncated_) listing_.next.clear();
    if (encoded_) {
      for (S3Object& object : listing_.objects) object.key = PercentDecode(object.key, /*plus=*/true);
    }
    return std::move(listing_);
  }

 private:
  static ListingReader* Of(void* self) { return static_cast<ListingReader*>(self); }

  void Fail(const std::string& why) {
    if (wrong_.empty()) wrong_ = why;
    XML_StopParser(parser_, XML_FALSE);
  }

  // After XML_StopParser, expat may still report the end of an empty element.
  void Begin(std::string_view name) {
    if (!wrong_.empty()) return;
    text_.clear();
    if (path_.empty() && name != "ListBucketResult") return Fail("it is no listing of a bucket");
    if (path_.size() == kMostDepth) return Fail("its elements are nested too deeply");
    path_.emplace_back(name);
    if (path_.size() == 2 && name == "Contents") object_.emplace();
  }

  void Text(std::string_view text) {
    if (!wrong_.empty()) return;
    if (text_.size() + text.size() > kMostTextBytes) return Fail("a text is longer than 64 KiB");
    text_ += text;
  }

  void End() {
    if (!wrong_.empty()) return;
    const std::string name = path_.back();
    if (path_.size() == 3 && object_ && path_[1] == "Contents") {
      if (name == "Key") object_->key = text_;
      if (name == "ETag") object_->etag = text_;
      if (name == "Size") SetSize();
    } else if (path_.size() == 2 && name == "Contents") {
      if (object_->key.empty()) return Fail("an object has no key");
      if (!sized_) return Fail("an object has no size");
      listing_.objects.push_back(*std::move(object_));
      object_.reset();
      sized_ = false;
    } else if (path_.size() == 2) {
      if (name == "IsTruncated") truncated_ = text_ == "true";
      if (name == "NextContinuationToken") listing_.next = text_;
      if (name == "EncodingType") encoded_ = text_ == "url";
    }
    path_.pop_back();
    text_.clear();
  }

  void SetSize() {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), object_->bytes);
    if (error != std::errc() || end != text_.data() + text_.size()) return Fail("a size is no number");
    sized_ = true;
  }

  const XML_Parser parser_;
  S3Listing listing_;
  std::vector<std::string> path_;  // names of the open elements
  std::string text_;               // of the innermost one
  std::optional<S3Object> object_;
  bool sized_ = false, truncated_ = false, encoded_ = false;
  std::string wrong_;
};

}  // namespace

Result<S3Listing> ParseS3Listing(std::string_view xml) {
  if (xml.size() > kMostListingBytes) return Corrupted("it has more than 16 MiB");
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr), XML_ParserFree);
  if (parser == nullptr) return Internal("no memory for a parser");
  auto listing = ListingReader(parser.get()).Read(xml);
  if (!listing.ok()) return listing.status().With("the listing cannot be read");
  return listing;
}

}  // namespace mr::url
