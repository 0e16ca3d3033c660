// The Paceline SDK: all headers of an operator library. Header-only; there is nothing to link. Start with lambda.h for
// one map and one reduce. Otherwise read operator.h (base classes), plan.h (stages of a job) and library.h (the
// export). Tests include paceline/testing.h.
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
