// The rows of job topk with the largest or smallest numbers. Rows with equal numbers are ordered by their bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/expressions/decimal.h"

namespace mr::builtin {

using expr::Decimal;

// Keeps the n best rows that it receives, in memory for about 2n.
class BestRows {
 public:
  BestRows(size_t n, bool smallest) : n_(n), smallest_(smallest) {}

  // Returns the bytes by which the rows in memory have grown, about.
  size_t Add(const Decimal& value, std::string_view row) {
    if (rows_.size() >= n_ && sorted_ == rows_.size() && Better(rows_[n_ - 1], value, row)) return 0;
    rows_.push_back({value, std::string(row)});
    if (rows_.size() >= 2 * n_ + 64) Keep();
    return sizeof(Row) + row.size();
  }
  // Calls f(value, row) for the n best rows, the best first.
  template <class F>
  void ForEach(F&& f) {
    Keep();
    for (const Row& row : rows_) f(row.value, row.text);
  }

 private:
  struct Row {
    Decimal value;
    std::string text;
  };
  bool Better(const Row& a, const Decimal& value, std::string_view text) const {
    const int c = a.value.Compare(value);
    return c != 0 ? (smallest_ ? c < 0 : c > 0) : a.text <= text;
  }
  void Keep() {
    std::sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
      const int c = a.value.Compare(b.value);
      return c != 0 ? (smallest_ ? c < 0 : c > 0) : a.text < b.text;
    });
    if (rows_.size() > n_) rows_.resize(n_);
    sorted_ = rows_.size();
  }
  size_t n_;
  bool smallest_;
  size_t sorted_ = 0;  // rows that are sorted
  std::vector<Row> rows_;
};

}  // namespace mr::builtin
