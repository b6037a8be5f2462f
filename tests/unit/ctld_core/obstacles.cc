// See obstacles.h.
#include "tests/unit/ctld_core/obstacles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gw::ctld::testing::obstacles {
namespace {

wire::JobSpec& spec_of(Obstructed& w) { return *w.request.mutable_submit()->mutable_spec(); }
wire::Request& asked_of(Obstructed& w) { return *spec_of(w).mutable_request(); }

/// Somebody's job on the node, which ends to make way.
Obstacle on_node(const std::string& name, BlockerKind kind, Obstructed::Other other) {
  return {.name = name,
          .kind = kind,
          .needs = {"two nodes", "others on them"},
          .put =
              [name, other](Obstructed& w, const std::string& node) {
                Obstructed::Other there = other;
                there.node = node;
                w.run_other("its " + name, there);
              },
          .lift = [name](Obstructed& w, const std::string&) { w.end("its " + name); }};
}

/// Keeps everybody off nodes of a feature.
class Kept final : public sched::FilterPolicy {
 public:
  std::string_view name() const override { return "kept"; }
  bool lets_on(const sched::FilterJob&, const sched::FilterNode& node) const override {
    return std::find(node.features.begin(), node.features.end(), "kept") == node.features.end();
  }
  std::string kept_for() const override { return "others"; }
};

void add_names(Obstacles& out) {
  out.push_back({.name = "node_list",
                 .kind = BlockerKind::kNodeList,
                 .needs_alone = {"makes", "names"},
                 .needs = {"other partition", "reservation", "two nodes", "spec", "its place"},
                 .ask =
                     [](Obstructed& w, const std::string& node) {
                       asked_of(w).add_nodelist(node == "n0" ? "n1" : "n0");
                       asked_of(w).add_nodelist("s0");
                     },
                 .lift = [](Obstructed& w,
                            const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_nodelist(""); }); }});
  out.push_back({.name = "exclude",
                 .kind = BlockerKind::kExcludedNode,
                 .needs_alone = {"names"},
                 .needs = {"two nodes", "spec", "its place"},
                 .ask = [](Obstructed& w, const std::string& node) { asked_of(w).add_exclude(node); },
                 .lift = [](Obstructed& w,
                            const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_exclude(""); }); }});
  out.push_back({.name = "reserved_node",
                 .kind = BlockerKind::kReservedNode,
                 .needs_alone = {"reservation"},
                 .needs = {"two nodes", "its place", "other partition"},
                 .then =
                     [](Obstructed& w, const std::string& node) {
                       w.reserve({node == "n0" ? "n1" : "n0", "s0", "x0"});
                     },
                 .lift =
                     [](Obstructed& w, const std::string&) {
                       w.change_reservation([](wire::UpdateReservationRequest& u) { u.set_nodes("n0,n1,x0"); });
                     }});
}

using Config = model::NodeConfig;
using Make = Harbour::Make;

/// Changes each node; `change` is told whether it is the one.
template <typename Change>
auto all_but(Change change) {
  return [change](Harbour& h, const std::string& node) {
    for (auto& [name, config] : h.nodes) change(config, h.makes.at(name), name == node);
  };
}

