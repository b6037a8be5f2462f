// Values of KEY=VALUE words.
#include "cmds/shared/update_keys.h"

namespace gw::cmds {

base::Status unknown_key(const std::string& key, const std::vector<std::string>& known) {
  std::string hint = base::did_you_mean(key, known);
  return base::invalid("Update of this parameter is not supported: " + base::printable(key),
                       hint.empty() ? "known: " + base::join(known, ", ") : hint);
}

base::Result<int64_t> duration_us(const std::string& key, const std::string& value) {
  auto d = base::parse_duration(value);
  if (!d) return base::fail(d.error().code, key + ": " + d.error().what, d.error().hint);
  if (*d != base::kUnlimited && d->us <= 0) return base::invalid(key + ": a time limit must be longer than zero");
  return base::round_up_to_minute(*d).us;
}

base::Result<bool> yes_or_no(const std::string& key, const std::string& value) {
  for (std::string_view yes : {"yes", "y", "1", "true"})
    if (base::iequals(value, yes)) return true;
  for (std::string_view no : {"no", "n", "0", "false"})
    if (base::iequals(value, no)) return false;
  return base::invalid(key + ": \"" + base::printable(value, 40) + "\" is neither yes nor no");
}

base::Result<int64_t> time_us(const std::string& key, const std::string& value, base::Time now) {
  auto t = base::parse_time(value, now);
  if (!t) return base::fail(t.error().code, key + ": " + t.error().what, t.error().hint);
  return t->us;
}

}  // namespace gw::cmds
