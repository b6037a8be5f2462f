// Conversions between the model and the messages.
// Invariants: to_wire() never fails; from_wire() checks every enumerator, index and length, since messages come from
// users, nodes and disks, and never takes memory beyond a small multiple of the message. from_wire(to_wire(x)) == x.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/request.h"
#include "model/reservation.h"
#include "model/run_use.h"
#include "model/step.h"
#include "model/topology.h"
#include "wire/api.pb.h"
#include "wire/cluster.pb.h"
#include "wire/job.pb.h"
#include "wire/record.pb.h"
#include "wire/usage.pb.h"

namespace gw::wire {

/// Name -> NodeId; zero if there is no such node. May be empty: then ids stay zero.
using NodeLookup = std::function<base::NodeId(std::string_view name)>;
/// NodeId -> name. May be empty: then names are taken from the job's own shares.
using NodeNamer = std::function<std::string(base::NodeId id)>;

Request to_wire(const model::Request& r);
/// Errors: an unknown way of counting GPUs, level of locality or way of fitting, too many names. Does not normalise.
base::Result<model::Request> from_wire(const Request& r);

using GresCounts = google::protobuf::RepeatedPtrField<GresCount>;
void set_gres(GresCounts* to, const model::Gres& gres);
/// Errors: more than kMostGres, what is no name of one, too many of one.
base::Result<model::Gres> gres_from(const GresCounts& from);

NodeShare to_wire(const model::NodeShare& s);
/// Errors: a bad index list, a part of a GPU that is none. The id is looked up by name.
base::Result<model::NodeShare> from_wire(const NodeShare& s, const NodeLookup& lookup = {});

/// How much of a job is written.
enum class Extent : uint8_t {
  kWhole,
  kShown,  ///< What clients are shown: without the resource limits of its processes, which are bulky.
};

Launch to_wire(const model::Launch& l, Extent extent = Extent::kWhole);
model::Launch from_wire(const Launch& l);

JobSpec to_wire(const model::JobSpec& s, Extent extent = Extent::kWhole);
/// Errors: as of Request; a signal number outside 0..64.
base::Result<model::JobSpec> from_wire(const JobSpec& s);

StateMark to_wire(const model::StateMark& m);
model::StateMark from_wire(const StateMark& m);
model::Progress from_wire(const Progress& m);

Outcome to_wire(const model::Outcome& o);
/// Errors: a state that is no end (0 is taken as not set: COMPLETED), an unknown reason.
base::Result<model::Outcome> from_wire(const Outcome& o);

ArrayPlace to_wire(const model::ArrayPlace& place);
model::ArrayPlace from_wire(const ArrayPlace& place);
ArrayTasks to_wire(const model::ArrayTasks& tasks);
void to_wire(const model::TaskSet& tasks, google::protobuf::RepeatedPtrField<TaskRange>& w);
base::Result<model::TaskSet> from_wire(const google::protobuf::RepeatedPtrField<TaskRange>& w);
/// Errors: ranges that break an invariant of TaskSet.
base::Result<model::ArrayTasks> from_wire(const ArrayTasks& tasks);
/// A row of the store: `bytes` says how far the ranges have been used up. Errors: they cannot be read.
base::Result<ArrayTasks> array_row(const std::string& bytes, const std::string& ranges);

/// The changing part of a job.
JobStatus status_to_wire(const model::Job& job, const NodeNamer& namer = {});
/// What is stored of it in one row, without what changes node by node: that stands in rows of the nodes (RunNode), and
/// in what order they are the host list of the row says. Who is out of reach is not stored: after a restart all are.
JobStatus stored_status(const model::Job& job);
/// Overwrites everything of `job` but id and spec. With a lookup, a Placed job naming a node that the lookup does not
/// know is an error (kNotFound): such a node must not be forgotten, the run may live there. Without one, ids stay zero
/// and waiting_for and unreachable empty. Other errors: state and phase do not agree, bad enumerators.
base::Status status_from_wire(const JobStatus& status, model::Job& job, const NodeLookup& lookup = {});
/// What is left of a job's dependency. Errors: bad enumerators.
base::Status unmet_from_wire(const JobStatus& status, model::Dependency& unmet);
Job to_wire(const model::Job& job, const NodeNamer& namer = {}, Extent extent = Extent::kWhole);
base::Result<model::Job> from_wire(const Job& job, const NodeLookup& lookup = {});

NodeTopology to_wire(const model::NodeTopology& t);
/// Errors: implausible counts, a link to a GPU that is not there, and what model::validate finds. A link matrix of
/// zeros comes back empty.
base::Result<model::NodeTopology> from_wire(const NodeTopology& t);

/// Stored fields, and of the shown ones those that the node itself knows (connected, since, address, features, weight).
NodeHost to_wire(const model::NodeHost& host);
model::NodeHost from_wire(const NodeHost& w);
Node to_wire(const model::Node& n, bool with_topology = true);
/// Takes the stored fields (not name, configuration or connection) into `n`. Errors: bad topology or enumerator.
base::Status stored_from_wire(const Node& stored, model::Node& n);

Partition to_wire(const model::Partition& p);
base::Result<model::Partition> from_wire(const Partition& p);

StepRequest to_wire(const model::StepRequest& r);
/// Errors: too many names, a number that no cluster has.
base::Result<model::StepRequest> from_wire(const StepRequest& r);
Step to_wire(const model::Step& s);
/// Likewise of a step, with its host list.
Step stored_step(const model::Step& s);
/// What is stored of a run on one of its nodes, and of a step.
RunNode run_node(const model::Placed& placed, const model::NodeShare& share);
RunNode run_node(const model::StepNode& node);
/// Puts that back into what was stored beside it. `nodes`: by name; each may be there or not. Errors: kNotFound, a node
/// of the run has no row.
using RunNodes = std::map<std::string, RunNode, std::less<>>;
base::Status add_run_nodes(const std::string& host_list, const RunNodes& nodes, Placed& placed);
base::Status add_run_nodes(const RunNodes& nodes, Step& step);
/// Errors: as of its request and of NodeShare; no nodes.
base::Result<model::Step> from_wire(const Step& s, const NodeLookup& lookup = {});

/// Of the shown fields none.
Reservation to_wire(const model::Reservation& r);
/// Errors: too many names. Does not validate.
base::Result<model::Reservation> from_wire(const Reservation& r);

GpuUse to_wire(const model::GpuUse& u);
RunUse to_wire(const model::RunUse& u);
/// What it says of resources that are not known here is left out.
model::RunUse from_wire(const RunUse& u);

/// What accounting keeps of the run of a placed job that comes out like this and ends it not.
PastRun past_run(const model::Job& job, const model::Outcome& outcome);
/// Of a step, which is over, or not if `ended` is zero.
PastRun past_run(const model::Step& step, base::Time ended, model::JobState end);

Qos to_wire(const model::Qos& q);
model::Qos from_wire(const Qos& q);
GpuBudget to_wire(const model::GpuBudget& budget);
/// Without GPU-seconds there is none. A period that this version does not know is taken for the longest.
std::optional<model::GpuBudget> from_wire(const GpuBudget& budget);
QuotaUser to_wire(const model::QuotaUser& user);
model::QuotaUser from_wire(const QuotaUser& user);

Error to_wire(const base::Error& e);
/// An unknown code becomes kInternal, an empty text gets words.
base::Error from_wire(const Error& e);

}  // namespace gw::wire
