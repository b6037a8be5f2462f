// See license_text.h.
#include "client/show/license_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/show/record.h"

namespace gw::client {
namespace {

/// None, while jobs still run that took them before the configuration had fewer.
uint32_t free_of(const wire::LicenseUse& license) {
  return license.total() - std::min(license.total(), license.used());
}

}  // namespace

std::string show_license_text(const wire::LicenseUse& license, ShowStyle style) {
  std::string out;
  Record r(out, style.one_line);
  r.line().put("LicenseName", license.name());
  r.line("    ")
      .put("Total", license.total())
      .put("Used", license.used())
      .put("Free", free_of(license))
      .put("Reserved", 0)
      .put("Remote", "no");
  r.end();
  if (!style.one_line) out.pop_back();  // scontrol leaves no empty line
  return out;
}

std::string licenses_json(const std::vector<wire::LicenseUse>& licenses) {
  nlohmann::ordered_json out = {{"schema_version", 1}, {"licenses", nlohmann::ordered_json::array()}};
  for (const wire::LicenseUse& one : licenses)
    out["licenses"].push_back(
        {{"name", one.name()}, {"total", one.total()}, {"used", one.used()}, {"free", free_of(one)}});
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
