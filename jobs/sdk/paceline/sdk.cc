// The functions of the SDK that are no templates, for builds with -DPACELINE_COMPILED (compiled.h).
#include "paceline/args_inl.h"
#include "paceline/plan_inl.h"
#include "paceline/run_plan_inl.h"
