// See named_counts.h.
#include "model/named_counts.h"

#include <algorithm>

#include "base/text.h"

namespace gw::model {
namespace {

tl::unexpected<base::Error> refused(std::string what, std::string hint) {
  auto out = base::invalid(std::move(what), std::move(hint));
  out.value().sentence = kLicensesSentence;
  return out;
}

bool is_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '@';
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), is_allowed);
}

base::Status add(std::string_view part, Licenses& all) {
  const size_t colon = part.find_first_of(":=");
  const std::string name(base::trim(part.substr(0, colon)));
  if (!is_name(name))
    return refused("--licenses: \"" + base::printable(part, 60) + "\" is not NAME[:COUNT]",
                   "such as matlab:2,ansys; gcontrol show licenses lists them");
  uint32_t count = 1;
  if (colon != std::string_view::npos) {
    const auto number = base::parse_int(base::trim(part.substr(colon + 1)), 0, kMostOfALicense, "--licenses");
    if (!number) return refused("--licenses: " + name + ": " + number.error().what, number.error().hint);
    count = static_cast<uint32_t>(*number);
  }
  if (count == 0) return {};
  uint32_t& sum = all[name];
  if (count > kMostOfALicense - sum)
    return refused("--licenses: more than " + std::to_string(kMostOfALicense) + " of " + name, "ask for fewer");
  sum += count;
  if (all.size() > kMostLicenses)
    return refused("--licenses: more than " + std::to_string(kMostLicenses) + " different ones", "ask for fewer");
  return {};
}

}  // namespace

base::Result<Licenses> parse_licenses(std::string_view text) {
  Licenses all;
  if (base::trim(text).empty()) return all;
  std::string list(text);
  std::replace(list.begin(), list.end(), ';', ',');
  for (const std::string& part : base::split(list, ',')) GW_TRY_STATUS(add(part, all));
  return all;
}

std::string format_licenses(const Licenses& licenses) {
  std::string out;
  for (const auto& [name, count] : licenses) out += (out.empty() ? "" : ",") + name + ":" + std::to_string(count);
  return out;
}

namespace {

constexpr size_t kLongestGresName = 128;

tl::unexpected<base::Error> refused_gres(std::string what, std::string hint) {
  auto out = base::invalid(std::move(what), std::move(hint));
  out.value().sentence = kGresSentence;
  return out;
}

auto place_of(auto& items, std::string_view name) {
  return std::lower_bound(items.begin(), items.end(), name,
                          [](const auto& item, std::string_view n) { return item.first < n; });
}

std::string_view kind_of(std::string_view name) { return name.substr(0, name.find(':')); }

bool is_typed(std::string_view name) { return name.find(':') != std::string_view::npos; }

std::string with_unit(uint64_t count) {
  constexpr std::string_view kUnits = "KMGTP";
  size_t unit = 0;
  for (; count >= 1024 && count % 1024 == 0 && unit < kUnits.size(); ++unit) count /= 1024;
  return std::to_string(count) + (unit == 0 ? "" : std::string(1, kUnits[unit - 1]));
}

/// "800G" -> 800 times 2^30; -1: it is no number.
int64_t gres_count(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTP";
  uint64_t unit = 1;
  if (!text.empty()) {
    const size_t at = kUnits.find(static_cast<char>(text.back() & ~0x20));
    for (size_t i = 0; at != std::string_view::npos && i <= at; ++i) unit *= 1024;
    if (at != std::string_view::npos) text.remove_suffix(1);
  }
  const auto number = base::parse_int(text, 0, static_cast<int64_t>(kMostOfAGres / unit), "");
  return number ? static_cast<int64_t>(static_cast<uint64_t>(*number) * unit) : -1;
}

/// NAME[:TYPE][:COUNT]
base::Status add_gres(const std::string& part, Gres& all) {
  std::string spec(base::trim(part));
  std::replace(spec.begin(), spec.end(), '=', ':');
  for (const std::string_view prefix : {"gres/", "gres:"})
    if (spec.starts_with(prefix)) spec.erase(0, prefix.size());
  uint64_t count = 1;
  const size_t last = spec.rfind(':');
  if (last != std::string::npos && last + 1 < spec.size() && spec[last + 1] >= '0' && spec[last + 1] <= '9') {
    const int64_t said = gres_count(std::string_view(spec).substr(last + 1));
    if (said < 0)
      return refused_gres("--gres: \"" + base::printable(part, 60) + "\" has a bad count",
                          "NAME[:TYPE]:COUNT, such as nvme:2 or lscratch:800G");
    count = static_cast<uint64_t>(said);
    spec.resize(last);
  }
  if (!is_gres_name(spec))
    return refused_gres("--gres: \"" + base::printable(part, 60) + "\" is not NAME[:TYPE][:COUNT]",
                        "such as nvme:2; gcontrol show node tells what each node has");
  if (count == 0) return {};
  all.add(spec, count);
  if (const std::string_view kind = kind_of(spec); kind.size() < spec.size()) all.add(kind, count);
  if (all.size() > kMostGres)
    return refused_gres("--gres: more than " + std::to_string(kMostGres) + " kinds and types", "ask for fewer");
  if (all.count(kind_of(spec)) > kMostOfAGres) return refused_gres("--gres: too many of " + spec, "ask for fewer");
  return {};
}

}  // namespace

