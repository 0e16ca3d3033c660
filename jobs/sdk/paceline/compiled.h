// PACELINE_INLINE: how functions of the SDK that are no templates are defined. By default they are inline, and the SDK
// is headers only. With -DPACELINE_COMPILED they are compiled once, in sdk.cc, and not in each file of a library: a
// rebuild takes a quarter less time. paceline_add_library does that. All files of a program or library must agree.
#pragma once

#ifdef PACELINE_COMPILED
#define PACELINE_INLINE
#else
#define PACELINE_INLINE inline
#endif