/// What a node is.
void add_kinds(Obstacles& out) {
  out.push_back({.name = "features",
                 .kind = BlockerKind::kFeatures,
                 .needs = {"makes", "two nodes", "spec", "its place"},
                 .build = all_but([](Config& c, Make&, bool is_it) {
                   if (!is_it) c.features = {"ib"};
                 }),
                 .ask = [](Obstructed& w, const std::string&) { asked_of(w).add_features()->add_all("ib"); },
                 .lift = [](Obstructed& w,
                            const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_features(""); }); }});
  out.push_back({.name = "gpu_type",
                 .kind = BlockerKind::kGpuType,
                 .needs = {"makes", "two nodes", "spec", "its place"},
                 .build = all_but([](Config&, Make& m, bool is_it) { m.gpu_type = is_it ? "a100" : "h100"; }),
                 .ask = [](Obstructed& w, const std::string&) { asked_of(w).set_gpu_type("h100"); },
                 .lift =
                     [](Obstructed& w, const std::string&) {
                       w.update([](wire::UpdateJobRequest& u) {
                         u.mutable_gres()->set_gpu_counting(static_cast<uint32_t>(model::GpuCounting::kPerNode));
                         u.mutable_gres()->set_gpus(2);
                       });
                     }});
  out.push_back({.name = "filter",
                 .kind = BlockerKind::kFilter,
                 .needs_alone = {"configuration"},
                 .needs = {"makes", "two nodes", "its place"},
                 .build = all_but([](Config& c, Make&, bool is_it) {
                   if (is_it) c.features.emplace_back("kept");
                 }),
                 .then =
                     [](Obstructed& w, const std::string&) {
                       w.reconfigure([](Settings& s) {
                         s.partitions.front().filter = "kept";
                         s.filters["main"] = {"kept", {}, {}, std::make_shared<const Kept>()};
                       });
                     },
                 .lift =
                     [](Obstructed& w, const std::string&) {
                       w.reconfigure([](Settings& s) {
                         s.partitions.front().filter.clear();
                         s.filters.clear();
                       });
                     }});
}

/// What a node has, or has never been.
void add_makes(Obstacles& out) {
  out.push_back({.name = "unregistered",
                 .kind = BlockerKind::kUnregisteredNode,
                 .needs = {"two nodes", "start"},
                 .build = all_but([](Config&, Make& m, bool is_it) { m.is_away |= is_it; }),
                 .lift = [](Obstructed& w, const std::string& node) { w.join(node); }});
  out.push_back({.name = "old_daemon",
                 .kind = BlockerKind::kOldNodeDaemon,
                 .needs = {"two nodes", "start"},
                 .build = all_but([](Config&, Make& m, bool is_it) { m.version = is_it ? "0.0.9" : ""; }),
                 .lift = [](Obstructed& w, const std::string& node) {
                   w.cut(node);
                   w.harbour.makes.at(node).version = "0.1.0";
                   w.join(node);
                 }});
  out.push_back({.name = "layout",
                 .kind = BlockerKind::kLayout,
                 .needs = {"makes", "two nodes", "spec", "its place"},
                 .build = all_but([](Config&, Make& m, bool is_it) { m.sockets = is_it ? 1 : 2; }),
                 .ask = [](Obstructed& w, const std::string&) { asked_of(w).set_sockets(2); },
                 .lift = [](Obstructed& w,
                            const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_sockets(0); }); }});
  out.push_back({.name = "tmp_disk",
                 .kind = BlockerKind::kTmpDisk,
                 .needs = {"makes", "two nodes", "spec", "its place"},
                 .build = all_but([](Config& c, Make&, bool is_it) { c.tmp_mb = is_it ? 1'000 : 100'000; }),
                 .ask = [](Obstructed& w, const std::string&) { asked_of(w).set_tmp_mb(5'000); },
                 .lift = [](Obstructed& w,
                            const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_tmp_mb(0); }); }});
}