uint64_t Gres::count(std::string_view name) const {
  const auto at = place_of(items_, name);
  return at != items_.end() && at->first == name ? at->second : 0;
}

void Gres::add(std::string_view name, uint64_t count) {
  if (count == 0) return;
  const auto at = place_of(items_, name);
  if (at != items_.end() && at->first == name)
    at->second += count;
  else
    items_.emplace(at, name, count);
}

void Gres::add(const Gres& more) {
  for (const auto& [name, count] : more.items_) add(name, count);
}

void Gres::take(const Gres& some) {
  for (const auto& [name, count] : some.items_) {
    const auto at = place_of(items_, name);
    if (at == items_.end() || at->first != name) continue;
    if (at->second > count)
      at->second -= count;
    else
      items_.erase(at);
  }
}

bool Gres::covers(const Gres& some) const {
  return std::all_of(some.begin(), some.end(), [this](const auto& item) { return count(item.first) >= item.second; });
}

void Gres::keep_at_most(const Gres& bound) {
  for (auto& [name, count] : items_) count = std::min(count, bound.count(name));
  std::erase_if(items_, [](const auto& item) { return item.second == 0; });
}

bool is_gres_name(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const auto is_word = [](std::string_view word) { return is_name(word) && word.find('@') == std::string_view::npos; };
  if (kind == "gpu" || kind == "shard" || kind == "mps" || kind == "none" || !is_word(kind)) return false;
  return name.size() <= kLongestGresName && (colon == std::string_view::npos || is_word(name.substr(colon + 1)));
}

base::Result<Gres> parse_gres(std::string_view text) {
  Gres all;
  if (base::trim(text).empty()) return all;
  for (const std::string& part : base::split(std::string(text), ',')) GW_TRY_STATUS(add_gres(part, all));
  return all;
}

bool is_consistent(const Gres& gres) {
  Gres of_types;
  for (const auto& [name, count] : gres) {
    if (count > kMostOfAGres) return false;
    if (is_typed(name)) of_types.add(kind_of(name), count);
  }
  return gres.covers(of_types);
}

std::string format_gres(const Gres& gres) {
  Gres shown = gres;
  for (const auto& [name, count] : gres) {
    Gres typed;
    if (is_typed(name)) typed.add(kind_of(name), count);
    shown.take(typed);
  }
  std::string out;
  for (const auto& [name, count] : shown) out += (out.empty() ? "" : ",") + name + ":" + with_unit(count);
  return out;
}

}  // namespace gw::model
