#include "jobs/builtin/builtin.h"

PACELINE_LIBRARY(mr::builtin::AddAll(library);)
