#include "master/core/input_places.h"

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

}  // namespace mr::master
