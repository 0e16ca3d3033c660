#include "jobs/builtin/aggregate/wide_sum.h"

#include "jobs/builtin/aggregate/wide_integer.h"

namespace mr::builtin {
namespace {

struct WideParts {
  WideInteger exact;    // in units of 1e-18
  WideInteger doubles;  // in units of 2^-kDoubleShift
};

WideParts LoadParts(std::string_view bytes) {
  WideParts parts;
  if (bytes.empty()) return parts;
  parts.exact = WideInteger::Decode(&bytes);
  parts.doubles = WideInteger::Decode(&bytes);
  return parts;
}
void StoreParts(const WideParts& parts, std::string* bytes) {
  bytes->clear();
  parts.exact.Encode(bytes);
  parts.doubles.Encode(bytes);
}

WideInteger WideOf(__int128 units) {
  const uint64_t limbs[2] = {static_cast<uint64_t>(units), static_cast<uint64_t>(units >> 64)};
  return WideInteger::FromLimbs(limbs, 2, true);
}

}  // namespace

void WideSum::AddWide(const Decimal& number, std::string* bytes) {
  WideParts parts = LoadParts(*bytes);
  if (number.exact()) {
    parts.exact.Add(WideOf(number.units()));
  } else {
    parts.doubles.Add(WideInteger::FromDouble(number.AsDouble()));
  }
  StoreParts(parts, bytes);
}

void WideSum::Merge(std::string_view other, std::string* bytes) {
  if (other.empty()) return;
  WideParts parts = LoadParts(*bytes);
  const WideParts more = LoadParts(other);
  parts.exact.Add(more.exact);
  parts.doubles.Add(more.doubles);
  StoreParts(parts, bytes);
}

Decimal WideSum::Total(const Decimal& sum, std::string_view bytes) {
  if (bytes.empty()) return sum;
  WideParts parts = LoadParts(bytes);
  parts.exact.Add(WideOf(sum.units()));
  __int128 units;
  if (parts.doubles.zero() && parts.exact.To128(&units)) return Decimal::FromUnits(units);
  const WideInteger one(static_cast<unsigned __int128>(Decimal::kOne));
  parts.doubles = parts.doubles.Times(one);
  parts.doubles.Add(parts.exact.ShiftedLeft(WideInteger::kDoubleShift));
  return Decimal::FromDouble(static_cast<double>(parts.doubles.Scaled(-WideInteger::kDoubleShift) / 1e18L));
}

}  // namespace mr::builtin
