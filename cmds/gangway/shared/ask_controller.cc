// One question to the controller.
#include "cmds/gangway/shared/ask_controller.h"

#include "client/conn/connection.h"

namespace gw::cmds {
namespace {

constexpr base::Duration kProbeLimit = base::milliseconds(500);

}  // namespace

base::Result<wire::ApiReply> ask_controller(const client::Program& program, const wire::ApiRequest& request) {
  GW_TRY(connection, client::connect(program));
  return connection.call(request);
}

base::Result<wire::ApiReply> probe_controller(const std::string& config_path, const wire::ApiRequest& request) {
  const std::string path = config_path.empty() ? config::default_path() : config_path;
  GW_TRY(config, config::load_client_part(path));
  client::Connection connection = client::open_connection({"gangway", false}, config, kProbeLimit);
  return connection.call(request);
}

}  // namespace gw::cmds
