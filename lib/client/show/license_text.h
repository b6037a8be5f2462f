// Licences of the cluster as gcontrol shows them.
#pragma once

#include <string>
#include <vector>

#include "client/show/job_text.h"
#include "wire/api.pb.h"

namespace gw::client {

/// "LicenseName=matlab" and below it how many there are, in use and free, as scontrol has it.
std::string show_license_text(const wire::LicenseUse& license, ShowStyle style);
/// {"schema_version", "licenses": [{"name", "total", "used", "free"}]}
std::string licenses_json(const std::vector<wire::LicenseUse>& licenses);

}  // namespace gw::client
