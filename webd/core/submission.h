// A submission by the API: the same options, directives and rules as gbatch has. Files that options name are not read
// (read_no_files() in cmds/request/read_names.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/api.pb.h"

namespace gw::webd {

/// As it was asked for.
struct Submitted {
  std::string script;
  std::vector<std::string> options, arguments;
  std::string chdir;
  std::map<std::string, std::string> environment;
};

/// What the user should know is added to `notes`. Errors: as gbatch's; options that have no sense here; no folder.
base::Result<wire::SubmitRequest> submission_of(Submitted submitted, const std::string& from, base::Time now,
                                                std::vector<std::string>& notes);

}  // namespace gw::webd