/// What others have of a node.
void add_shares(Obstacles& out) {
  out.push_back({.name = "drained",
                 .kind = BlockerKind::kUnavailableNode,
                 .needs = {"two nodes"},
                 .put = [](Obstructed& w, const std::string& node) { w.change_node(node, wire::kNodeDrain); },
                 .lift = [](Obstructed& w, const std::string& node) { w.change_node(node, wire::kNodeResume); }});
  out.push_back(on_node("gpus", BlockerKind::kGpus, {.gpus = 5}));
  out.push_back(on_node("cores", BlockerKind::kCores, {.cores = 11}));
  out.push_back(on_node("memory", BlockerKind::kMemory, {.mem_mb = 60'000}));
  out.push_back(on_node("gres", BlockerKind::kGres, {.gres = true}));
  out.back().needs.insert(out.back().needs.end(), {"spec", "room for one"});
  out.back().build = [](Harbour& h, const std::string&) {
    for (auto& [name, config] : h.nodes) config.gres.add("fpga", 1);
  };
  out.back().ask = [](Obstructed& w, const std::string&) {
    wire::GresCount& count = *asked_of(w).add_gres();
    count.set_name("fpga");
    count.set_count(1);
  };
  out.push_back(on_node("exclusive", BlockerKind::kNotEmpty, {}));
  out.back().needs_alone = {"others on them"};
  out.back().needs = {"two nodes", "spec", "room for one", "its place", "other partition"};
  out.back().ask = [](Obstructed& w, const std::string&) { asked_of(w).set_exclusive(true); };
  out.back().lift = [](Obstructed& w, const std::string&) {
    w.update([](wire::UpdateJobRequest& u) { u.set_exclusive(false); });
  };
}

/// Which nodes, GPUs or parts of one do together.
void add_places(Obstacles& out) {
  out.push_back({.name = "locality",
                 .kind = BlockerKind::kLocality,
                 .needs = {"two nodes", "spec"},
                 .put =
                     [](Obstructed& w, const std::string& node) {
                       w.change_node(node, wire::kGpuOffline, {1, 3, 5});
                     },
                 .ask =
                     [](Obstructed& w, const std::string&) {
                       wire::LocalityStep& step = *asked_of(w).add_locality();
                       step.set_level(static_cast<uint32_t>(model::Locality::kPcie));
                       step.set_wait_us(base::kUnlimited.us);
                     },
                 .lift =
                     [](Obstructed& w, const std::string& node) {
                       w.change_node(node, wire::kGpuOnline, {1, 3, 5});
                     }});
  out.push_back({.name = "contiguous",
                 .kind = BlockerKind::kApart,
                 .gate = Gate::kNeighbours,
                 .needs = {"reservation", "its place", "two nodes", "spec"},
                 .build =
                     [](Harbour& h, const std::string&) {
                       h.settings.partitions.front().nodes = {"n0", "m0", "n1", "s0", "s1"};
                       h.makes.at("m0").is_away = false;
                     },
                 .put = [](Obstructed& w, const std::string&) { w.change_node("m0", wire::kNodeDrain); },
                 .ask = [](Obstructed& w, const std::string&) { asked_of(w).set_contiguous(true); },
                 .lift =
                     [](Obstructed& w, const std::string&) {
                       w.set_main({"n0", "n1"});
                     }});
  out.push_back(
      {.name = "gpu_sharing",
       .kind = BlockerKind::kGpuSharing,
       .needs_alone = {"two nodes", "four GPUs", "its place"},
       .needs = {"spec", "configuration"},
       .build = [](Harbour& h, const std::string&) { h.settings.partitions.front().allow_shared_gpus = true; },
       .ask =
           [](Obstructed& w, const std::string&) {
             asked_of(w).set_min_nodes(1);
             asked_of(w).set_max_nodes(1);
             asked_of(w).set_tasks(1);
             asked_of(w).set_gpus(1);
             asked_of(w).set_gpu_milli(500);
           },
       .then =
           [](Obstructed& w, const std::string&) {
             w.reconfigure([](Settings& s) { s.partitions.front().allow_shared_gpus = false; });
           },
       .lift =
           [](Obstructed& w, const std::string&) {
             w.update([](wire::UpdateJobRequest& u) {
               u.mutable_gres()->set_gpu_counting(static_cast<uint32_t>(model::GpuCounting::kPerNode));
               u.mutable_gres()->set_gpus(1);
             });
           }});
}

/// Of the partition, and what is kept in it.
void add_partition_obstacles(Obstacles& out) {
  const auto state = [](model::PartitionState to) {
    return [to](Obstructed& w, const std::string&) {
      w.change_main([to](wire::UpdatePartitionRequest& u) { u.set_state(static_cast<uint32_t>(to)); });
    };
  };
  out.push_back({.name = "partition_down",
                 .kind = BlockerKind::kPartitionDown,
                 .gate = Gate::kPartition,
                 .needs_alone = {"partition"},
                 .then = state(model::PartitionState::kDown),
                 .lift = state(model::PartitionState::kUp)});
  out.push_back(
      {.name = "partition_gone",
       .kind = BlockerKind::kPartitionGone,
       .gate = Gate::kPartition,
       .needs_alone = {"partition", "configuration", "its place"},
       .then = [](Obstructed& w, const std::string&) { w.reconfigure([](Settings& s) { s.partitions.clear(); }); },
       .lift =
           [](Obstructed& w, const std::string&) {
             w.reconfigure([&w](Settings& s) {
               s.partitions = w.harbour.settings.partitions;
               s.partitions.front().nodes = w.in_main;
             });
           }});
}

/// Of how long jobs may take there, and who is before it.
void add_turns(Obstacles& out) {
  out.push_back({.name = "strict_order",
                 .kind = BlockerKind::kStrictOrder,
                 .gate = Gate::kStrictOrder,
                 .needs_alone = {"order"},
                 .needs = {"start"},
                 .build = [](Harbour& h, const std::string&) { h.settings.policy.order = *sched::make_order("fifo"); },
                 .put =
                     [](Obstructed& w, const std::string&) {
                       Obstructed::Other first;
                       first.qos = "team";
                       first.node = "s0";
                       wire::ApiRequest r = Obstructed::submission_of(first);
                       r.mutable_submit()->mutable_spec()->set_hold_user(true);
                       w.enter("first", r);
                     },
                 .then = [](Obstructed& w, const std::string&) { w.act(0, wire::kRelease, w.id_of("first")); },
                 .lift = [](Obstructed& w, const std::string&) { w.end("first"); }});
  out.push_back({.name = "time_limit",
                 .kind = BlockerKind::kPartitionTimeLimit,
                 .gate = Gate::kTimeLimit,
                 .needs_alone = {"time limit", "other partition"},
                 .needs = {"start", "partition", "configuration", "its place"},
                 .ask = [](Obstructed& w, const std::string&) { spec_of(w).add_partitions("aside"); },
                 .then =
                     [](Obstructed& w, const std::string&) {
                       w.change_main([](wire::UpdatePartitionRequest& u) { u.set_max_time_us(base::hours(1).us); });
                       wire::ApiRequest r;  // else no partition would allow it, and it may run where it is
                       r.mutable_update_partition()->set_name("aside");
                       r.mutable_update_partition()->set_state(static_cast<uint32_t>(model::PartitionState::kDown));
                       w.must(0, r);
                     },
                 .lift =
                     [](Obstructed& w, const std::string&) {
                       w.update([](wire::UpdateJobRequest& u) {
                         u.set_time_limit_us(base::hours(1).us);
                         u.set_partition("main");
                       });
                     }});
  out.push_back({.name = "planned_start",
                 .kind = BlockerKind::kPlannedStart,
                 .gate = Gate::kPlans,
                 .needs_alone = {"order", "reservation", "time limit", "limits", "budget"},
                 .needs = {"two nodes", "start", "room for one", "others on them"},
                 .put =
                     [](Obstructed& w, const std::string&) {
                       w.run_other("short", {.node = "n0", .gpus = 1, .limit = base::hours(1)});
                       wire::ApiRequest r = World::submission(gang(2, 6));
                       r.mutable_submit()->mutable_spec()->set_qos("team");
                       r.mutable_submit()->mutable_spec()->add_partitions("main");
                       r.mutable_submit()->mutable_spec()->set_hold_user(true);
                       r.mutable_submit()->mutable_spec()->set_time_limit_us(base::hours(1).us);
                       w.enter("first", r);
                     },
                 .then = [](Obstructed& w, const std::string&) { w.act(0, wire::kRelease, w.id_of("first")); },
                 .lift = [](Obstructed& w, const std::string&) { w.end("first"); }});
}

void add_reservations(Obstacles& out) {
  using Update = wire::UpdateReservationRequest;
  const auto add = [&out](const std::string& name, BlockerKind kind, Put then, Put lift) {
    out.push_back({.name = "reservation_" + name,
                   .kind = kind,
                   .gate = Gate::kReservation,
                   .needs_alone = {"reservation"},
                   .needs = {"its place"},
                   .then = std::move(then),
                   .lift = std::move(lift)});
  };
  const auto change = [](auto fn) {
    return [fn](Obstructed& w, const std::string&) { w.change_reservation([&w, fn](Update& u) { fn(w, u); }); };
  };
  const auto reserve_and = [change](auto fn) {
    return [then = change(fn)](Obstructed& w, const std::string& node) {
      w.reserve({"n0", "n1", "x0"});
      then(w, node);
    };
  };
  const auto take_off = [](Obstructed& w, const std::string&) {
    w.update([](wire::UpdateJobRequest& u) { u.set_reservation(""); });
  };
  add(
      "gone", BlockerKind::kReservationGone,
      [](Obstructed& w, const std::string&) {
        w.reserve({"n0", "n1", "x0"});
        wire::ApiRequest r;
        r.mutable_delete_reservation()->set_name("berths");
        w.must(0, r);
      },
      take_off);
  add("maintenance", BlockerKind::kReservationMaintenance, reserve_and([](Obstructed&, Update& u) {
        u.set_users("");
        u.set_maintenance(true);
      }),
      change([](Obstructed&, Update& u) {
        u.set_users(World::user(kWaiter).user);
        u.set_maintenance(false);
      }));
  add("users", BlockerKind::kReservationUsers,
      reserve_and([](Obstructed&, Update& u) { u.set_users(World::user(kNeighbour).user); }),
      change([](Obstructed&, Update& u) { u.set_users("+" + World::user(kWaiter).user); }));
  add("begins", BlockerKind::kReservationBegins,
      reserve_and([](Obstructed& w, Update& u) { u.set_start_us(w.in_an_hour.us); }),
      change([](Obstructed& w, Update& u) { u.set_start_us(w.now.us); }));
  add("ends", BlockerKind::kReservationEnds,
      reserve_and([](Obstructed& w, Update& u) { u.set_end_us(w.in_an_hour.us); }),
      [](Obstructed& w, const std::string&) {
        w.update([](wire::UpdateJobRequest& u) { u.set_time_limit_us(base::minutes(30).us); });
      });
  out.back().needs_alone.emplace_back("time limit");
  add(
      "ended", BlockerKind::kReservationGone,
      [reserve_and](Obstructed& w, const std::string& node) {
        reserve_and([](Obstructed&, Update& u) { u.set_duration_us(base::seconds(30).us); })(w, node);
        w.pass(base::seconds(30));
      },
      take_off);
  out.back().needs.emplace_back("time");
  for (Obstacle& o : out)  // it cannot be changed where the job runs while it could not run there
    if (o.gate == Gate::kReservation && o.name != "reservation_begins") o.needs_alone.emplace_back("its place");
  for (Obstacle& o : out)
    if (o.gate == Gate::kReservation) o.needs.emplace_back("other partition");
}

void set_amount(wire::AmountsPatch& patch, const std::string& resource, uint64_t amount) {
  wire::QosAmount& set = *patch.add_set();
  set.set_resource(resource);
  set.set_amount(amount);
}

/// Changes of what a QOS may have.
Put change_amounts(const std::string& qos, wire::AmountsPatch* (wire::QosPatch::*which)(),
                   const std::function<void(wire::AmountsPatch&)>& change) {
  return [qos, which, change](Obstructed& w, const std::string&) {
    w.change_qos(qos, [&](wire::QosPatch& p) { change(*(p.*which)()); });
  };
}
constexpr auto kLimit = &wire::QosPatch::mutable_limit;
void clear_amounts(wire::AmountsPatch& p) { p.set_clear(true); }
void allow_four_gpus(wire::AmountsPatch& p) { set_amount(p, "gpu", 4 * model::kWholeGpu); }

/// Limits, guarantees and licences.
void add_limits(Obstacles& out) {
  const auto beside = [](const std::string& name, Obstructed::Other other) {
    other.partition = "aside";
    other.node = "x0";
    return [name, other](Obstructed& w, const std::string&) { w.run_other(name, other); };
  };
  out.push_back({.name = "limit",
                 .kind = BlockerKind::kLimit,
                 .gate = Gate::kLimits,
                 .needs = {"four GPUs"},
                 .put = beside("of dept", {.qos = "dept", .gpus = 2}),
                 .then = change_amounts("dept", kLimit, allow_four_gpus),
                 .lift = change_amounts("dept", kLimit, clear_amounts)});
  out.push_back({.name = "user_limit",
                 .kind = BlockerKind::kUserLimit,
                 .gate = Gate::kLimits,
                 .needs = {"four GPUs", "room for one", "two of its user", "limits"},
                 .put = beside("its user's", {.uid = kWaiter, .qos = "team", .gpus = 2}),
                 .then = change_amounts("team", &wire::QosPatch::mutable_limit_per_user, allow_four_gpus),
                 .lift = [](Obstructed& w, const std::string&) { w.end("its user's"); }});
  out.push_back({.name = "licence",
                 .kind = BlockerKind::kLimit,
                 .gate = Gate::kLimits,
                 .build =
                     [](Harbour& h, const std::string&) {
                       h.settings.policy.licenses = {{"matlab", 1}};
                     },
                 .put = beside("with matlab", {.licenses = "matlab"}),
                 .ask = [](Obstructed& w, const std::string&) { spec_of(w).set_licenses("matlab"); },
                 .lift = [](Obstructed& w,
                            const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_licenses(""); }); }});
  out.back().needs = {"start", "its place"};
  out.push_back({.name = "guarantee",
                 .kind = BlockerKind::kGuarantee,
                 .gate = Gate::kLimits,
                 .needs_alone = {"guarantee"},
                 .needs = {"start", "four GPUs", "room for one", "limits"},
                 .ask = [](Obstructed& w, const std::string&) { spec_of(w).set_not_preemptible(true); },
                 .lift =
                     [](Obstructed& w, const std::string&) {
                       for (const char* qos : {"dept", "team"})
                         w.change_qos(qos, [&](wire::QosPatch& p) { allow_four_gpus(*p.mutable_guaranteed()); });
                     }});
}

/// What the quotas say besides where a place is wanting.
void add_quotas(Obstacles& out) {
  out.push_back({.name = "fair_share",
                 .kind = BlockerKind::kFairShare,
                 .needs_alone = {"guarantee"},
                 .needs = {"two nodes", "others on them"},
                 .put =
                     [](Obstructed& w, const std::string& node) {
                       w.change_qos("dept", [](wire::QosPatch& p) { p.set_weight(0); });
                       w.run_other("of the rich", {.node = node, .gpus = 5});
                     },
                 .lift =
                     [](Obstructed& w, const std::string&) {
                       w.change_qos("dept", [](wire::QosPatch& p) { p.set_weight(1); });
                       w.end("of the rich");
                     }});
  out.push_back({.name = "preempt_children",
                 .kind = BlockerKind::kPreemptChildren,
                 .needs = {"two nodes", "others on them", "guarantee"},  // its own jobs are another QOS then
                 .put =
                     [](Obstructed& w, const std::string& node) {
                       w.change_qos("crew", [](wire::QosPatch& p) { p.set_parent("team"); });
                       w.run_other("of the crew", {.qos = "crew", .node = node, .gpus = 5});
                     },
                 .lift = [](Obstructed& w, const std::string&) { w.end("of the crew"); }});
  out.push_back(
      {.name = "quota_of_whole",
       .kind = BlockerKind::kQuotaOfWhole,
       .gate = Gate::kWhole,
       .needs_alone = {"other partition"},
       .needs = {"start", "its place", "x1"},
       .put = [](Obstructed& w,
                 const std::string&) { w.run_other("far off", {.partition = "aside", .node = "x1", .gpus = 5}); },
       .ask =
           [](Obstructed& w, const std::string&) {
             asked_of(w).clear_mem_per_node_mb();
             spec_of(w).add_partitions("aside");
           },
       .then = change_amounts("team", kLimit, [](wire::AmountsPatch& p) { set_amount(p, "mem", 1'000); }),
       .lift =
           [](Obstructed& w, const std::string& node) {
             change_amounts("team", kLimit, clear_amounts)(w, node);
             w.update([](wire::UpdateJobRequest& u) { u.set_partition("main"); });
           }});
}

/// What the job is kept from the scheduler by.
void add_own(Obstacles& out) {
  const auto act = [](uint32_t uid, wire::JobAction action) {
    return [uid, action](Obstructed& w, const std::string&) { w.act(uid, action); };
  };
  const auto depends = [](const std::string& how, const std::string& on) {
    return [how, on](Obstructed& w, const std::string&) {
      w.update([&](wire::UpdateJobRequest& u) { u.set_dependency(how + w.id_of(on).text()); });
    };
  };
  const auto run_aside = [](const std::string& name) {
    return [name](Obstructed& w, const std::string&) { w.run_other(name, {.partition = "aside", .node = "x0"}); };
  };
  out.push_back({.name = "held_by_owner",
                 .kind = BlockerKind::kHeldByOwner,
                 .gate = Gate::kHold,
                 .needs_alone = {"hold"},
                 .then = act(kWaiter, wire::kHold),
                 .lift = act(kWaiter, wire::kRelease)});
  out.push_back({.name = "held_by_administrator",
                 .kind = BlockerKind::kHeldByAdministrator,
                 .gate = Gate::kHold,
                 .needs_alone = {"hold"},
                 .then = act(0, wire::kHold),
                 .lift = act(0, wire::kRelease)});
  out.push_back({.name = "dependency",
                 .kind = BlockerKind::kDependency,
                 .gate = Gate::kDependency,
                 .needs_alone = {"dependency"},
                 .put = run_aside("the earlier"),
                 .then = depends("afterany:", "the earlier"),
                 .lift = [](Obstructed& w, const std::string&) { w.end("the earlier"); }});
  out.push_back(
      {.name = "dependency_never",
       .kind = BlockerKind::kDependencyNeverSatisfied,
       .gate = Gate::kDependency,
       .needs_alone = {"dependency"},
       .put = run_aside("the failed"),
       .then =
           [depends](Obstructed& w, const std::string& node) {
             depends("afterok:", "the failed")(w, node);
             w.end("the failed");
           },
       .lift = [](Obstructed& w,
                  const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_dependency(""); }); }});
  out.push_back(
      {.name = "begin_time",
       .kind = BlockerKind::kBeginTime,
       .gate = Gate::kBeginTime,
       .then =
           [](Obstructed& w, const std::string&) {
             w.update([&w](wire::UpdateJobRequest& u) { u.set_begin_us(w.in_an_hour.us); });
           },
       .lift = [](Obstructed& w,
                  const std::string&) { w.update([&w](wire::UpdateJobRequest& u) { u.set_begin_us(w.now.us); }); }});
  out.push_back({.name = "not_looked_at",
                 .kind = BlockerKind::kNotLookedAt,
                 .gate = Gate::kUnseen,
                 .needs = {"start"},
                 .then = [](Obstructed& w, const std::string&) { w.is_scheduler_away = true; },
                 .lift = [](Obstructed& w, const std::string&) { w.is_scheduler_away = false; }});
}

/// Likewise, by what became of it before, or by budgets.
void add_past(Obstacles& out) {
  out.push_back({.name = "launch_backoff",
                 .kind = BlockerKind::kLaunchBackoff,
                 .gate = Gate::kBackoff,
                 .needs_alone = {"start", "spec", "time"},
                 .needs = {"hold"},  // a release lets it start at once
                 .begin = [](Obstructed& w, const std::string&) { w.fail_its_launch(); },
                 .lift = [](Obstructed& w, const std::string&) { w.pass(base::seconds(5)); }});
  out.push_back({.name = "nodes_not_left",
                 .kind = BlockerKind::kNodesNotLeft,
                 .gate = Gate::kForeignRun,
                 .needs_alone = {"x1"},
                 .then = [](Obstructed& w, const std::string&) { w.tell_of_later_run("x1", w.the_job); },
                 .lift = [](Obstructed& w, const std::string&) { w.end_later_run("x1", w.the_job); }});
  const auto spend = [](const std::string& name, bool is_user) {
    return [name, is_user](Obstructed& w, const std::string&) {
      w.set_budget(name, is_user, 1'000);
      w.run_other("spending", {.uid = kWaiter, .qos = "team", .partition = "aside", .node = "x0", .gpus = 2});
      w.pass(base::seconds(20));
      w.end("spending");
    };
  };
  for (const bool is_user : {false, true}) {
    const std::string whose = is_user ? World::user(kWaiter).user : "team";
    out.push_back({.name = is_user ? "budget_of_user" : "budget",
                   .kind = BlockerKind::kBudgetSpent,
                   .gate = Gate::kBudget,
                   .needs_alone = {"budget"},
                   .needs = {"time"},
                   .put = spend(whose, is_user),
                   .then = [whose, is_user](Obstructed& w, const std::string&) { w.set_budget(whose, is_user, 20); },
                   .lift = [whose, is_user](Obstructed& w, const std::string&) { w.set_budget(whose, is_user, 0); }});
  }
}

void ask_for_array(Obstructed& w, uint32_t tasks, uint32_t throttle) {
  const model::ArrayTasks array{*model::TaskSet::parse(fmt::format("1-{}", tasks)), throttle, 0, 0, {}};
  *w.request.mutable_submit()->mutable_array() = wire::to_wire(array);
}

/// The job is one of several that were submitted as one.
void add_parts(Obstacles& out) {
  out.push_back(
      {.name = "array_task_limit",
       .kind = BlockerKind::kArrayTaskLimit,
       .gate = Gate::kArray,
       .needs_alone = {"parts", "room for one"},
       .needs = {"start"},
       .ask = [](Obstructed& w, const std::string&) { ask_for_array(w, 2, 1); },
       .lift = [](Obstructed& w,
                  const std::string&) { w.update([](wire::UpdateJobRequest& u) { u.set_array_throttle(0); }); }});
  out.push_back({.name = "users_other_tasks",
                 .kind = BlockerKind::kUsersOtherTasks,
                 .gate = Gate::kArray,
                 .needs_alone = {"parts", "configuration", "room for one", "two of its user"},
                 .needs = {"start"},
                 .build = [](Harbour& h, const std::string&) { h.settings.per_user.max_jobs = 2; },
                 .ask = [](Obstructed& w, const std::string&) { ask_for_array(w, 3, 0); },
                 .lift = [](Obstructed& w,
                            const std::string&) { w.reconfigure([](Settings& s) { s.per_user.max_jobs = 10; }); }});
  out.push_back({.name = "tasks_before",
                 .kind = BlockerKind::kTasksBefore,
                 .gate = Gate::kArray,
                 .needs_alone = {"parts", "short queue"},
                 .needs = {"start"},
                 .ask = [](Obstructed& w, const std::string&) { ask_for_array(w, 260, 0); },
                 .lift = [](Obstructed& w, const std::string&) { w.cut_array("1-258"); }});
  const auto with_spares = [](Harbour& h, const std::string&) {
    for (const char* spare : {"s0", "s1"}) h.makes.at(spare).is_away = false;
  };
  const auto with_component = [](Obstructed& w, const std::string&) {
    Obstructed::Other other;
    other.partition = "aside";
    other.node = "x0";
    other.cores = 8;
    *w.request.mutable_submit()->add_components() = Obstructed::submission_of(other).submit().spec();
  };
  out.push_back({.name = "other_component",
                 .kind = BlockerKind::kOtherComponent,
                 .gate = Gate::kComponents,
                 .needs_alone = {"parts", "x1"},
                 .needs = {"start", "other partition"},
                 .build = with_spares,
                 .ask = with_component,
                 .then = [](Obstructed& w, const std::string&) { w.tell_of_later_run("x1", w.other_component()); },
                 .lift = [](Obstructed& w, const std::string&) { w.end_later_run("x1", w.other_component()); }});
  out.push_back(
      {.name = "components",
       .kind = BlockerKind::kComponents,
       .gate = Gate::kTogether,
       .needs_alone = {"parts"},
       .needs = {"start", "other partition"},
       .build = with_spares,
       .put = [](Obstructed& w,
                 const std::string&) { w.run_other("beside", {.partition = "aside", .node = "x0", .cores = 5}); },
       .ask = with_component,
       .lift = [](Obstructed& w, const std::string&) { w.end("beside"); }});
}

}  // namespace

Obstacles all_obstacles() {
  Obstacles out;
  for (const auto& add : {add_own, add_past, add_parts, add_limits, add_quotas, add_partition_obstacles, add_turns,
                          add_reservations, add_names, add_kinds, add_makes, add_shares, add_places})
    add(out);
  for (Obstacle& o : out)
    if (o.gate >= Gate::kUnseen) o.needs.emplace_back("short queue");
  return out;
}

}  // namespace gw::ctld::testing::obstacles
