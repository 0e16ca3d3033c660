#include "master/sim/grid/report.h"

#include <algorithm>
#include <cmath>

#include "common/base/text.h"
#include "master/sim/grid/budget.h"

namespace mr::sim {

namespace {

constexpr int kBinWidth = 21;

std::string Mark(size_t list) { return Printed("(%zu)", list + 1); }

// Returns "1.031 .98-1.08 (2)!": ratio, interval, the reference, and a mark if it fails.
std::string Entry(const Comparison& c) {
  if (!c.judged) return "-";
  return Printed("%.3f %.2f-%.2f", c.ratio.value, c.ratio.low, c.ratio.high) + Mark(c.reference) + (c.fails ? "!" : "");
}

std::string RowOf(const char* name, const std::array<Comparison, kBinNames.size()>& bins) {
  std::string out = Printed("    %-5s", name);
  for (const Comparison& c : bins) out += Printed(" %-*s", kBinWidth, Entry(c).c_str());
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string Number(double x) { return std::isfinite(x) ? Printed("%.6g", x) : "null"; }

std::string Json(const Ratio& r) {
  return "\"ratio\":" + Number(r.value) + ",\"low\":" + Number(r.low) + ",\"high\":" + Number(r.high) +
         Printed(",\"pairs\":%u", r.pairs);
}

std::string Json(const std::array<Comparison, kBinNames.size()>& bins) {
  std::string out = "[";
  for (size_t b = 0; b < bins.size(); ++b) {
    const Comparison& c = bins[b];
    out += (b > 0 ? "," : "") + Printed("{\"bin\":\"%s\",\"jobs\":%.0f,", kBinNames[b], c.jobs) + Json(c.ratio) +
           Printed(",\"reference\":%zu,\"judged\":%s,\"fails\":%s}", c.reference, c.judged ? "true" : "false",
                   c.fails ? "true" : "false");
  }
  return out + "]";
}

std::string Json(const CellVerdict& v, const std::string& list) {
  return "{\"list\":\"" + JsonEscape(list) + "\",\"fails\":" + (v.fails ? "true" : "false") +
         ",\"mean\":" + Json(v.mean) + ",\"p95\":" + Json(v.p95) + ",\"slot_time\":{" + Json(v.slot_time.front()) +
         ",\"limit\":" + Number(v.slot_time_limit) + ",\"fails\":" + (v.slot_time_fails ? "true" : "false") +
         "},\"failed_jobs\":" + Number(v.failed_jobs) + ",\"deadlines\":" + Number(v.deadlines) +
         ",\"deadlines_missed\":" + Number(v.late) + ",\"reference_missed\":" + Number(v.reference_late) + "}";
}

// The ratios of slot time to each reference, with the reference's budget.
std::string Json(const std::vector<Ratio>& slot_time, const std::vector<std::optional<double>>& budgets) {
  std::string out = "[";
  for (size_t r = 0; r < slot_time.size(); ++r) {
    out +=
        (r > 0 ? ",{" : "{") + Json(slot_time[r]) + ",\"budget\":" + (budgets[r] ? Number(*budgets[r]) : "null") + "}";
  }
  return out + "]";
}

// Returns "0.998 of (1), 1.003 of (2) with budget 0.05", and says where a budget did not make slot times equal.
std::string SlotTimes(const std::vector<Ratio>& slot_time, const std::vector<std::optional<double>>& budgets) {
  std::string out;
  for (size_t r = 0; r < slot_time.size() && (r == 0 || !budgets.empty()); ++r) {
    out += (r > 0 ? ", " : "") + Printed("%.3f of ", slot_time[r].value) + Mark(r);
    if (budgets.empty() || !budgets[r]) continue;
    const bool equal = std::abs(slot_time[r].value - 1) <= kEqualSlotTime;
    out += Printed(" with budget %.3g", *budgets[r]) + (equal ? "" : " (not equal)");
  }
  return out;
}

// In how many of the cells that judge it a bin's mean is shorter by kMuch.
std::string ShorterBins(const GridReport& report, size_t list) {
  constexpr double kMuch = .05;
  std::string out = Printed("[%zu]  cells whose mean is at least %.0f %% shorter:", list + 1, 100 * kMuch);
  for (size_t b = 0; b < kBinNames.size(); ++b) {
    size_t judged = 0, shorter = 0;
    for (const GridReport::Row& row : report.rows) {
      if (row.verdicts.empty() || !row.verdicts[list].mean[b].judged) continue;
      ++judged;
      shorter += row.verdicts[list].mean[b].ratio.value <= 1 - kMuch;
    }
    out += (b > 0 ? ", " : " ") + Printed("%s: %zu of %zu", kBinNames[b], shorter, judged);
  }
  return out + "\n";
}

std::string Texts(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ",\"" : "\"") + JsonEscape(text) + "\"";
  return out + "]";
}

}  // namespace

bool GridReport::Row::fails() const { return !verdicts.empty() && verdicts.front().fails; }

size_t GridReport::failed() const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.fails(); }));
}

