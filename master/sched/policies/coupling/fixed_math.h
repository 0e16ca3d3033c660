// exp and log with the same bits on every machine. libm differs between libraries, and a replay must draw and compare
// as the master did. Only + - * / are used, which IEEE 754 fixes.
#pragma once

namespace mr::sched {

// Returns e^x to a relative error of 1e-13; 0 below -700. Requires: x <= 700.
double FixedExp(double x);
// Returns the natural logarithm to an absolute error of 1e-13. Requires: x > 0, normal.
double FixedLog(double x);

}  // namespace mr::sched
