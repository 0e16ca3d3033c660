#include "master/core/input_places.h"

#include <algorithm>

namespace mr::master {
namespace {

Result<dfs::LocatedFile> Locate(const dfs::Namespace& files, const JobPlan& plan, const Split& split, uint64_t length,
                                const std::string& near, uint32_t turn) {
  if (split.file < plan.files.size() && plan.files[split.file].id != 0) {
    return files.LocateFile(plan.files[split.file].id, split.offset, length, near, turn);
  }
  // Planned by a release that kept no versions.
  return files.Locate(DfsPath(split.uri), split.offset, length, near, turn);
}

}  // namespace

std::string DfsPath(const std::string& uri) { return uri.substr(std::string("dfs://").size()); }

std::vector<WorkerId> HoldersOf(const dfs::Namespace& files, const JobPlan& plan, const Split& split) {
  if (!split.uri.starts_with("dfs://")) return {};
  const auto located = Locate(files, plan, split, split.length, "", 0);
  if (!located.ok() || located->blocks.empty()) return {};
  return located->blocks.front().workers;
}

Result<std::vector<LocatedBlock>> BlocksOf(const dfs::Namespace& files, const JobPlan& plan, const Split& split,
                                           const std::string& near, uint32_t attempt) {
  if (!split.uri.starts_with("dfs://")) return std::vector<LocatedBlock>{};
  MR_ASSIGN_OR_RETURN(auto located, Locate(files, plan, split, split.length + 1, near, attempt));
  return std::move(located.blocks);
}

std::optional<MissingInput> MissingInputs::Of(uint32_t stage, uint32_t task) {
  for (const Split& split : plan_.stages[stage].SplitsOf(task)) {
    if (split.length == 0 || split.file >= plan_.files.size() || !split.uri.starts_with("dfs://")) continue;
    const uint64_t file = plan_.files[split.file].id;
    if (file == 0) continue;  // planned by a release that kept no versions
    auto it = missing_.find(file);
    if (it == missing_.end()) it = missing_.emplace(file, files_.MissingIn(file)).first;
    const std::vector<dfs::MissingBlock>& blocks = it->second;
    const auto ends_behind = [](uint64_t offset, const dfs::MissingBlock& b) { return offset < b.offset + b.length; };
    const auto block = std::upper_bound(blocks.begin(), blocks.end(), split.offset, ends_behind);
    // The last record may end in the block behind the split.
    if (block == blocks.end() || block->offset > split.offset + split.length) continue;
    return MissingInput{block->block, split.uri, block->offset <= split.offset};
  }
  return std::nullopt;
}

}  // namespace mr::master
