// The built-in jobs: each file adds its operators and its job to the library's table. They use the
// SDK alone, as a user's library does.
#pragma once

#include "paceline/library.h"

namespace mr::builtin {

// Most operators here: equal input gives equal output, and nothing stays behind in the process.
inline constexpr uint32_t kPure = MR_DETERMINISTIC | MR_REUSABLE;

void AddWordcount(Library& library);

// All of them.
inline void AddAll(Library& library) { AddWordcount(library); }

}  // namespace mr::builtin
