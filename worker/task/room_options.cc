#include "worker/task/room_options.h"

#include <cstdlib>

namespace mr::task {

std::vector<std::string> RoomOptions::ToWords() const {
  std::vector<std::string> words = {std::to_string(tier), own_rights ? "own" : "less"};
  if (trial_user != 0) words.push_back("u:" + std::to_string(trial_user));
  if (!scratch.empty()) words.push_back("s:" + scratch);
  for (const RoomPath& p : paths) words.push_back((p.write ? "w:" : "r:") + p.path);
  return words;
}

Result<RoomOptions> RoomOptions::FromWords(const std::vector<std::string>& words) {
  RoomOptions options;
  if (words.size() < 2) return InvalidArgument("the room's tier and rights are missing");
  char* end = nullptr;
  options.tier = static_cast<int>(std::strtol(words[0].c_str(), &end, 10));
  if (*end != '\0' || options.tier < kBestTier || options.tier > kHighestTier) {
    return InvalidArgument("'" + words[0] + "' is no tier of a room");
  }
  options.own_rights = words[1] == "own";
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("u:")) {
      options.trial_user = static_cast<uint32_t>(std::strtoul(word.c_str() + 2, nullptr, 10));
      if (options.trial_user == 0) return InvalidArgument("'" + word + "' is no user of a room");
      continue;
    }
    if (word.starts_with("s:/")) {
      options.scratch = word.substr(2);
      continue;
    }
    if (!word.starts_with("r:/") && !word.starts_with("w:/")) {
      return InvalidArgument("'" + word + "' is no path of a room");
    }
    options.paths.push_back({word.substr(2), word[0] == 'w'});
  }
  return options;
}

}  // namespace mr::task
