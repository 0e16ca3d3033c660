#include "master/sim/calibrate/report.h"

#include <cmath>

#include "common/base/text.h"
#include "master/sim/calibrate/words.h"
#include "master/sim/studies/report.h"

namespace mr::sim {

namespace {

std::string Number(double x) { return Printed(std::abs(x) < 1000 ? "%.3g" : "%.0f", x); }

std::string LeftOutWords(const LeftOut& l) {
  std::string text;
  const auto add = [&](uint64_t n, const char* what) {
    if (n > 0) text += (text.empty() ? "" : ", ") + Grouped(n) + what;
  };
  add(l.failed, " failed");
  add(l.killed, " killed");
  add(l.killed_late, " of these after twice their stage's median");
  add(l.untimed, " without a duration");
  add(l.small, " in stages of fewer than 20");
  add(l.brief, " in stages with a median below 1 s");
  add(l.mixed, " in stages of mixed work");
  return text.empty() ? "none" : text;
}

std::string LastsWords(const Fit& fit) {
  if (fit.machine.found != Found::kFitted) return "";
  const Decay& d = fit.decay;
  if (!d.fitted) return "starts are not recorded or too few: how long a machine's factor lasts is unknown";
  if (d.bounded) return "lasts " + Number(d.lasts) + " s (" + Number(d.low) + " to " + Number(d.high) + " s)";
  return "lasts " + Number(d.low) + " s at least: it does not decay over lags up to " + Number(fit.pairs.span) + " s";
}

// The error of a covariance between few machines is unknown.
std::string ControlWords(const PairMean& p, bool error) {
  return Printed("           covariance %.5f", p.value) + (error ? Printed(" +- %.5f", p.error) : "") +
         Printed(" over the control's %.5f\n", p.control);
}

std::string LagWords(const std::vector<LagBin>& bins) {
  std::string text;
  for (const LagBin& bin : bins) {
    text += (text.empty() ? "           by seconds between starts: " : ", ") + Number(bin.lag) + ": " +
            Printed("%.4f", bin.pairs.value);
  }
  return text.empty() ? "" : text + "\n";
}

std::string ComponentRow(const char* name, const Component& c) {
  if (c.found == Found::kUnknown) return Printed("  %-8s not separated: %s\n", name, c.why.c_str());
  if (c.found == Found::kNone) return Printed("  %-8s none found in %s\n", name, c.why.c_str());
  std::string tail = "         -         -         -";
  if (c.tail > 0) tail = Printed("%10.3g%10.3g%10.3g", c.tail, c.tail_alpha, c.tail_cap);
  return Printed("  %-8s%6.1f %%%8.3g%s  %s\n", name, 100 * c.share, c.sigma, tail.c_str(), c.why.c_str());
}

std::string QuantileRow(const char* name, const Quantiles& measured, const Quantiles& fitted) {
  std::string row = Printed("  %-18s", name);
  for (int i = 0; i < 3; ++i) {
    row += measured.at[i] < 0 ? Printed("%9s%9s", "-", "-") : Printed("%9.3g%9.3g", measured.at[i], fitted.at[i]);
  }
  return row + "\n";
}

std::string TailWords(const Fit& fit) {
  std::string out = "  tail: " + Counted(fit.whole.over, "factor") + " above 2";
  if (fit.whole.over > 0) {
    out += ", half of them in " + Grouped(fit.half_over) + " of " + Counted(fit.stages, "stage");
  }
  if (fit.whole.tail > 0) {
    return out + "; alpha " + Number(fit.whole.tail_alpha) + " +- " + Number(fit.whole.alpha_error) + "\n";
  }
  return out + (fit.whole.over < kLeastTail ? "; too few for a fit\n" : "; not more than sigma explains\n");
}

std::string Table(const Fit& fit) {
  std::string out = fit.name + ": ";
  if (!fit.fitted) return out + fit.why_not + "\n  left out: " + LeftOutWords(fit.left_out) + "\n";
  out += Counted(fit.attempts, "attempt") + " in " + Counted(fit.stages, "stage");
  if (fit.workers > 0) out += " on " + Counted(fit.workers, "machine");
  out += "\n  left out: " + LeftOutWords(fit.left_out) + "\n  PART       SHARE   SIGMA      TAIL     ALPHA       CAP\n";
  out += ComponentRow("machine", fit.machine);
  if (fit.pairs.all.pairs > 0) out += ControlWords(fit.pairs.all, fit.machine.found != Found::kUnknown);
  out += LagWords(fit.pairs.bins);
  if (const std::string lasts = LastsWords(fit); !lasts.empty()) out += "           " + lasts + "\n";
  out += ComponentRow("skew", fit.skew);
  if (fit.task_pairs.pairs > 0) out += ControlWords(fit.task_pairs, true);
  out += ComponentRow("luck", fit.luck) + TailWords(fit);
  if (fit.startup.found == Found::kUnknown) {
    out += "  startup: unknown; " + fit.startup.why + "\n";
  } else {
    out += "  startup: " + Number(fit.startup.mean) + " s";
    if (fit.startup.sigma >= 0) out += ", sigma " + Number(fit.startup.sigma);
    out += "; " + fit.startup.why + "\n";
  }
  out += Printed("  %-18s%9s%9s%9s%9s%9s%9s\n", "QUANTILES", "P50", "FITTED", "P90", "FITTED", "P99", "FITTED");
  out += QuantileRow("factor", fit.factor, fit.fitted_factor);
  out += QuantileRow("slowest / median", fit.slowest, fit.fitted_slowest);
  return out;
}

// The keys of one component. prefix: "", "skew_" or "machine_".
std::string Keys(const std::string& prefix, const Component& c) {
  if (c.found == Found::kUnknown) return "# " + prefix + "sigma: " + c.why + "\n";
  std::string out;
  const auto key = [&](const char* name, double value) { out += prefix + name + " = " + Number(value) + "\n"; };
  key("sigma", c.sigma);
  key("tail", c.tail);
  if (c.tail > 0) {
    key("tail_alpha", c.tail_alpha);
    key("tail_cap", c.tail_cap);
  }
  return out;
}

std::string List(const Quantiles& q) {
  std::string out;
  for (const double x : q.at) {
    if (x >= 0) out += (out.empty() ? "" : ", ") + Number(x);
  }
  return "[" + out + "]";
}

std::string Toml(const Fit& fit) {
  const auto flag = [](bool yes) { return yes ? "true\n" : "false\n"; };
  std::string out = "\n[[source]]\nname = \"" + JsonEscape(fit.name) +
                    "\"\nattempts = " + std::to_string(fit.attempts) + "\nstages = " + std::to_string(fit.stages) +
                    "\nmachines = " + std::to_string(fit.workers) + "\n";
  const LeftOut& l = fit.left_out;
  out += "left_out = { failed = " + std::to_string(l.failed) + ", killed = " + std::to_string(l.killed) +
         ", killed_late = " + std::to_string(l.killed_late) + ", untimed = " + std::to_string(l.untimed) +
         ", small_stages = " + std::to_string(l.small) + ", brief_stages = " + std::to_string(l.brief) +
         ", mixed_stages = " + std::to_string(l.mixed) + " }\n";
  out += std::string("separates_machine = ") + flag(fit.machine.found != Found::kUnknown);
  out += std::string("separates_skew = ") + flag(fit.skew.found != Found::kUnknown);
  if (!fit.fitted) return out + "# Nothing is fitted: " + fit.why_not + "\n";
  out += "[source.task]\n# luck: " + fit.luck.why + "\n" + Keys("", fit.luck);
  if (fit.skew.found != Found::kUnknown) out += "# skew: " + fit.skew.why + "\n";
  out += Keys("skew_", fit.skew);
  if (fit.machine.found != Found::kUnknown) out += "# machine: " + fit.machine.why + "\n";
  out += Keys("machine_", fit.machine);
  if (const std::string lasts = LastsWords(fit); !lasts.empty()) {
    out += "# " + lasts + "\n";
    const Decay& d = fit.decay;
    if (d.fitted) out += "machine_lasts = " + Number(d.bounded ? d.lasts : d.low) + "\n";
  }
  out += "# startup: " + fit.startup.why + "\n";
  if (fit.startup.found == Found::kFitted) {
    out += "startup = " + Number(fit.startup.mean) + "\n";
    if (fit.startup.sigma >= 0) out += "startup_sigma = " + Number(fit.startup.sigma) + "\n";
  }
  out += "[source.worth]\n";
  const auto part = [&](const char* name, const Component& c, const PairMean& p) {
    if (c.found != Found::kUnknown) out += std::string(name) + "_share = " + Number(c.share) + "\n";
    if (p.pairs == 0) return;
    const bool error = c.found != Found::kUnknown;
    out += std::string(name) + "_pairs = " + std::to_string(p.pairs) + "\n" + name +
           "_covariance = { value = " + Number(p.value) + (error ? ", error = " + Number(p.error) : "") +
           ", control = " + Number(p.control) + " }\n";
  };
  part("machine", fit.machine, fit.pairs.all);
  if (!fit.pairs.bins.empty()) {
    std::string rows;
    for (const LagBin& bin : fit.pairs.bins) {
      rows += (rows.empty() ? "[" : ", [") + Number(bin.lag) + ", " + Number(bin.pairs.value) + ", " +
              Number(bin.pairs.error) + "]";
    }
    out += "machine_by_lag = [" + rows + "]  # seconds between starts, covariance, error\n";
  }
  part("skew", fit.skew, fit.task_pairs);
  part("luck", fit.luck, {});
  out += "factors_above_2 = " + std::to_string(fit.whole.over) +
         "\nstages_with_half_of_these = " + std::to_string(fit.half_over) + "\n";
  if (fit.whole.tail > 0) out += "tail_alpha_error = " + Number(fit.whole.alpha_error) + "\n";
  out += "# P50, P90 and P99; fewer where there are too few values\n";
  out += "factor = { measured = " + List(fit.factor) + ", fitted = " + List(fit.fitted_factor) + " }\n";
  out += "slowest_over_median = { measured = " + List(fit.slowest) + ", fitted = " + List(fit.fitted_slowest) + " }\n";
  return out;
}

}  // namespace

std::string FitTable(const std::vector<Fit>& fits) {
  std::string out =
      "A task's factor is machine x skew x luck, each lognormal(0, SIGMA) times min(Pareto(2, ALPHA), CAP) with\n"
      "probability TAIL. SHARE: of the variance of log factor, without the tail. Left out are attempts\n"
      "that cannot be compared with their stage. Stalls are not fitted: no record has progress within attempts.\n";
  for (const Fit& fit : fits) out += "\n" + Table(fit);
  return out;
}

std::string FitToml(const std::vector<Fit>& fits, const std::string& command) {
  std::string out =
      "# Written by `" + command +
      "`. Do not edit.\n"
      "# Straggler factors of recorded traces: machine x skew x luck (master/sim/engine/model.h), and what "
      "each fit is\n# worth (master/sim/calibrate/fit.h). stall_every and stall_lasts are not fitted: no record has "
      "progress "
      "within attempts.\n";
  for (const Fit& fit : fits) out += Toml(fit);
  return out;
}

}  // namespace mr::sim
