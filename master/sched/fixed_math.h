// exp and log that come to the same bits on every machine: libm's differ between libraries, and a replay must draw and
// compare as the master did. By + - * / alone, which IEEE 754 fixes.
#pragma once

namespace mr::sched {

// e^x to a relative error of 1e-13; 0 below -700. REQUIRES x <= 700.
double FixedExp(double x);
// The natural logarithm to an absolute error of 1e-13. REQUIRES x > 0, normal.
double FixedLog(double x);

}  // namespace mr::sched
