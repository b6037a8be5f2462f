// sacctmgr's lists of what there is one of, or what the configuration says: clusters, trackable resources, the
// configuration of accounting.
#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "client/conn/program.h"
#include "client/show/field_table.h"
#include "cmds/gacctmgr/acct.h"
#include "config/config.h"
#include "model/named_counts.h"

namespace gw::cmds {
namespace {

using client::Program;
using client::TableField;

/// What clients of 23.11 speak; some tools look whether it is new enough.
constexpr int kSlurmProtocol = 10'240;

struct ClusterRow {
  std::string name, host, default_qos;
  uint32_t port = 0;
  std::vector<std::string> qos, tres;
};

const std::vector<TableField<ClusterRow>>& cluster_fields() {
  using Row = ClusterRow;
  const auto nothing = [](const Row&) { return std::string(); };
  static const std::vector<TableField<Row>> fields = {
      {{"cluster"}, "Cluster", [](const Row& r) { return r.name; }, true},
      {{"control_host"}, "ControlHost", [](const Row& r) { return r.host; }, true},
      {{"control_port"}, "ControlPort", [](const Row& r) { return std::to_string(r.port); }, true},
      {{"rpc"}, "RPC", [](const Row&) { return std::to_string(kSlurmProtocol); }, true},
      {{"share", "fairshare"}, "Share", [](const Row&) { return std::string("1"); }, true},
      {{"grp_jobs"}, "GrpJobs", nothing, true},
      {{"grp_tres"}, "GrpTRES", nothing, true},
      {{"grp_submit", "grp_submit_jobs"}, "GrpSubmit", nothing, true},
      {{"max_jobs"}, "MaxJobs", nothing, true},
      {{"max_tres"}, "MaxTRES", nothing, true},
      {{"max_submit", "max_submit_jobs"}, "MaxSubmit", nothing, true},
      {{"max_wall", "max_wall_duration_per_job"}, "MaxWall", nothing, true},
      {{"qos"}, "QOS", [](const Row& r) { return base::join(r.qos, ","); }, true},
      {{"def_qos", "default_qos"}, "Def QOS", [](const Row& r) { return r.default_qos; }, true},
      {{"classification"}, "Classification", nothing, true},
      {{"flags"}, "Flags", nothing, true},
      {{"federation"}, "Federation", nothing, true},
      {{"id"}, "ID", [](const Row&) { return std::string("0"); }, true},
      {{"features"}, "Features", nothing, true},
      {{"tres"}, "TRES", [](const Row& r) { return base::join(r.tres, ","); }, true}};
  return fields;
}
constexpr std::string_view kClusterFormat =
    "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,MaxTRES,MaxSubmit,MaxWall,QOS,DefQOS";

struct TresRow {
  std::string type, name;
  uint32_t id = 0;
};

const std::vector<TableField<TresRow>>& tres_fields() {
  static const std::vector<TableField<TresRow>> fields = {
      {{"type"}, "Type", [](const TresRow& r) { return r.type; }, true},
      {{"name"}, "Name", [](const TresRow& r) { return r.name; }, true},
      {{"id"}, "ID", [](const TresRow& r) { return std::to_string(r.id); }, true}};
  return fields;
}

/// As Slurm numbers its own, GPUs 1001 as sacct has them; other kinds of generic resources and licences have numbers
/// behind that, in their order.
std::vector<TresRow> tres_of(const wire::ShowConfigReply& config) {
  std::vector<TresRow> rows = {{"cpu", "", 1},  {"mem", "", 2},     {"energy", "", 3},
                               {"node", "", 4}, {"billing", "", 5}, {"fs", "disk", 6},
                               {"vmem", "", 7}, {"pages", "", 8},   {"gres", "gpu", 1001}};
  std::set<std::string> kinds;
  for (const wire::ConfigEntry& e : config.entries())
    if (e.key().starts_with("nodes.") && e.key().ends_with(".gres"))
      if (const auto gres = model::parse_gres(e.value()); gres)
        for (const auto& [name, count] : *gres) kinds.insert(name);
  uint32_t id = 1001;
  for (const std::string& kind : kinds) rows.push_back({"gres", kind, ++id});
  for (const wire::LicenseUse& one : config.licenses()) rows.push_back({"license", one.name(), ++id});
  return rows;
}

base::Result<std::string> cluster_table(const AcctOptions& o, const client::QuotaQuery& query,
                                        const wire::ShowConfigReply& config, const wire::ListQuotasReply& quotas) {
  ClusterRow row;
  for (const wire::ConfigEntry& e : config.entries()) {
    if (e.key() == "cluster") row.name = e.value();
    if (e.key() == "controller.host") row.host = e.value();
    if (e.key() == "controller.port")
      if (const auto port = base::parse_int(e.value(), 0, UINT16_MAX, ""); port)
        row.port = static_cast<uint32_t>(*port);
  }
  row.default_qos = quotas.default_qos();
  for (const wire::Qos& q : quotas.qos()) row.qos.push_back(q.name());
  for (const TresRow& t : tres_of(config)) row.tres.push_back(t.name.empty() ? t.type : t.type + "/" + t.name);
  std::vector<ClusterRow> rows;
  const auto is_named = [&](const std::string& name) { return name == row.name; };
  if (query.names.empty() || std::any_of(query.names.begin(), query.names.end(), is_named)) rows.push_back(row);
  return client::field_table<ClusterRow>(query.format, kClusterFormat, cluster_fields(), rows, o.style);
}

base::Result<std::string> tres_table(const AcctOptions& o, const client::QuotaQuery& query,
                                     const wire::ShowConfigReply& config) {
  std::vector<TresRow> rows;
  for (TresRow& row : tres_of(config)) {
    const bool is_named =
        query.names.empty() || std::find(query.names.begin(), query.names.end(), row.type) != query.names.end();
    if (is_named) rows.push_back(std::move(row));
  }
  return client::field_table<TresRow>(query.format, "Type,Name%15,ID", tres_fields(), rows, o.style);
}

std::string accounting_config(const wire::ShowConfigReply& config) {
  std::string host, port, cluster, backup;
  for (const wire::ConfigEntry& e : config.entries()) {
    if (e.key() == "controller.host") host = e.value();
    if (e.key() == "controller.port") port = e.value();
    if (e.key() == "cluster") cluster = e.value();
  }
  const auto line = [](std::string_view key, std::string_view value) {
    return fmt::format("{:<22} = {}\n", key, value);
  };
  return fmt::format("Configuration data as of {}\n", base::format_time({config.now_us()})) +
         line("AccountingStorageHost", host) + line("AccountingStoragePort", port) +
         line("AccountingStorageType", "accounting_storage/slurmdbd") + line("AuthType", "auth/munge") +
         line("ClusterName", cluster) + line("SLURM_CONF", config::default_path()) +
         line("SLURM_VERSION", std::string(client::kSlurmVersion));
}

}  // namespace

int acct_show_cluster(const Program& program, const AcctOptions& o, AcctEntity entity, Args words) {
  if (o.json)
    return failed(program, {base::ErrorCode::kInvalid, "this list is there as a table alone", "-P is for programs"});
  // What chooses is called after what is listed.
  const std::string_view chooses = entity == AcctEntity::kTres ? "type=" : "cluster=";
  std::vector<std::string> named(words.begin(), words.end());
  for (std::string& word : named)
    if (base::to_lower(word).starts_with(chooses)) word = "name=" + word.substr(chooses.size());
  const auto query = acct_query(named);
  if (!query) return failed(program, query.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  wire::ApiRequest request;
  request.mutable_show_config();
  const auto config = connection->call(std::move(request));
  if (!config) return failed(program, config.error());
  if (entity == AcctEntity::kConfig) return printed(accounting_config(config->show_config()));
  wire::ApiRequest more;
  more.mutable_list_quotas();
  const auto quotas = connection->call(std::move(more));
  if (!quotas) return failed(program, quotas.error());
  const auto text = entity == AcctEntity::kTres
                        ? tres_table(o, *query, config->show_config())
                        : cluster_table(o, *query, config->show_config(), quotas->list_quotas());
  return text ? printed(*text) : failed(program, text.error());
}

}  // namespace gw::cmds
