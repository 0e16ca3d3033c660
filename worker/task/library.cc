#include "worker/task/library.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <vector>

#include "common/base/text.h"
#include "worker/task/csv_quotes.h"

namespace mr::task {
namespace {

Status CheckOperator(const std::string& path, uint32_t index, const mr_operator* op) {
  const std::string which = path + ": operator " + std::to_string(index);
  if (op == nullptr) return InvalidArgument(which + " is a null pointer");
  constexpr size_t kFirstSize = offsetof(mr_operator, input_types);  // size in the first release of ABI 1
  if (op->struct_size < kFirstSize) {
    return InvalidArgument(which + " has struct_size " + std::to_string(op->struct_size) + ", below the " +
                           std::to_string(kFirstSize) + " of ABI 1; build it with current headers");
  }
  if (op->name == nullptr || op->name[0] == '\0') return InvalidArgument(which + " has no name");
  if (!op->open || !op->batch || !op->end || !op->close) {
    return InvalidArgument(which + " (" + op->name + ") lacks one of open, batch, end, close");
  }
  return {};
}

Status CheckTable(const std::string& path, const mr_library* library) {
  if (library == nullptr) return InvalidArgument(path + ": " MR_LIBRARY_SYMBOL "() returned null");
  if (library->magic != MR_ABI_MAGIC) {
    return InvalidArgument(path + ": the library table has a wrong magic number; it was not made by the SDK");
  }
  if (library->abi != MR_ABI_VERSION) {
    return InvalidArgument(path + ": built for operator ABI " + std::to_string(library->abi) + ", this is ABI " +
                           std::to_string(MR_ABI_VERSION) + "; build it with the matching SDK");
  }
  if (library->struct_size < sizeof(mr_library)) {
    return InvalidArgument(path + ": the library table has struct_size " + std::to_string(library->struct_size) +
                           ", below the " + std::to_string(sizeof(mr_library)) + " of ABI 1");
  }
  if ((library->operator_count > 0 && library->operators == nullptr) ||
      (library->job_count > 0 && library->jobs == nullptr)) {
    return InvalidArgument(path + ": the library table counts operators or jobs but lists none");
  }
  for (uint32_t i = 0; i < library->operator_count; ++i) {
    MR_RETURN_IF_ERROR(CheckOperator(path, i, library->operators[i]));
    for (uint32_t k = 0; k < i; ++k) {
      if (std::string_view(library->operators[k]->name) == library->operators[i]->name) {
        return InvalidArgument(path + ": two operators are named " + library->operators[i]->name);
      }
    }
  }
  std::set<std::string_view> jobs;
  for (uint32_t i = 0; i < library->job_count; ++i) {
    const mr_job* job = library->jobs[i];
    const std::string which = path + ": job " + std::to_string(i);
    if (job == nullptr || !MR_HAS(job, plan)) return InvalidArgument(which + " has a wrong struct_size");
    if (job->name == nullptr || job->plan == nullptr) return InvalidArgument(which + " lacks a name or plan()");
    if (!jobs.insert(job->name).second) return InvalidArgument(path + ": two jobs are named " + job->name);
  }
  return {};
}

// Returns the loader's text without the path, which stands before it, and with the names of C++ symbols demangled.
std::string LoaderText(std::string text, const std::string& path) {
  if (text.rfind(path + ": ", 0) == 0) text.erase(0, path.size() + 2);
  const size_t begin = text.find("_Z");
  if (begin == text.npos) return text;
  const size_t end = std::min(text.find_first_of(" ,;()", begin), text.size());
  int failed = 0;
  char* const name = abi::__cxa_demangle(text.substr(begin, end - begin).c_str(), nullptr, nullptr, &failed);
  if (failed == 0) text.replace(begin, end - begin, "'" + std::string(name) + "'");
  free(name);
  return text;
}

template <class T>
Result<const T*> Find(const T* const* list, uint32_t count, const std::string& what, const std::string& name) {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < count; ++i) {
    if (name == list[i]->name) return list[i];
    names.push_back(list[i]->name);
  }
  std::string all;
  for (std::string_view n : names) all += (all.empty() ? "" : ", ") + std::string(n);
  // The text does not begin with "the library", because a user of a built-in job has not named one.
  return NotFound("there is no " + what + " '" + name + "'" + DidYouMean(name, names) +
                  "; the library has: " + (all.empty() ? "none" : all));
}

}  // namespace

Result<const mr_library*> LoadLibrary(const std::string& path) {
  static auto* const loaded = new std::map<std::string, const mr_library*>;
  if (const auto it = loaded->find(path); it != loaded->end()) return it->second;
  char absolute[PATH_MAX];
  if (realpath(path.c_str(), absolute) == nullptr) {
    return Unavailable("cannot load operator library " + path + ": " + strerror(errno));
  }
  dlerror();
  void* handle = nullptr;
  try {
    handle = dlopen(absolute, RTLD_NOW | RTLD_LOCAL);
  } catch (...) {
    return InvalidArgument("cannot load operator library " + path + ": a static constructor threw");
  }
  if (handle == nullptr) {
    const char* why = dlerror();
    return InvalidArgument("cannot load operator library " + path + ": " +
                           (why != nullptr ? LoaderText(why, absolute) : "unknown reason"));
  }
  const auto table = reinterpret_cast<mr_library_table_fn>(dlsym(handle, MR_LIBRARY_SYMBOL));
  if (table == nullptr) {
    return InvalidArgument(path + " is not an operator library: it does not export " MR_LIBRARY_SYMBOL
                                  "(); declare operators with the SDK's macros");
  }
  const mr_library* library = nullptr;
  try {
    library = table();
  } catch (const std::exception& e) {
    return InvalidArgument(path + ": " MR_LIBRARY_SYMBOL "() threw: " + e.what());
  } catch (...) {
    return InvalidArgument(path + ": " MR_LIBRARY_SYMBOL "() threw");
  }
  MR_RETURN_IF_ERROR(CheckTable(path, library));
  loaded->emplace(path, library);
  return library;
}

Result<const mr_operator*> FindOperator(const mr_library* library, const std::string& name) {
  if (name == kCsvQuotesOperator) return CsvQuotesOperator();
  return Find(library->operators, library->operator_count, "operator", name);
}

Result<const mr_job*> FindJob(const mr_library* library, const std::string& name) {
  return Find(library->jobs, library->job_count, "job", name);
}

}  // namespace mr::task