GridReport ReportOf(const Grid& grid, const GridOptions& o, const std::vector<CellRuns>& cells) {
  const size_t references = o.references;
  const auto first_judged = o.lists.begin() + static_cast<std::ptrdiff_t>(references);
  GridReport report{o.seed, o.seeds, {o.lists.begin(), first_judged}, {first_judged, o.lists.end()}, {}};
  const bool budgets = std::any_of(o.lists.begin(), first_judged, HasBudget);
  for (const CellRuns& cell : cells) {
    GridReport::Row row{&grid.cells[cell.cell], cell.skipped, cell.load, {}, {}};
    if (budgets)
      row.budgets.assign(cell.budgets.begin(), cell.budgets.begin() + static_cast<std::ptrdiff_t>(references));
    for (size_t l = references; cell.skipped.empty() && l < o.lists.size(); ++l) {
      const std::vector<std::vector<SeedRun>> to(cell.runs.begin(),
                                                 cell.runs.begin() + static_cast<std::ptrdiff_t>(references));
      row.verdicts.push_back(Judge(cell.runs[l], to, row.cell->load, grid.cells.size(), o.limits));
    }
    report.rows.push_back(std::move(row));
  }
  std::stable_partition(report.rows.begin(), report.rows.end(), [](const auto& row) { return row.fails(); });
  return report;
}

std::string RowText(const GridReport::Row& row) {
  if (!row.skipped.empty()) return "SKIP  " + row.cell->name + ": " + row.skipped + "\n";
  std::string out;
  for (size_t l = 0; l < row.verdicts.size(); ++l) {
    const CellVerdict& v = row.verdicts[l];
    out += std::string(v.fails ? "FAIL  " : "ok    ") + row.cell->name;
    if (row.verdicts.size() > 1) out += Printed(" [%zu]", l + 1);
    out += Printed(": load %.0f %% (measured %.0f %%), slot time ", 100 * row.cell->load, 100 * row.load) +
           SlotTimes(v.slot_time, row.budgets);
    if (v.slot_time_fails) out += Printed(", above %.2f!", v.slot_time_limit);
    if (v.deadlines > 0) {
      out += Printed(", %.0f %% of %.0f deadlines missed (%.0f %% under (1))", 100 * v.late, v.deadlines,
                     100 * v.reference_late);
    }
    if (v.failed_jobs > 0) out += Printed(", %.0f more jobs failed!", v.failed_jobs);
    out += "\n" + RowOf("mean", v.mean) + RowOf("p95", v.p95);
  }
  return out;
}

std::string Table(const GridReport& r) {
  std::string out;
  for (size_t l = 0; l < r.references.size(); ++l) out += Mark(l) + "  " + r.references[l] + "\n";
  for (size_t l = 0; l < r.judged.size(); ++l) out += Printed("[%zu]  ", l + 1) + r.judged[l] + "\n";
  out +=
      Printed("\nSeeds %llu to %llu. Ratio of completion to the better reference, its interval, and the reference.\n",
              static_cast<unsigned long long>(r.seed), static_cast<unsigned long long>(r.seed + r.seeds - 1));
  out += "!: the interval is above the limit. -: too few jobs.\n";
  out += "\n        ";
  for (const char* bin : kBinNames) out += Printed("  %-*s", kBinWidth - 1, bin);
  out.erase(out.find_last_not_of(' ') + 1);
  out += "\n";
  size_t skipped = 0;
  for (const GridReport::Row& row : r.rows) {
    skipped += !row.skipped.empty();
    out += RowText(row);
  }
  out += "\n";
  for (size_t l = 0; l < r.judged.size(); ++l) out += ShorterBins(r, l);
  return out + Printed("%zu cells, %zu failed, %zu skipped\n", r.rows.size(), r.failed(), skipped);
}

std::string Json(const GridReport& r) {
  std::string out =
      Printed("{\"version\":1,\"seed\":%llu,\"seeds\":%u,", static_cast<unsigned long long>(r.seed), r.seeds) +
      "\"references\":" + Texts(r.references) + ",\"judged\":" + Texts(r.judged) + ",\"cells\":[";
  bool first = true;
  for (const GridReport::Row& row : r.rows) {
    out += std::string(first ? "" : ",") + "{\"name\":\"" + JsonEscape(row.cell->name) +
           "\",\"load\":" + Number(row.cell->load);
    first = false;
    if (!row.skipped.empty()) {
      out += ",\"skipped\":\"" + JsonEscape(row.skipped) + "\"}";
      continue;
    }
    out += ",\"measured_load\":" + Number(row.load) + ",\"verdicts\":[";
    for (size_t l = 0; l < row.verdicts.size(); ++l) out += (l > 0 ? "," : "") + Json(row.verdicts[l], r.judged[l]);
    out += "]";
    if (!row.budgets.empty()) out += ",\"slot_times\":" + Json(row.verdicts.front().slot_time, row.budgets);
    out += "}";
  }
  return out + Printed("],\"failed\":%zu}\n", r.failed());
}

}  // namespace mr::sim
