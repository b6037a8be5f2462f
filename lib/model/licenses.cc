// See licenses.h.
#include "model/licenses.h"

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

}  // namespace gw::model
