// Codecs of the large records. Here, and not in the header: each file that uses them would compile the codec of every
// event and decision again.
#include "master/server/records.h"

namespace mr::master {

std::string Encode(const EventRecord& record) { return EncodeFields(record); }

bool DecodeEvent(std::string_view bytes, EventRecord* out) {
  FieldReader reader(bytes);
  reader.Get(out->stamped);
  reader.Get(out->extra);
  if (reader.ok() && !reader.AtEnd()) reader.Get(out->outcome);
  if (reader.ok() && !reader.AtEnd()) reader.Get(out->digest);
  return reader.ok() && reader.AtEnd();
}

std::string EncodeFinished(const FinishedExtra& extra, const std::vector<HotKey>& hot) {
  return hot.empty() ? EncodeFields(extra) : EncodeFields(extra) + EncodeFields(hot);
}

bool DecodeFinished(std::string_view bytes, FinishedExtra* extra, std::vector<HotKey>* hot) {
  FieldReader reader(bytes);
  reader.Get(*extra);
  std::vector<HotKey> keys;
  if (reader.ok() && !reader.AtEnd()) reader.Get(keys);
  if (!reader.ok() || !reader.AtEnd()) return false;
  if (hot != nullptr) *hot = std::move(keys);
  return true;
}

std::string EncodeSubmit(const SubmitExtra& extra) { return EncodeFields(extra) + EncodeFields(InputsOf(extra.plan)); }

bool DecodeSubmit(std::string_view bytes, SubmitExtra* out) {
  FieldReader reader(bytes);
  reader.Get(*out);
  if (!reader.ok()) return false;
  if (reader.AtEnd()) return true;
  PlannedInputs inputs;
  reader.Get(inputs);
  return reader.ok() && reader.AtEnd() && TakeInputs(std::move(inputs), &out->plan);
}

}  // namespace mr::master
