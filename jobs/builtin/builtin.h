// The built-in jobs: each file adds its operators and its job to the library's table. They use the
// SDK alone, as a user's library does.
#pragma once

#include "paceline/library.h"

namespace mr::builtin {

// Most operators here: equal input gives equal output, and nothing stays behind in the process.
inline constexpr uint32_t kPure = MR_DETERMINISTIC | MR_REUSABLE;

void AddGrep(Library& library);
void AddIdle(Library& library);
void AddJoin(Library& library);
void AddSort(Library& library);
void AddStream(Library& library);
void AddTopwords(Library& library);
void AddTriangles(Library& library);
void AddWordcount(Library& library);

inline void AddAll(Library& library) {
  AddWordcount(library);
  AddTopwords(library);
  AddGrep(library);
  AddSort(library);
  AddJoin(library);
  AddStream(library);
  AddTriangles(library);
  AddIdle(library);
}

}  // namespace mr::builtin
