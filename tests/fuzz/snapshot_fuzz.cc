// Snapshots of the scheduler. The hashes keep changed bytes out, so what lies behind them is fed past them: the input
// is a serialised SnapshotInput. What is accepted makes a view that can be planned on and looked ahead from, and
// survives the way to bytes and back.
#include "forecast/forward.h"
#include "snapshot/convert.h"
#include "snapshot/snapshot.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::fuzz {
namespace {

bool file(std::string_view bytes) {
  const auto snapshot = snapshot::decode(bytes);
  if (!snapshot) check_error(snapshot.error());
  return snapshot.has_value();
}

bool input(std::string_view bytes) {
  wire::SnapshotInput message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  auto input = snapshot::from_wire(message);
  if (!input) {
    check_error(input.error());
    return false;
  }
  const auto view = sched::restore_view(*input);
  if (!view) {
    check_error(view.error());
    return false;
  }
  const sched::Budget few{200, 50};
  const sched::Plan plan = sched::plan(**view, input->now, few);
  FUZZ_CHECK((*view)->capacity().audit().has_value());
  const auto encoded = snapshot::encode(*input, plan, "v", "c");
  FUZZ_CHECK(encoded.has_value());
  const auto again = snapshot::decode(*encoded);
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(again->plan_hash == snapshot::plan_hash(plan));
  (void)snapshot::decision_lines(*input, plan);
  return true;
}

bool run(std::string_view bytes) {
  Input in(bytes);
  return in.u8() == 'f' ? file(in.rest()) : input(in.rest());
}

std::vector<std::string> made() {
  using namespace sched::testing;
  Cluster cluster(3, machine(4, 4, 8'000));
  const base::Time now{1'000'000'000};
  cluster.apply(sched::NetworkSet{*model::build_network({{"s", {"n1", "n2"}, {}}}, {})});
  cluster.apply(sched::ReservationSet{{"r", {"n3"}, now, now + base::hours(1), {7}, false, {}}});
  cluster.apply(sched::UsageSet{{{7, 1.5}}});
  for (uint32_t id = 1; id <= 4; ++id) {
    sched::PendingJob job = pending(id, gang(1 + id % 2, id));
    job.time_limit = base::minutes(id);
    job.request.locality = {{model::Locality::kPcie, base::minutes(1)}};
    cluster.apply(sched::JobQueued{job});
    if (id > 2) continue;
    const sched::Plan plan = sched::plan(cluster.view, now, {});
    for (const sched::Group& group : plan.groups)
      if (const auto* s = std::get_if<sched::Start>(&group.decisions.front()))
        cluster.apply(sched::JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit,
                                       std::make_shared<const sched::PendingJob>(job)});
  }
  const sched::PassInput taken = sched::take_input(cluster.view, now, {});
  return {"i" + snapshot::to_wire(taken).SerializeAsString(),
          "f" + *snapshot::encode(taken, sched::plan(cluster.view, now, {}), "v", "c")};
}

GW_FUZZ_TARGET("snapshot", run, made);

}  // namespace
}  // namespace gw::fuzz
