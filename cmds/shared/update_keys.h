// KEY=VALUE words of gcontrol and gacctmgr as tables: what each key does to a request.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/faults.h"
#include "base/result.h"
#include "base/text.h"
#include "base/time.h"

namespace gw::cmds {

/// A key, in lower case, with what it does to a request.
template <typename Request>
struct Key {
  std::string name;
  std::function<base::Status(Request&, const std::string&)> set;
};

base::Status unknown_key(const std::string& key, const std::vector<std::string>& known);
/// A time limit or length, rounded up to minutes, in microseconds.
base::Result<int64_t> duration_us(const std::string& key, const std::string& value);
base::Result<bool> yes_or_no(const std::string& key, const std::string& value);
/// A point in time, in microseconds.
base::Result<int64_t> time_us(const std::string& key, const std::string& value, base::Time now);

/// Does what the settings say. Errors: nothing to change; all unknown keys and bad values.
template <typename Request>
base::Status apply(const std::vector<Key<Request>>& keys, const std::map<std::string, std::string>& settings,
                   Request& request) {
  std::vector<std::string> known;
  for (const Key<Request>& k : keys) known.emplace_back(k.name);
  if (settings.empty()) return base::invalid("No changes specified", "known: " + base::join(known, ", "));
  base::Faults faults;
  for (const auto& setting : settings) {
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.name == setting.first; });
    faults.add(found == keys.end() ? unknown_key(setting.first, known) : found->set(request, setting.second));
  }
  return faults.status();
}

}  // namespace gw::cmds
