// Loads operator libraries: dlopen(RTLD_NOW | RTLD_LOCAL) by absolute path, never dlclose, since a
// library may leave threads, thread-local destructors and STB_GNU_UNIQUE symbols behind.
#pragma once

#include <string>

#include "common/abi/operator_table.h"
#include "common/base/status.h"

namespace mr::task {

// The table, checked: magic, ABI, sizes, names, the functions that must be there. A library that
// was loaded before is not loaded again.
Result<const mr_library*> LoadLibrary(const std::string& path);
// Names that begin with "mr." are the engine's own (engine_operators.h), whatever the library. kNotFound names what
// there is.
Result<const mr_operator*> FindOperator(const mr_library* library, const std::string& name);
Result<const mr_job*> FindJob(const mr_library* library, const std::string& name);

}  // namespace mr::task
