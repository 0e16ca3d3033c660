// Where entries of a map stand that were asked for lately. Keys of names cost a comparison of strings on each level of
// the map's tree, and events speak of the same few thousand keys again and again. Entries of a map stay where they are
// until they are erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mr::sched {

template <class Map>
class Lately {
 public:
  using Entry = typename Map::value_type;

  // As map.find; null: there is none. hash: always the same for one key.
  template <class Key>
  const Entry* Find(const Map& map, const Key& key, uint64_t hash) {
    const Entry*& place = places_[hash % kPlaces];
    if (place != nullptr && !map.key_comp()(place->first, key) && !map.key_comp()(key, place->first)) return place;
    const auto it = map.find(key);
    return it == map.end() ? nullptr : place = &*it;
  }
  // REQUIRES that it is called before an entry is erased.
  void Drop(uint64_t hash) { places_[hash % kPlaces] = nullptr; }

 private:
  // A fact of each worker of a cluster of ten thousand, and of some jobs. 128 KiB.
  static constexpr size_t kPlaces = 1 << 14;
  std::vector<const Entry*> places_ = std::vector<const Entry*>(kPlaces);
};

}  // namespace mr::sched
