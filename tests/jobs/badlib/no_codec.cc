// Compiles as it is. Must not compile with a record type that has no codec, as a key (NO_key) or a value (NO_value).
#include "paceline/operator.h"

struct Point {
  int x, y;
};

#ifdef NO_key
using Key = Point;
#else
using Key = int;
#endif
#ifdef NO_value
using Value = Point;
#else
using Value = int;
#endif

class EmitsPoints : public mr::LineMapper<Key, Value> {
 public:
  void Map(std::string_view, Out& out) { out.Emit(Key{}, Value{}); }
};
