// One question to the controller, for the verbs of `gangway`.
#pragma once

#include <string>

#include "base/result.h"
#include "client/conn/program.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// Asks the controller of the default configuration, trying again while it cannot be reached ($GANGWAY_TIMEOUT), and
/// returns the reply that is not an error.
base::Result<wire::ApiReply> ask_controller(const client::Program& program, const wire::ApiRequest& request);

/// Asks the controller of the configuration in `config_path` (empty: the default one) for at most half a second, in
/// silence.
base::Result<wire::ApiReply> probe_controller(const std::string& config_path, const wire::ApiRequest& request);

}  // namespace gw::cmds
