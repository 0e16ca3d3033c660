#include "jobs/mrctl/input_sizes.h"

#include <optional>

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/uri.h"

namespace mr::ctl {
namespace {

using Sizes = std::vector<std::optional<InputSize>>;

Result<Sizes> SizesOf(const std::vector<std::string>& uris, Client* client) {
  if (client != nullptr) return client->Measure(uris);
  Sizes sizes;
  for (const std::string& uri : uris) {
    const auto files = IsFileUri(uri) ? ExpandFileUri(uri, FileRoots::Any()) : NotFound("");
    sizes.push_back(files.ok() ? std::optional(SizeOf(*files)) : std::nullopt);
  }
  return sizes;
}

}  // namespace

uint64_t BytesOfRecords(const InputSize& size) { return size.bytes + (kCompressedGrowth - 1) * size.compressed; }

Result<std::map<std::string, uint64_t>> MeasureInputs(const std::vector<std::string>& wanted,
                                                      const SpecOptions& options, Client* client) {
  std::map<std::string, uint64_t> known;
  std::vector<std::string> words, uris;
  for (const std::string& word : wanted) {
    auto uri = ResolveInputUri(word, options.bare_is_local ? BarePath::kLocalFile : BarePath::kBlockStore, options.cwd);
    if (!uri.ok()) continue;
    words.push_back(word);
    uris.push_back(*std::move(uri));
  }
  if (uris.empty()) return known;
  MR_ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(uris, client));
  for (size_t i = 0; i < words.size(); ++i) {
    if (sizes[i].has_value()) known[words[i]] = BytesOfRecords(*sizes[i]);
  }
  return known;
}

}  // namespace mr::ctl
