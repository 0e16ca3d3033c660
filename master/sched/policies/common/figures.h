// Names of the figures that policies report (Policy::Figures).
#pragma once

namespace mr::sched {

inline constexpr char kBudgetFigure[] = "clone_budget_slots";
inline constexpr char kUsedFigure[] = "clone_budget_used_slots";
inline constexpr char kLentFigure[] = "clone_lent_slots";      // lent to clones, of all jobs
inline constexpr char kOmegaFigure[] = "clone_omega_seconds";  // label: the bin of the job's size

}  // namespace mr::sched
