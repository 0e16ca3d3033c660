// The functions of args.h.
#pragma once

#include <algorithm>
#include <charconv>

#include "paceline/args.h"
#include "paceline/compiled.h"

namespace mr {

namespace sdk {
// Returns the number of inserted, removed, changed and swapped letters between two words.
PACELINE_INLINE size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      d[i][j] = i + j;
      if (i == 0 || j == 0) continue;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}
}  // namespace sdk

PACELINE_INLINE std::string Suggest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto letters = [](std::string_view text) {
    std::string out(text.substr(std::min(text.find_first_not_of('-'), text.size())));
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  };
  const std::string w = letters(word);
  const size_t most = std::min<size_t>(w.size() / 3, 3);
  std::string best;
  size_t least = 0;
  for (const std::string& candidate : candidates) {
    const std::string c = letters(candidate);
    size_t distance = sdk::EditDistance(w, c);
    const bool begins = c.substr(0, w.size()) == w && (w.size() >= 3 || (w.size() == 2 && distance == 1));
    if (begins) distance = std::min<size_t>(distance, 1);
    if (!begins && distance > most) continue;
    if (!best.empty() && (distance > least || (distance == least && candidate.size() >= best.size()))) continue;
    least = distance;
    best = candidate;
  }
  return best.empty() ? "" : " (did you mean '" + best + "'?)";
}

PACELINE_INLINE Args& Args::Add(const std::string& name, bool* set) {
  return AddOption(name, "", [set](const std::string&, const std::string&) { *set = true; });
}

PACELINE_INLINE Args& Args::Add(const std::string& name, std::string* text) {
  return AddOption(name, "TEXT", [text](const std::string&, const std::string& v) { *text = v; });
}

PACELINE_INLINE Args& Args::Add(const std::string& name, std::vector<std::string>* list) {
  return AddOption(name, "TEXT...", [list](const std::string&, const std::string& v) { list->push_back(v); });
}

PACELINE_INLINE Args& Args::Add(const std::string& name, int64_t* number, int64_t least, int64_t most) {
  return AddOption(name, "N", [=, this](const std::string& option, const std::string& v) {
    const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), *number);
    if (error != std::errc() || end != v.data() + v.size()) {
      Refuse(option + " expects a whole number, not '" + v + "'");
    }
    if (*number < least || *number > most) {
      Refuse(option + " " + v + " is out of range: it may be " + std::to_string(least) + " to " + std::to_string(most));
    }
  });
}

PACELINE_INLINE Args& Args::AddBytes(const std::string& name, int64_t* bytes, int64_t least, int64_t most) {
  return AddOption(name, "SIZE", [=, this](const std::string& option, const std::string& v) {
    const char* const behind = v.data() + v.size();
    const auto [end, error] = std::from_chars(v.data(), behind, *bytes);
    static constexpr std::string_view kUnits = "kmgt";
    const size_t unit = end + 1 == behind ? kUnits.find(static_cast<char>(*end | 0x20)) : kUnits.npos;
    if (error == std::errc::invalid_argument || (end != behind && unit == kUnits.npos)) {
      Refuse(option + " expects a size such as 64m (k, m, g or t) or 1000 (bytes), not '" + v + "'");
    }
    const int shift = unit == kUnits.npos ? 0 : static_cast<int>(10 * (unit + 1));
    const bool fits = error == std::errc() && *bytes <= std::numeric_limits<int64_t>::max() >> shift;
    if (fits && *bytes > 0) *bytes <<= shift;
    if (!fits || *bytes < least || *bytes > most) {
      Refuse(option + " " + v + " is out of range: it may be " + std::to_string(least) + " to " + std::to_string(most) +
             " bytes");
    }
  });
}

PACELINE_INLINE Args& Args::Conf(const std::string& name, bool* set) {
  return AddConf(name, [=, this](const std::string&, const std::string& v) {
    if (v != "true" && v != "false" && v != "1" && v != "0")
      Refuse("--conf " + name + " is true or false, not '" + v + "'");
    *set = v == "true" || v == "1";
  });
}

PACELINE_INLINE Args& Args::Conf(const std::string& name, std::string* text) {
  return AddConf(name, [text](const std::string&, const std::string& v) { *text = v; });
}

