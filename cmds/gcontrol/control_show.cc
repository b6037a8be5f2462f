// gcontrol show ... and write batch_script.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/json/slurm_jobs.h"
#include "client/json/slurm_nodes.h"
#include "client/show/in_parts.h"
#include "client/show/license_text.h"
#include "client/show/partition_text.h"
#include "client/show/show_json.h"
#include "cmds/gcontrol/control_step.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/gcontrol/slurm_config.h"
#include "cmds/shared/hidden_note.h"
#include "cmds/shared/job_filter.h"
#include "cmds/shared/job_ids.h"
#include "config/config.h"
#include "io/fd.h"

namespace gw::cmds {
namespace {

using client::Program;
using Text = std::string_view;

int unknown_job(const Program& program, const std::string& id) {
  if (program.is_slurm) {
    client::print_note({"slurm_load_jobs error", true}, "Invalid job id specified");
    return client::kExitFailed;
  }
  return failed(program, {base::ErrorCode::kNotFound, fmt::format("Invalid job id specified: {}", id), {}});
}

int show_jobs(const Program& program, const ControlOptions& o, const JobIds& ids);

/// None where nobody runs; a controller that cannot tell is no reason to show nothing.
client::JobLabels labels_of(const Program& program, const google::protobuf::RepeatedPtrField<wire::Job>& jobs) {
  wire::ApiRequest request;
  if (!client::ask_for_labels(jobs, *request.mutable_show_shares())) return {};
  auto reply = ask(program, std::move(request));
  return reply ? client::JobLabels(std::move(*reply->mutable_show_shares())) : client::JobLabels();
}

int show_slurm_json(const Program& program, const google::protobuf::RepeatedPtrField<wire::Job>& jobs, int64_t now_us) {
  const auto config = client::load_config();
  if (!config) return failed(program, config.error());
  std::vector<client::JobRow> rows;
  for (const wire::Job& job : jobs) rows.push_back({&job, {now_us}, nullptr, {}});
  const bool done = client::slurm::jobs(rows, {now_us}, {config->cluster, {"show", "job"}}, client::print_out);
  return done ? client::kExitOk : client::kExitFailed;
}

int show_one_job(const Program& program, const ControlOptions& o, uint32_t id) {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(id);
  request.mutable_show_job()->set_history(o.history);
  auto reply = ask(program, std::move(request));
  if (!reply)
    return reply.error().code == base::ErrorCode::kNotFound ? unknown_job(program, std::to_string(id))
                                                            : failed(program, reply.error());
  const wire::ShowJobReply& shown = reply->show_job();
  google::protobuf::RepeatedPtrField<wire::Job> one;
  *one.Add() = shown.job();
  const client::JobLabels labels = labels_of(program, one);
  if (o.json && program.is_slurm) return show_slurm_json(program, one, shown.now_us());
  if (o.json) return printed(client::job_json(shown, labels));
  const wire::JobSpec& spec = shown.job().spec();
  const bool is_several = spec.het_job() == id || spec.array().job() == id;
  if (is_several && !o.history) return show_jobs(program, o, {{id}, {}});  // with its components or tasks
  std::string out = last_update(o, shown.now_us(), 1) +
                    client::show_job_text({&shown.job(), {shown.now_us()}, labels.of(shown.job())}, o.style);
  if (o.history) {
    while (!o.style.one_line && out.ends_with("\n\n")) out.pop_back();
    out += history_text(shown);
  }
  return printed(out);
}

int show_jobs(const Program& program, const ControlOptions& o, const JobIds& ids) {
  wire::ApiRequest request;
  request.mutable_list_jobs()->mutable_filter()->set_all_states(true);
  wire::JobFilter& filter = *request.mutable_list_jobs()->mutable_filter();
  ids.put(*filter.mutable_ids(), *filter.mutable_tasks());
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ListJobsReply& list = reply->list_jobs();
  note_hidden(program, sum_of(list.hidden()), "job of others", "jobs of others");
  const client::JobLabels labels = labels_of(program, list.jobs());
  if (o.json && program.is_slurm) return show_slurm_json(program, list.jobs(), list.now_us());
  if (o.json) return printed(client::jobs_json(list.jobs(), list.now_us(), labels));
  const auto append = [&](std::string& out, size_t i) {
    const wire::Job& job = list.jobs(static_cast<int>(i));
    client::append_job_text(out, {&job, {list.now_us()}, labels.of(job)}, o.style);
  };
  int code = printed(last_update(o, list.now_us(), list.jobs_size()));
  client::text_in_parts(static_cast<size_t>(list.jobs_size()), append, [&code](const std::string& part) {
    if (code == client::kExitOk) code = printed(part);
  });
  if (list.jobs().empty() && ids.empty()) code = printed("No jobs in the system\n");
  if (list.unknown_ids().empty()) return code;
  return unknown_job(program, ids.size() == 1            ? name_of_only(filter)
                              : list.unknown_ids(0) == 0 ? "tasks of an array"
                                                         : std::to_string(list.unknown_ids(0)));
}

int show_job(const Program& program, const ControlOptions& o, Args words) {
  JobIds ids;
  for (const std::string& word : words)
    if (auto done = parse_job_ids(word, ids); !done) return failed(program, done.error());
  return ids.jobs.size() == 1 && ids.tasks.empty() ? show_one_job(program, o, ids.jobs.front())
                                                   : show_jobs(program, o, ids);
}

int show_node(const Program& program, const ControlOptions& o, Args words) {
  wire::ApiRequest request;
  wire::ListNodesRequest& list = *request.mutable_list_nodes();
  list.set_topology(o.json);
  for (const std::string& word : words) {
    auto names = base::expand_hostlist(word);
    if (!names) return failed(program, names.error());
    for (const std::string& name : *names) list.add_names(name);
  }
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  note_hidden(program, sum_of(reply->list_nodes().hidden()), "node", "nodes");
  if (o.json && program.is_slurm) {
    const auto config = client::load_config();
    if (!config) return failed(program, config.error());
    return printed(client::slurm::nodes(reply->list_nodes(), {config->cluster, {"show", "node"}}));
  }
  if (o.json) return printed(client::nodes_json(reply->list_nodes()));
  const wire::ListNodesReply& shown = reply->list_nodes();
  std::string out = last_update(o, shown.now_us(), shown.nodes_size());
  for (const wire::Node& n : shown.nodes()) out += client::show_node_text(n, {shown.now_us()}, o.style);
  return printed(shown.nodes().empty() ? out + "No nodes in the system\n" : out);
}

int show_partition(const Program& program, const ControlOptions& o, Args words) {
  wire::ApiRequest request;
  auto& names = *request.mutable_list_partitions()->mutable_names();
  for (const std::string& word : words)
    for (const std::string& name : base::split(word, ',')) *names.Add() = name;
  request.mutable_list_partitions()->set_effective(o.effective);
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  if (o.effective) {
    const auto text =
        o.json ? client::effective_json(reply->list_partitions()) : client::effective_text(reply->list_partitions());
    return text ? printed(*text) : failed(program, text.error());
  }
  if (o.json && program.is_slurm) {
    const auto config = client::load_config();
    if (!config) return failed(program, config.error());
    return printed(client::slurm::partitions(reply->list_partitions(), {config->cluster, {"show", "partition"}}));
  }
  if (o.json) return printed(client::partitions_json(reply->list_partitions()));
  const wire::ListPartitionsReply& shown = reply->list_partitions();
  std::string out = last_update(o, shown.now_us(), shown.partitions_size());
  for (const wire::Partition& p : shown.partitions()) out += client::show_partition_text(p, o.style);
  return printed(shown.partitions().empty() ? out + "No partitions in the system\n" : out);
}

int show_config(const Program& program, const ControlOptions& o, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "show config takes no arguments");
  wire::ApiRequest request;
  request.mutable_show_config();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ShowConfigReply& c = reply->show_config();
  if (o.json) return printed(client::config_json(c));
  std::string out = fmt::format("Configuration data as of {}\n", base::format_time({c.now_us()}));
  if (program.is_slurm) out += slurm_config_lines(c, config::default_path());
  for (const wire::ConfigEntry& e : c.entries()) out += fmt::format("{:<23} = {}\n", e.key(), e.value());
  return printed(out);
}

int show_licenses(const Program& program, const ControlOptions& o, Args words) {
  wire::ApiRequest request;
  request.mutable_show_config();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  std::vector<wire::LicenseUse> shown;
  for (const wire::LicenseUse& one : reply->show_config().licenses())
    if (words.empty() || std::find(words.begin(), words.end(), one.name()) != words.end()) shown.push_back(one);
  if (o.json) return printed(client::licenses_json(shown));
  std::string out = last_update(o, reply->show_config().now_us(), static_cast<int>(shown.size()));
  for (const wire::LicenseUse& one : shown) out += client::show_license_text(one, o.style);
  if (shown.empty() && !words.empty())
    return failed(program, {base::ErrorCode::kNotFound, "no licence " + base::printable(words.front(), 60),
                            "gcontrol show licenses lists all"});
  if (shown.empty()) out += program.is_slurm ? "No licenses configured in Slurm.\n" : "No licences are configured\n";
  return printed(out);
}

int show_hostnames(const Program& program, const ControlOptions&, Args words) {
  std::string list = base::join(words, ",");
  for (const char* variable : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"})
    if (const char* value = std::getenv(variable); list.empty() && value != nullptr) list = value;
  if (list.empty())
    return failed(program, {base::ErrorCode::kInvalid, "no host list given, and SLURM_JOB_NODELIST is not set", {}});
  auto names = base::expand_hostlist_as_slurm(list);
  if (!names) return failed(program, names.error());
  std::string out;
  for (const std::string& name : *names) out += name + "\n";
  return printed(out);
}

template <bool kSorted>
int show_hostlist(const Program& program, const ControlOptions&, Args words) {
  if (words.empty()) return failed(program, {base::ErrorCode::kInvalid, "no host names given", {}});
  auto list = make_hostlist(base::join(words, ","), kSorted);
  return list ? printed(*list + "\n") : failed(program, list.error());
}

struct Entity {
  Text name;
  int (*run)(const Program&, const ControlOptions&, Args);
};
constexpr Entity kEntities[] = {
    {"job", show_job},
    {"jobs", show_job},
    {"node", show_node},
    {"nodes", show_node},
    {"partition", show_partition},
    {"partitions", show_partition},
    {"config", show_config},
    {"license", show_licenses},
    {"licenses", show_licenses},
    {"hostnames", show_hostnames},
    {"hostlist", show_hostlist<false>},
    {"hostlistsorted", show_hostlist<true>},
    {"reservation", show_reservations},
    {"reservations", show_reservations},
    {"step", show_steps},
    {"steps", show_steps},
    {"topology", show_topology},
    {"daemons", show_daemons},
    {"aliases", show_aliases},
    {"assoc_mgr", show_assoc_mgr},
    {"heldaside", show_held},
    {"event", show_events},
    {"events", show_events},
    {"audit", show_audit},
};

}  // namespace

base::Result<std::string> make_hostlist(const std::string& text, bool sorted) {
  std::vector<std::string> names;
  if (text.find('/') != std::string::npos) {  // a file with a name on each line, as Slurm takes it
    std::ifstream file(text);
    if (!file) return base::fail_errno("cannot read " + base::printable(text), errno);
    for (std::string line; std::getline(file, line);)
      if (!base::trim(line).empty()) names.emplace_back(base::trim(line));
  } else {
    GW_TRY(expanded, base::expand_hostlist(text));
    names = std::move(expanded);
  }
  if (sorted) std::sort(names.begin(), names.end(), base::host_less);  // as in Slurm, what stands twice stays
  return base::compress_hostlist(names);
}

int control_show(const Program& program, const ControlOptions& o, Args words) {
  if (words.empty())
    return failed(program, {base::ErrorCode::kInvalid, "show what?",
                            "job, step, node, partition, reservation, events, heldaside, config, hostnames, hostlist"});
  // `show job=7` and `show jobid 7` are as good as `show job 7`.
  std::vector<std::string> rest(words.begin() + 1, words.end());
  std::string word = base::to_lower(words.front());
  if (const size_t equals = word.find('='); equals != std::string::npos) {
    rest.insert(rest.begin(), words.front().substr(equals + 1));
    word.resize(equals);
  }
  for (Text suffix : {"id", "name"})
    if (word == "job" + std::string(suffix) || word == "node" + std::string(suffix) ||
        word == "step" + std::string(suffix) || word == "partition" + std::string(suffix) ||
        word == "reservation" + std::string(suffix))
      word.resize(word.size() - suffix.size());
  std::vector<Text> names;
  for (const Entity& e : kEntities)
    if (e.name.back() != 's' || e.name == word || e.name == "hostnames" || e.name == "daemons" || e.name == "aliases")
      names.push_back(e.name);
  const std::string name = match_word(word, names);
  for (const Entity& e : kEntities)
    if (e.name == name) return e.run(program, o, rest);
  std::vector<std::string> known(names.begin(), names.end());
  const std::string hint = base::did_you_mean(word, known);
  return failed(program, {base::ErrorCode::kInvalid, "invalid entity: " + base::printable(words.front()),
                          hint.empty() ? "entities: " + base::join(known, ", ") : hint});
}

int control_write(const Program& program, const ControlOptions&, Args words) {
  JobIds ids;
  if (words.size() < 2 || words.size() > 3 || !base::iequals(words[0], "batch_script") ||
      !parse_job_ids(words[1], ids) || ids.size() != 1)
    return failed(program, {base::ErrorCode::kInvalid, "write: expected batch_script JOB_ID [FILE]", {}});
  const auto id = number_of(program, ids);
  if (!id) return failed(program, id.error());
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(*id);
  request.mutable_show_job()->set_script(true);
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const std::string& script = reply->show_job().script();
  if (words.size() == 3 && words[2] == "-") return printed(script);
  const std::string path =
      words.size() == 3 ? words[2] : fmt::format("{}-{}.sh", program.is_slurm ? "slurm" : "gangway", *id);
  const io::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (fd.get() < 0 || ::write(fd.get(), script.data(), script.size()) != static_cast<ssize_t>(script.size()))
    return failed(program, base::fail_errno("cannot write " + base::printable(path), errno).value());
  return printed(fmt::format("batch script for job {} written to {}\n", *id, path));
}

}  // namespace gw::cmds
