// Parts of queries that the namespace and its callers' view share. Private to dfs/meta.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dfs/meta/rights.h"
#include "dfs/meta/state.h"

namespace mr::dfs {

// Returns the answer for a path that is absent, or that is absent for its caller.
Status Missing(const std::string& path);
// The same for a file's id, and for an open file's lease.
Status MissingFile(uint64_t file);
Status NoLease(uint64_t lease);

std::string Join(const std::string& directory, const std::string& name);
FileInfo InfoOf(const State& s, uint64_t id, std::string path, const Rights& rights);

// Returns whether a reader may see this entry.
using SeesFn = std::function<bool(uint64_t node, const Rights& rights)>;
// Returns a page of an existing directory, or the existing file itself. sees: null = all of it.
ListedFiles ListIn(const State& s, uint64_t id, const std::string& path, const std::string& after, size_t bytes,
                   const SeesFn& sees);
// Adds the files below a node, without those that are left out of inputs. Returns false at the first one that the
// reader may not see. sees: null = all.
bool Collect(const State& s, uint64_t id, const std::string& path, const Rights& rights, const SeesFn& sees,
             std::vector<FileInfo>* out);
// Requires: `id` is a file.
LocatedFile LocateIn(const State& s, uint64_t id, std::string path, uint64_t offset, uint64_t length,
                     const std::string& near, uint32_t turn);

}  // namespace mr::dfs