PACELINE_INLINE void Args::Parse(const std::vector<std::string>& args) const {
  bool options = true;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (options && arg == "--") {
      options = false;
    } else if (options && arg.size() > 1 && arg[0] == '-') {
      ParseOption(args, &i);
    } else if (rest_ != nullptr) {
      rest_->push_back(arg);
    } else {
      Refuse("it takes no argument '" + arg + "'" + Known());
    }
  }
}

PACELINE_INLINE Args& Args::AddOption(const std::string& name, const std::string& value,
                                      std::function<void(const std::string&, const std::string&)> set) {
  options_.push_back({name, value, std::move(set)});
  return *this;
}

PACELINE_INLINE Args& Args::AddConf(const std::string& name,
                                    std::function<void(const std::string&, const std::string&)> set) {
  conf_.push_back({name, "VALUE", std::move(set)});
  return *this;
}

PACELINE_INLINE void Args::ParseConf(const std::string& pair) const {
  const size_t equals = pair.find('=');
  if (equals == pair.npos) Refuse("--conf takes KEY=VALUE, not '" + pair + "'");
  const std::string name = pair.substr(0, equals);
  std::vector<std::string> names;
  std::string list;
  for (const Option& conf : conf_) {
    if (conf.name == name) return conf.set(name, pair.substr(equals + 1));
    names.push_back(conf.name);
    list += (list.empty() ? "; its keys are " : ", ") + conf.name;
  }
  Refuse("unknown --conf key '" + name + "'" + Suggest(name, names) +
         (list.empty() ? "; it has none of its own" : list));
}

PACELINE_INLINE void Args::ParseOption(const std::vector<std::string>& args, size_t* i) const {
  const std::string& arg = args[*i];
  if (arg == "--conf") {
    if (++*i == args.size()) Refuse("--conf needs a value");
    return ParseConf(args[*i]);
  }
  const size_t equals = arg.compare(0, 2, "--") == 0 ? arg.find('=') : std::string::npos;
  const std::string name = arg.substr(0, equals);
  if (const Option* const option = Find(name); option != nullptr) {
    if (option->value.empty()) {
      if (equals != std::string::npos) Refuse(name + " takes no value");
      return option->set(name, "");
    }
    if (equals != std::string::npos) return option->set(name, arg.substr(equals + 1));
    if (++*i == args.size()) Refuse(name + " needs a value");
    return option->set(name, args[*i]);
  }
  if (name == "--help") Refuse(OptionsText());
  if (ParseLetters(args, i)) return;
  RefuseUnknown(name, "");
}

PACELINE_INLINE bool Args::ParseLetters(const std::vector<std::string>& args, size_t* i) const {
  const std::string& arg = args[*i];
  if (arg[1] == '-') return false;
  for (size_t at = 1; at < arg.size(); ++at) {
    const std::string name = {'-', arg[at]};
    const Option* const option = Find(name);
    if (option == nullptr && at == 1) return false;
    if (option == nullptr) RefuseUnknown(name, " in '" + arg + "'");
    if (option->value.empty()) {
      option->set(name, "");
      continue;
    }
    if (at + 1 < arg.size()) {
      option->set(name, arg.substr(at + 1));
    } else if (++*i == args.size()) {
      Refuse(name + " needs a value");
    } else {
      option->set(name, args[*i]);
    }
    return true;
  }
  return true;
}

PACELINE_INLINE const Args::Option* Args::Find(const std::string& name) const {
  for (const Option& option : options_) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

PACELINE_INLINE void Args::RefuseUnknown(const std::string& name, const std::string& where) const {
  std::vector<std::string> names;
  for (const Option& option : options_) names.push_back(option.name);
  Refuse("unknown option '" + name + "'" + where + (where.empty() ? Suggest(name, names) : "") + Known());
}

PACELINE_INLINE std::string Args::OptionsText() const {
  std::string text = "options:";
  for (const Option& option : options_) text += "\n  " + option.name + (option.value.empty() ? "" : " " + option.value);
  for (const Option& conf : conf_) text += "\n  --conf " + conf.name + "=" + conf.value;
  if (rest_ != nullptr) text += "\n  ARGUMENT...";
  return text;
}

PACELINE_INLINE std::string Args::Known() const {
  if (options_.empty()) return "; it has no options";
  std::string names;
  for (const Option& option : options_) names += (names.empty() ? "" : ", ") + option.name;
  return "; its options are " + names;
}

}  // namespace mr
