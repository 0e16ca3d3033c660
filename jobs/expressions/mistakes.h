// Comparisons of texts with numbers. SQL orders all numbers before all texts, so such a comparison has the same result
// for every row: the expression is refused, with what to write instead.
#pragma once

#include <string>
#include <vector>

#include "jobs/expressions/tokens.h"
#include "jobs/expressions/types.h"

namespace mr::expr {

// Returns why the expression is refused, or "".
std::string FindMistake(const std::vector<Token>& tokens, const std::vector<Column>& columns);

}  // namespace mr::expr
