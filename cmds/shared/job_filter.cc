// Filters of gqueue and gcancel.
#include "cmds/shared/job_filter.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/job_view.h"
#include "cmds/shared/commands.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using Text = std::string_view;
using Jobs = google::protobuf::RepeatedPtrField<wire::Job>;
using Names = std::set<std::string>;

constexpr size_t kMostUsers = 10'000;  // for a hint only, and a directory service may know any number

bool is_uid(Text text) { return !text.empty() && text.find_first_not_of("0123456789") == Text::npos; }

/// The names that no job carries; `carried` adds those of one job to a set.
template <typename List, typename Carried>
Names unproven(const List& names, const Jobs& jobs, Carried carried) {
  Names left(names.begin(), names.end());
  for (const wire::Job& job : jobs) {
    if (left.empty()) break;
    Names found;
    carried(job, found);
    for (const std::string& name : found) left.erase(name);
  }
  return left;
}

void add_user(const wire::Job& job, Names& to) { to.insert(job.spec().user()); }
void add_qos(const wire::Job& job, Names& to) { to.insert(job.spec().qos()); }
void add_partitions(const wire::Job& job, Names& to) {
  to.insert(job.spec().partitions().begin(), job.spec().partitions().end());
  to.insert(client::partition_of(job));
}
void add_nodes(const wire::Job& job, Names& to) {
  for (const wire::NodeShare& share : client::shares_of(job)) to.insert(share.node());
}

std::vector<std::string> local_users() {
  std::vector<std::string> names;
  ::setpwent();
  while (names.size() < kMostUsers) {
    const passwd* entry = ::getpwent();
    if (entry == nullptr) break;
    names.emplace_back(entry->pw_name);
  }
  ::endpwent();
  return names;
}

/// This host need not know everybody: who is unknown here may still own jobs.
Status check_users(client::Connection& connection, Names users) {
  std::erase_if(users, [](const std::string& user) { return ::getpwnam(user.c_str()) != nullptr; });
  if (users.empty()) return {};
  wire::ApiRequest request;
  wire::JobFilter& filter = *request.mutable_list_jobs()->mutable_filter();
  filter.set_all_states(true);
  filter.mutable_users()->Assign(users.begin(), users.end());
  GW_TRY(reply, connection.call(std::move(request)));
  const Names left = unproven(users, reply.list_jobs().jobs(), add_user);
  if (left.empty()) return {};
  return base::fail(base::ErrorCode::kNotFound, "Invalid user: " + base::printable(*left.begin()),
                    base::did_you_mean(*left.begin(), local_users()));
}

Status check_partitions(client::Connection& connection, const Names& names) {
  if (names.empty()) return {};
  wire::ApiRequest request;
  request.mutable_list_partitions()->mutable_names()->Assign(names.begin(), names.end());
  return connection.call(std::move(request)).map([](const auto&) {});
}

Status check_nodes(client::Connection& connection, const Names& names) {
  if (names.empty()) return {};
  wire::ApiRequest request;
  request.mutable_list_nodes()->mutable_names()->Assign(names.begin(), names.end());
  return connection.call(std::move(request)).map([](const auto&) {});
}

Status check_qos(client::Connection& connection, const Names& names) {
  if (names.empty()) return {};
  wire::ApiRequest request;
  request.mutable_show_config();
  GW_TRY(reply, connection.call(std::move(request)));
  std::vector<std::string> known;
  for (const wire::Qos& qos : reply.show_config().qos()) known.push_back(qos.name());
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string hint = base::did_you_mean(name, known);
    return base::fail(base::ErrorCode::kNotFound, "QOS " + base::printable(name) + " not found",
                      hint.empty() ? "known: " + base::join(known, ", ") : hint);
  }
  return {};
}

}  // namespace

bool JobFilters::has_filter() const {
  return me || !(users.empty() && partitions.empty() && names.empty() && states.empty() && accounts.empty() &&
                 qos.empty() && nodes.empty() && reservations.empty());
}

