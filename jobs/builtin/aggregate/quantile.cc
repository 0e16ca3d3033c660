#include "jobs/builtin/aggregate/quantile.h"

#include "jobs/builtin/aggregate/measure.h"

namespace mr::builtin {

Quantile::Quantile(uint64_t count, uint32_t rank) : count_(count) {
  if (count == 0) return;
  const auto place = static_cast<unsigned __int128>(count - 1) * rank;
  first_ = static_cast<uint64_t>(place / kRankUnits);
  part_ = static_cast<uint32_t>(place % kRankUnits);
}

void Quantile::Add(const Decimal& number, uint64_t times) {
  const uint64_t end = seen_ + times;
  if (seen_ <= first_ && first_ < end) lower_ = number;
  if (seen_ <= first_ + 1 && first_ + 1 < end) upper_ = number;
  seen_ = end;
}

std::string Quantile::Text() const {
  if (count_ == 0) return "";
  if (part_ == 0 || lower_.Compare(upper_) == 0) return lower_.Text();
  __int128 distance;
  if (lower_.exact() && upper_.exact() && !__builtin_sub_overflow(upper_.units(), lower_.units(), &distance)) {
    // In two steps, because the product may exceed 128 bits.
    const __int128 whole = distance / kRankUnits * part_, rest = distance % kRankUnits * part_ / kRankUnits;
    return Decimal::FromUnits(lower_.units() + whole + rest).Text();
  }
  const double lower = lower_.AsDouble(), upper = upper_.AsDouble();
  return Decimal::FromDouble(lower + (upper - lower) * (static_cast<double>(part_) / kRankUnits)).Text();
}

}  // namespace mr::builtin
