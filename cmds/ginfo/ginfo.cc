// ginfo (sinfo): partitions, nodes and their states, GPUs free / in use / offline.
#include <algorithm>
#include <cstdlib>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/json/slurm_nodes.h"
#include "client/options/in_effect.h"
#include "client/show/fragmentation_text.h"
#include "client/show/info_fields.h"
#include "client/show/reservation_text.h"
#include "client/show/show_json.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/hidden_note.h"
#include "cmds/shared/job_filter.h"
#include "cmds/shared/listing_options.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::Program;
using Text = std::string_view;

struct InfoOptions {
  std::vector<std::string> nodes, partitions, states;
  ListingOptions listing;
  bool by_node = false, summary = false, reasons = false, exact = false, dead = false, responding = false,
       reservations = false, fragmentation = false, helps_state = false, ignored = false;
};

constexpr ListingWords kWords = {"columns by letter: \"%P %.5a %D %t %N\"; %J is GPUs free/used/offline",
                                 "columns by name: Partition:12,GPUsFree,StateLong",
                                 "order by letters of fields, - reverses",
                                 {}};

std::vector<client::Option> table(InfoOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  const auto flag = [&t](Text name, char letter, Text help, bool& value) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(value)});
  };
  flag("Node", 'N', "a line for each node", o.by_node);
  flag("summarize", 's', "a line for each partition", o.summary);
  flag("list-reasons", 'R', "why nodes are down or drained, and warnings", o.reasons);
  flag("exact", 'e', "do not put nodes of different sizes on one line", o.exact);
  flag("reservation", 'T', "reservations", o.reservations);
  flag("fragmentation", 0, "free GPUs that recent jobs could not use, and the largest gang startable now",
       o.fragmentation);
  flag("dead", 'd', "nodes that do not answer", o.dead);
  flag("responding", 'r', "nodes that answer", o.responding);
  flag("all", 'a', "all partitions (always so)", o.ignored);
  flag("verbose", 'v', "say more: the options in effect; -vv: each request, too", o.ignored);
  for (Text name : {"hide", "noconvert", "local", "federation", "future"})
    t.push_back({name, name == "future" ? 'F' : '\0', Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  t.push_back({"nodes", 'n', Arg::kRequired, "NODES", "these nodes", {}, client::kPlain, host_lists(o.nodes)});
  t.push_back({"partition", 'p', Arg::kRequired, "NAMES", "these partitions", "PARTITION", client::kPlain,
               lists(o.partitions, "-p/--partition")});
  t.push_back({"states",
               't',
               Arg::kRequired,
               "STATES",
               "nodes in these states: idle, mix, alloc, drain, drng, down, ...",
               {},
               client::kPlain,
               lists(o.states, "-t/--states")});
  flag("helpstate", 0, "the names of all states of nodes", o.helps_state);
  add_listing_options(t, o.listing, kWords);
  client::add_common_options(t, flags, 0);
  static constexpr client::Unsupported kUnsupported[] = {{"yaml", 0, Arg::kOptional}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show partitions and nodes";
  d.synopsis = "[OPTIONS]";
  d.description =
      "Shows partitions with their nodes grouped by state. States: idle, mix (partly used), alloc, comp (cleaning up), "
      "drain (empty, takes "
      "no jobs), drng (draining), down, unk; a star means that the node does not answer. GPUs are counted free / in "
      "use / offline. With --fragmentation, of each partition: free GPUs, how many of them a task drawn from those "
      "submitted of late is expected not to be able to use, and the GPUs of the largest gang of whole nodes that could "
      "start now, as the scheduler saw it at its last pass.";
  d.exit_codes = {{"0", "shown"}, {"1", "bad option, unknown name, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}, {"NO_COLOR", "no colours"}};
  d.examples = {{"ginfo -N -l", "every node"},
                {"ginfo -R", "why nodes are out"},
                {"ginfo --fragmentation --json", "fragmentation, for scripts"},
                {"ginfo -h -o %R,%C", "CPUs by partition, for scripts"}};
  d.env_prefixes = {"SINFO_", "GINFO_"};
  return d;
}

/// The columns to show; the own name shows GPUs, Slurm's keeps Slurm's columns.
Text standard_format(const InfoOptions& o, bool is_slurm) {
  const bool is_long = o.listing.is_long;
  if (o.reasons && is_slurm) return is_long ? client::kSinfoReasonLongFormat : client::kSinfoReasonFormat;
  if (o.reasons) return is_long ? client::kInfoReasonLongFormat : client::kInfoReasonFormat;
  if (o.summary) return is_slurm ? client::kInfoSummaryFormat : client::kInfoSummaryGpuFormat;
  if (o.by_node && is_long) return is_slurm ? client::kInfoNodeLongFormat : client::kInfoNodeLongGpuFormat;
  if (o.by_node) return is_slurm ? client::kInfoNodeFormat : client::kInfoNodeGpuFormat;
  if (is_long) return is_slurm ? client::kInfoLongFormat : client::kInfoLongGpuFormat;
  return is_slurm ? client::kInfoFormat : client::kInfoGpuFormat;
}

Status unknown_state(const std::string& state, const std::vector<std::string>& known) {
  const std::string hint = base::did_you_mean(base::to_lower(state), known);
  return base::invalid("Invalid node state specified: " + base::printable(state),
                       hint.empty() ? "states: " + base::join(known, ", ") : hint);
}

const std::vector<std::string>& known_states() {
  static const std::vector<std::string> known = {
      "all",  "alloc",    "allocated",  "comp",     "completing", "down",    "drain",   "drained", "draining",
      "drng", "idle",     "mix",        "mixed",    "no_respond", "unk",     "unknown", "fail",    "maint",
      "resv", "reserved", "power_down", "power_up", "reboot",     "planned", "err",     "inval",   "future"};
  return known;
}

Status check_states(const InfoOptions& o) {
  const std::vector<std::string>& known = known_states();
  for (const std::string& s : o.states) {
    const std::string word = base::to_lower(s);
    if (std::find(known.begin(), known.end(), word) == known.end()) return unknown_state(s, known);
  }
  return {};
}

bool is_wanted(const InfoOptions& o, const wire::Node& n) {
  const bool silent = n.state().ends_with('*');
  if ((o.dead && !silent) || (o.responding && silent)) return false;
  if (o.reasons && n.reason().empty() && n.warning().empty() && !silent) return false;
  if (o.states.empty()) return true;
  return std::any_of(o.states.begin(), o.states.end(),
                     [&](const std::string& s) { return client::node_state_is(n, s); });
}

struct Cluster {
  wire::ListNodesReply nodes;
  wire::ListPartitionsReply partitions;
  client::InfoFacts facts;
};

bool shows(const client::Format& format, Text name) {
  return std::any_of(format.columns.begin(), format.columns.end(),
                     [name](const client::Column& c) { return client::info_fields()[c.field].id.name == name; });
}

/// What the columns show that no node tells of itself.
base::Result<client::InfoFacts> fetch_facts(client::Connection& connection, const client::Format& format,
                                            bool is_slurm) {
  client::InfoFacts facts;
  if (is_slurm) facts.version = client::kSlurmVersion;
  if (shows(format, "Cluster")) {
    GW_TRY(config, client::load_config());
    facts.cluster = config.cluster;
  }
  if (!shows(format, "Reservation")) return facts;
  wire::ApiRequest request;
  request.mutable_list_reservations();
  GW_TRY(reply, connection.call(std::move(request)));
  for (const wire::Reservation& reservation : reply.list_reservations().reservations())
    if (reservation.is_active())
      for (const std::string& node : reservation.nodes()) facts.reservations.emplace(node, reservation.name());
  return facts;
}

base::Result<Cluster> fetch(client::Connection& connection, const InfoOptions& o, const client::Format& format,
                            bool is_slurm) {
  wire::ApiRequest nodes;
  nodes.mutable_list_nodes()->mutable_names()->Assign(o.nodes.begin(), o.nodes.end());
  nodes.mutable_list_nodes()->set_topology(o.listing.json);
  GW_TRY(node_reply, connection.call(std::move(nodes)));
  wire::ApiRequest partitions;
  partitions.mutable_list_partitions()->mutable_names()->Assign(o.partitions.begin(), o.partitions.end());
  GW_TRY(partition_reply, connection.call(std::move(partitions)));
  GW_TRY(facts, fetch_facts(connection, format, is_slurm));
  return Cluster{node_reply.list_nodes(), partition_reply.list_partitions(), std::move(facts)};
}

bool in_partitions(const wire::Node& n, const InfoOptions& o) {
  return o.partitions.empty() || std::any_of(n.partitions().begin(), n.partitions().end(), [&](const std::string& p) {
           return std::find(o.partitions.begin(), o.partitions.end(), p) != o.partitions.end();
         });
}

base::Result<std::string> render(const InfoOptions& o, const client::Format& format, const Cluster& c) {
  const auto& fields = client::info_fields();
  std::vector<const wire::Node*> nodes;
  for (const wire::Node& n : c.nodes.nodes())
    if (is_wanted(o, n) && in_partitions(n, o)) nodes.push_back(&n);
  auto rows = client::group_nodes(format, c.partitions.partitions(), nodes, o.by_node, o.exact, &c.facts);
  const bool is_filtered = !o.states.empty() || !o.nodes.empty() || o.dead || o.responding;
  if (is_filtered) std::erase_if(rows, [](const client::InfoRow& r) { return r.nodes.empty(); });
  if (o.by_node && o.listing.sort.empty())
    std::stable_sort(rows.begin(), rows.end(), [](const client::InfoRow& a, const client::InfoRow& b) {
      return base::host_less(a.nodes.front()->name(), b.nodes.front()->name());
    });
  if (!o.listing.sort.empty()) {
    GW_TRY(keys, client::parse_sort(o.listing.sort, client::field_names(fields)));
    client::sort_rows(rows, fields, keys);
  }
  return render_listing(o.listing, format, fields, rows, {c.nodes.now_us()});
}

int show_reserved(const Program& program, client::Connection& connection, const InfoOptions& o) {
  wire::ApiRequest request;
  request.mutable_list_reservations();
  auto reply = connection.call(std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ListReservationsReply& list = reply->list_reservations();
  return printed(o.listing.json ? client::reservations_json(list)
                                : client::reservation_table(list, !o.listing.no_header));
}

int show_fragmentation(const Program& program, client::Connection& connection, const InfoOptions& o) {
  wire::ApiRequest request;
  request.mutable_list_partitions()->mutable_names()->Assign(o.partitions.begin(), o.partitions.end());
  auto reply = connection.call(std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ListPartitionsReply& list = reply->list_partitions();
  return printed(o.listing.json ? client::fragmentation_json(list)
                                : client::fragmentation_table(list, !o.listing.no_header));
}

/// The groups that a plain listing has, each of nodes in one state.
int show_slurm_json(const Program& program, const InfoOptions& o, const Cluster& c) {
  const auto config = client::load_config();
  if (!config) return failed(program, config.error());
  const auto format = client::parse_short_format("%P %T %m %G", client::field_names(client::info_fields()));
  if (!format) return failed(program, format.error());
  std::vector<const wire::Node*> nodes;
  for (const wire::Node& n : c.nodes.nodes())
    if (is_wanted(o, n) && in_partitions(n, o)) nodes.push_back(&n);
  auto rows = client::group_nodes(*format, c.partitions.partitions(), nodes, o.by_node, true);
  if (!o.states.empty() || !o.nodes.empty() || o.dead || o.responding)
    std::erase_if(rows, [](const client::InfoRow& r) { return r.nodes.empty(); });
  return printed(client::slurm::summary(rows, {config->cluster, {"sinfo"}}));
}

int show(const Program& program, client::Connection& connection, const InfoOptions& o, const client::Format& format) {
  if (o.fragmentation) return show_fragmentation(program, connection, o);
  if (o.reservations) return show_reserved(program, connection, o);
  auto cluster = fetch(connection, o, format, program.is_slurm);
  if (!cluster) return failed(program, cluster.error());
  note_hidden(program, sum_of(cluster->nodes.hidden()), "node", "nodes");
  if (o.listing.json && program.is_slurm) return show_slurm_json(program, o, *cluster);
  if (o.listing.json) {
    wire::ListNodesReply wanted;
    wanted.set_now_us(cluster->nodes.now_us());
    for (const wire::Node& n : cluster->nodes.nodes())
      if (is_wanted(o, n) && in_partitions(n, o)) *wanted.add_nodes() = n;
    return printed(client::info_json(wanted, cluster->partitions));
  }
  auto text = render(o, format, *cluster);
  return text ? printed(*text) : failed(program, text.error());
}

}  // namespace

int run_ginfo(const Program& called, Args args) {
  InfoOptions o, from_env;
  client::CommonFlags flags, unused;
  client::OptionsInEffect seen, weaker;
  auto t = table(o, flags), of_environment = table(from_env, unused);
  seen.watch(t);
  weaker.watch(of_environment);
  Parsed parsed = parse_command(called, doc(), t, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  if (auto done =
          client::read_environment(of_environment, doc().env_prefixes, [](const char* n) { return std::getenv(n); });
      !done)
    return failed(called, done.error());
  seen.fill(weaker);
  const Program program = client::outspoken(called, seen, client::OptionFrame::kLists);
  if (o.partitions.empty()) o.partitions = from_env.partitions;
  ListingOptions& listing = o.listing;
  if (listing.sort.empty()) listing.sort = from_env.listing.sort;
  const bool chooses = o.by_node || listing.is_long || o.summary || o.reasons || !listing.long_format.empty();
  if (listing.format.empty() && !chooses) listing.format = from_env.listing.format;
  if (!parsed.operands.empty())
    return refuse_operand(program, parsed.operands.front(), "nodes go with -n, partitions with -p");
  if (listing.wants_fields) return printed(field_list(client::field_names(client::info_fields())));
  if (o.helps_state) return printed(base::join(known_states(), "\n") + "\n");
  if (auto fine = check_states(o); !fine) return failed(program, fine.error());
  auto format = make_format(listing, standard_format(o, program.is_slurm), client::field_names(client::info_fields()));
  if (!format) return failed(program, format.error());
  listing.look = look_of(program, listing);
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  return show_repeatedly(listing.iterate_seconds, [&] {
    const int said = printed(cluster_line(listing));
    return said != client::kExitOk ? said : show(program, *connection, o, *format);
  });
}

}  // namespace gw::cmds