void add_job_filters(std::vector<client::Option>& t, JobFilters& f, const JobFilterVariables& variables) {
  const auto list = [&t](Text name, char letter, Text value, Text help, Text env, std::vector<std::string>& to,
                         Text written) {
    t.push_back({name, letter, Arg::kRequired, value, help, env, client::kPlain, lists(to, written)});
  };
  list("user", 'u', "USERS", "jobs of these users (names or numbers)", variables.users, f.users, "-u/--user");
  t.push_back({"me", 0, Arg::kNone, {}, "my jobs", {}, client::kPlain, sets(f.me)});
  list("partition", 'p', "NAMES", "jobs in these partitions", "PARTITION", f.partitions, "-p/--partition");
  list("name", 'n', "NAMES", "jobs of these names", variables.names, f.names, "-n/--name");
  list("account", 'A', "NAMES", "jobs of these accounts", "ACCOUNT", f.accounts, "-A/--account");
  list("qos", 'q', "NAMES", "jobs of these QOS", "QOS", f.qos, "-q/--qos");
  list("reservation", 'R', "NAMES", "jobs of these reservations", {}, f.reservations, "-R/--reservation");
  t.push_back(
      {"nodelist", 'w', Arg::kRequired, "NODES", "jobs on these nodes", {}, client::kPlain, host_lists(f.nodes)});
  constexpr std::pair<Text, Text> kOtherNames[] = {{"users", "user"},
                                                   {"partitions", "partition"},
                                                   {"names", "name"},
                                                   {"accounts", "account"},
                                                   {"nodes", "nodelist"}};
  for (const auto& [other, name] : kOtherNames) also_called(t, other, name);
}

void fill_filters(JobFilters& mine, const JobFilters& from_environment) {
  const auto fill = [](std::vector<std::string>& list, const std::vector<std::string>& other) {
    if (list.empty()) list = other;
  };
  if (!mine.me) fill(mine.users, from_environment.users);
  fill(mine.partitions, from_environment.partitions);
  fill(mine.names, from_environment.names);
  fill(mine.states, from_environment.states);
  fill(mine.accounts, from_environment.accounts);
  fill(mine.qos, from_environment.qos);
}

std::string name_of_only(const wire::JobFilter& filter) {
  if (!filter.ids().empty()) return std::to_string(filter.ids(0));
  const auto tasks = wire::from_wire(filter.tasks(0).tasks());
  const std::string text = tasks ? base::printable(tasks->text(), 60) : "?";
  const bool is_one = tasks && tasks->size() == 1;
  return std::to_string(filter.tasks(0).array()) + (is_one ? "_" + text : "_[" + text + "]");
}

base::Result<wire::JobFilter> to_filter(const JobFilters& o) {
  wire::JobFilter f;
  o.ids.put(*f.mutable_ids(), *f.mutable_tasks());
  for (const std::string& user : o.users) {
    if (!is_uid(user)) {
      f.add_users(user);
      continue;
    }
    GW_TRY(uid, base::parse_int(user, 0, UINT32_MAX, "-u/--user"));
    f.add_uids(static_cast<uint32_t>(uid));
  }
  if (o.me) f.add_uids(::geteuid());
  f.mutable_partitions()->Assign(o.partitions.begin(), o.partitions.end());
  f.mutable_names()->Assign(o.names.begin(), o.names.end());
  f.mutable_nodes()->Assign(o.nodes.begin(), o.nodes.end());
  f.mutable_accounts()->Assign(o.accounts.begin(), o.accounts.end());
  f.mutable_qos()->Assign(o.qos.begin(), o.qos.end());
  f.mutable_reservations()->Assign(o.reservations.begin(), o.reservations.end());
  return f;
}

Status check_names(client::Connection& connection, const wire::JobFilter& filter, const Jobs& jobs) {
  GW_TRY_STATUS(check_users(connection, unproven(filter.users(), jobs, add_user)));
  GW_TRY_STATUS(check_partitions(connection, unproven(filter.partitions(), jobs, add_partitions)));
  GW_TRY_STATUS(check_qos(connection, unproven(filter.qos(), jobs, add_qos)));
  return check_nodes(connection, unproven(filter.nodes(), jobs, add_nodes));
}

client::Handler host_lists(std::vector<std::string>& names) {
  return [&names](Text value) -> Status {
    GW_TRY(expanded, base::expand_hostlist(value));
    names.insert(names.end(), expanded.begin(), expanded.end());
    return {};
  };
}

}  // namespace gw::cmds
