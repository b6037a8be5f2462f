// gacctmgr dump and load: the whole tree as a file. See acct.h and config/quota_file.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "cmds/gacctmgr/acct.h"
#include "config/quota_file.h"
#include "config/yaml_tree.h"
#include "io/fd.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;
using client::Program;

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("cannot write " + base::printable(path), errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  if (::fsync(fd) != 0) return base::fail_errno("cannot write " + base::printable(path), errno);
  return {};
}

/// A file that did not exist, or none.
Status write_new(const std::string& path, std::string_view text) {
  const io::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd)
    return base::fail_errno("cannot make " + base::printable(path), errno,
                            errno == EEXIST ? "name a file that does not exist, or --force" : "");
  const Status done = write_all(fd.get(), text, path);
  if (!done) ::unlink(path.c_str());
  return done;
}

/// In one step in the place of what is there.
Status write_over(const std::string& path, std::string_view text) {
  std::string fresh = path + ".XXXXXX";
  const io::Fd fd(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!fd) return base::fail_errno("cannot make " + base::printable(fresh), errno);
  Status done = write_all(fd.get(), text, fresh);
  if (done && (::fchmod(fd.get(), 0644) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0))
    done = base::fail_errno("cannot write " + base::printable(path), errno);
  if (!done) ::unlink(fresh.c_str());
  return done;
}

Result<std::string> read_all(const std::string& path) {
  const bool is_stdin = path == "-";
  const io::Fd file(is_stdin ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_stdin && !file) return base::fail_errno("cannot read " + base::printable(path), errno);
  std::string text;
  char buffer[65536];
  while (text.size() <= config::kMaxBytes) {
    const ssize_t n = ::read(is_stdin ? STDIN_FILENO : file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("cannot read " + base::printable(path), errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
  return base::invalid(fmt::format("{}: larger than {} MiB", base::printable(path), config::kMaxBytes >> 20));
}

/// The one FILE among the words, also as Slurm writes it: file=FILE.
Result<std::string> file_of(Args words, std::string_view verb) {
  std::string path;
  for (const std::string& word : words) {
    if (!path.empty()) return base::invalid(fmt::format("{} takes one FILE", verb));
    path = base::to_lower(word.substr(0, 5)) == "file=" ? word.substr(5) : word;
    if (path.empty()) return base::invalid(fmt::format("{}: the name of the file is empty", verb));
  }
  return path;
}

void set_amounts(wire::AmountsPatch& patch, const google::protobuf::RepeatedPtrField<wire::QosAmount>& amounts) {
  *patch.mutable_set() = amounts;
}

/// All of a QOS as a change of an empty one.
wire::QosPatch whole(const model::Qos& qos) {
  const wire::Qos q = wire::to_wire(qos);
  wire::QosPatch p;
  p.set_parent(q.parent());
  p.set_description(q.description());
  p.set_priority(q.priority());
  p.set_weight(q.weight());
  p.set_preempt_children(q.preempt_children());
  p.set_min_runtime_us(q.min_runtime_us());
  p.set_grace_us(q.has_grace_us() ? q.grace_us() : -1);
  p.set_patience_us(q.has_patience_us() ? q.patience_us() : -1);
  p.set_max_wall_us(q.max_wall_us());
  p.set_max_jobs(q.max_jobs());
  p.set_max_submit(q.max_submit());
  p.set_max_jobs_per_user(q.max_jobs_per_user());
  p.set_max_submit_per_user(q.max_submit_per_user());
  set_amounts(*p.mutable_guaranteed(), q.guaranteed());
  set_amounts(*p.mutable_limit(), q.limit());
  set_amounts(*p.mutable_limit_per_user(), q.limit_per_user());
  *p.mutable_users()->mutable_add() = q.users();
  *p.mutable_operators()->mutable_add() = q.operators();
  if (q.has_budget()) *p.mutable_budget() = q.budget();
  return p;
}

/// The root has roles only.
wire::QosPatch roles_of(const model::Qos& qos) {
  wire::QosPatch p;
  p.mutable_users()->mutable_add()->Assign(qos.users.begin(), qos.users.end());
  p.mutable_operators()->mutable_add()->Assign(qos.operators.begin(), qos.operators.end());
  return p;
}

}  // namespace

Result<wire::ChangeQuotasRequest> load_request(std::string_view text, const std::string& path) {
  GW_TRY(file, config::parse_quota_file(text, path, check_role_name));
  wire::ChangeQuotasRequest out;
  out.set_replace(true);
  for (const model::Qos& q : file.qos) {
    wire::QuotaChange& change = *out.add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name(q.name);
    *change.mutable_qos() = q.name == model::kRootQos ? roles_of(q) : whole(q);
  }
  for (const model::QuotaUser& user : file.users) {
    wire::QuotaChange& change = *out.add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name(user.name);
    change.set_is_user(true);
    if (!user.default_qos.empty()) change.set_default_qos(user.default_qos);
    if (user.budget) *change.mutable_budget() = wire::to_wire(*user.budget);
  }
  return out;
}

std::string dump_text(const wire::ListQuotasReply& list) {
  config::QuotaFile file;
  for (const wire::Qos& q : list.qos()) file.qos.push_back(wire::from_wire(q));
  for (const wire::QuotaUser& user : list.users()) file.users.push_back(wire::from_wire(user));
  return config::quota_file_text(file);
}

int acct_dump(const Program& program, const AcctOptions& o, Args words) {
  const auto path = file_of(words, "dump");
  if (!path) return failed(program, path.error());
  wire::ApiRequest request;
  request.mutable_list_quotas();
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const std::string text = dump_text(reply->list_quotas());
  if (path->empty() || *path == "-") return printed(text);
  const Status done = o.force ? write_over(*path, text) : write_new(*path, text);
  return done ? client::kExitOk : failed(program, done.error());
}

int acct_load(const Program& program, const AcctOptions& o, Args words) {
  const auto path = file_of(words, "load");
  if (!path) return failed(program, path.error());
  if (path->empty())
    return failed(program, {base::ErrorCode::kInvalid, "load: which file?", "such as: " + program.name + " load FILE"});
  const auto text = read_all(*path);
  if (!text) return failed(program, text.error());
  const std::string shown = *path == "-" ? "stdin" : *path;
  if (is_slurm_dump(*text)) {
    auto changes = slurm_dump_changes(*text, shown);
    return changes ? acct_change(program, o, std::move(*changes)) : failed(program, changes.error());
  }
  auto request = load_request(*text, shown);
  if (!request) return failed(program, request.error());
  return acct_change(program, o, {std::move(*request), {}, {}});
}

}  // namespace gw::cmds
