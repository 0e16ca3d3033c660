// Owners of paths and who may read them. Values only; rights.h says what follows from them.
//
// A rule belongs to a file or a directory and holds for all below it that has no rule of its own. Owner and readers are
// inherited apart from each other. Without any rule:
// - /user/NAME belongs to NAME, whether it exists or not, and only NAME reads it;
// - all else belongs to kNoOwner (common/model/caller.h), and only it reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/fields.h"
#include "common/model/identity.h"

namespace mr::dfs {

// The directory of homes. Source: HDFS, whose home directories are /user/NAME.
inline constexpr std::string_view kHomes = "/user";

// The readers besides the owner. Stored: never reuse a number.
enum class ReadBy : uint8_t {
  kInherited = 0,  // as the directory above says
  kOwner = 1,      // nobody
  kAll = 2,        // everybody who may read files at all (rpc/schema/dfs.capnp)
};

// A stored struct: see common/base/fields.h for how to add a field.
struct Rule {
  std::string owner;  // a subject; "" = inherited
  ReadBy read = ReadBy::kInherited;
  bool empty() const { return owner.empty() && read == ReadBy::kInherited; }
  template <class V>
  static void Fields(V&& v) {
    v(&Rule::owner, &Rule::read);
  }
};

// Returns a directory in which this person may make temporary files: /tmp for those who write everywhere, else one at
// home.
inline std::string ScratchOf(const Identity& who) {
  return who.HasAny(kAdmin) ? "/tmp" : std::string(kHomes) + "/" + who.subject + "/.tmp";
}

}  // namespace mr::dfs
