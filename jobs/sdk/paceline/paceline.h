// The Paceline SDK: everything an operator library includes. Header-only; nothing to link.
// Start at lambda.h for a map and a reduce in a few lines, else at operator.h (what to derive from), plan.h (a job as
// stages) and library.h (the export); tests of operators include paceline/testing.h.
#pragma once

#include "paceline/args.h"
#include "paceline/codec.h"
#include "paceline/config.h"
#include "paceline/context.h"
#include "paceline/csv.h"
#include "paceline/emitter.h"
#include "paceline/error.h"
#include "paceline/lambda.h"
#include "paceline/library.h"
#include "paceline/operator.h"
#include "paceline/plan.h"
#include "paceline/text.h"
#include "paceline/types.h"
#include "paceline/values.h"
