// The Paceline SDK: all headers of an operator library. Header-only; there is nothing to link. Start with library.h,
// which has a whole library of 12 lines. Then read lambda_operators.h and operator.h (operators), typed_plan.h and
// plan.h (stages of a job). Tests include paceline/testing.h.
#pragma once

#include "paceline/args.h"
#include "paceline/codec.h"
#include "paceline/config.h"
#include "paceline/context.h"
#include "paceline/csv.h"
#include "paceline/emitter.h"
#include "paceline/error.h"
#include "paceline/handle.h"
#include "paceline/lambda.h"
#include "paceline/lambda_operators.h"
#include "paceline/library.h"
#include "paceline/operator.h"
#include "paceline/plan.h"
#include "paceline/text.h"
#include "paceline/typed_plan.h"
#include "paceline/types.h"
#include "paceline/values.h"
