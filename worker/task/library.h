// Loads operator libraries: dlopen(RTLD_NOW | RTLD_LOCAL) by absolute path. Never dlclose: a library may leave threads,
// thread-local destructors and STB_GNU_UNIQUE symbols behind.
#pragma once

#include <string>

#include "common/abi/operator_table.h"
#include "common/base/status.h"

namespace mr::task {

// Returns the library's table after a check of magic, ABI, sizes, names and mandatory functions. A loaded library is
// not loaded again.
Result<const mr_library*> LoadLibrary(const std::string& path);
// Finds an operator. Names that begin with "mr." are the engine's own (engine_operators.h), for every library. Errors:
// kNotFound, with the names that exist.
Result<const mr_operator*> FindOperator(const mr_library* library, const std::string& name);
Result<const mr_job*> FindJob(const mr_library* library, const std::string& name);

}  // namespace mr::task
