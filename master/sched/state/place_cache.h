// Cache of the places of recently found map entries. Name keys cost a comparison of strings on each level of the
// map's tree, and events use the same few thousand keys repeatedly. Map entries do not move until they are erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mr::sched {

template <class Map>
class PlaceCache {
 public:
  using Entry = typename Map::value_type;

  // Like map.find, but returns null if there is none. hash: equal for equal keys.
  template <class Key>
  const Entry* Find(const Map& map, const Key& key, uint64_t hash) {
    const Entry*& place = places_[hash % kPlaces];
    if (place != nullptr && !map.key_comp()(place->first, key) && !map.key_comp()(key, place->first)) return place;
    const auto it = map.find(key);
    return it == map.end() ? nullptr : place = &*it;
  }
  // Forgets the entry. Requires: called before an entry with this hash is erased.
  void Drop(uint64_t hash) { places_[hash % kPlaces] = nullptr; }

 private:
  // One fact per worker of a cluster of ten thousand, and facts of some jobs. 128 KiB.
  static constexpr size_t kPlaces = 1 << 14;
  std::vector<const Entry*> places_ = std::vector<const Entry*>(kPlaces);
};

}  // namespace mr::sched
