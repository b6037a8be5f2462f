// gangway backup FILE.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kDoc = {
    "write a copy of the running controller's state",
    "FILE",
    "The controller writes a consistent copy of its database to FILE on its own host while it continues working. FILE "
    "must "
    "not exist yet, and its folder must be one that the controller's user may write to. Only administrators may do "
    "this.\n\n"
    "To restore: stop gctld, put the copy in place of gangway.db in controller.state_dir (without the files "
    "gangway.db-wal "
    "and gangway.db-shm), owned by the controller's user, and start gctld.",
    {{"0", "the copy is complete and on disk"}, {"1", "there is no copy"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway backup /var/backups/gangway-monday.db", "a copy to keep"}},
    {},
};

}  // namespace

int backup_verb(const Invocation& call) {
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kDoc, {}, operands)) return *code;
  if (operands.size() != 1 || operands[0].empty()) {
    return failed(call.program, {base::ErrorCode::kInvalid, "one FILE is needed to write the copy to",
                                 "gangway backup /var/backups/gangway.db"});
  }
  std::error_code error;
  const std::string path = std::filesystem::absolute(operands[0], error).lexically_normal().string();
  struct stat st = {};
  if (lstat(path.c_str(), &st) == 0) {
    return failed(call.program, {base::ErrorCode::kConflict, path + " exists: it is not overwritten",
                                 "name a file that does not exist"});
  }
  wire::ApiRequest request;
  request.mutable_backup()->set_path(path);
  const auto reply = ask_controller(call.program, request);
  if (!reply) return failed(call.program, reply.error());
  const std::string line = fmt::format("{}: {} bytes\n", path, reply->backup().bytes());
  return client::print_out(line) ? client::kExitOk : client::kExitFailed;
}

}  // namespace gw::cmds
