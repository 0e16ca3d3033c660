// Must not compile: a record type without a codec, as a key (NO_key) or a value (NO_value).
#include "paceline/operator.h"

struct Point {
  int x, y;
};

#ifdef NO_key
using Key = Point;
using Value = int;
#else
using Key = int;
using Value = Point;
#endif

class EmitsPoints : public mr::LineMapper<Key, Value> {
 public:
  void Map(std::string_view, Out& out) { out.Emit(Key{}, Value{}); }
};
