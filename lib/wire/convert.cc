// Requests, specs, outcomes, partitions, QOS and errors. Jobs: convert_job.cc; nodes: convert_node.cc.
#include "wire/convert.h"

#include "base/text.h"
#include "wire/job_attributes.h"

namespace gw::wire {
namespace {

/// More names than this in one request are refused.
constexpr int kMaxNames = 200'000;

template <typename Repeated>
std::vector<std::string> strings(const Repeated& from) {
  return {from.begin(), from.end()};
}
template <typename Repeated>
void set_strings(Repeated* to, const std::vector<std::string>& from) {
  to->Assign(from.begin(), from.end());
}

tl::unexpected<base::Error> bad_number(const char* what, uint64_t value) {
  return base::fail(base::ErrorCode::kProtocol,
                    std::string(what) + " has no meaning for number " + std::to_string(value));
}

void set_order_weights(google::protobuf::RepeatedPtrField<OrderWeight>* to, const std::map<std::string, double>& from) {
  for (const auto& [name, value] : from) {
    OrderWeight* weight = to->Add();
    weight->set_name(name);
    weight->set_value(value);
  }
}

/// Where on and across the nodes. What has its default is left out, as old rows have it.
void set_placing(Request* w, const model::Request& r) {
  if (r.gpu_milli != model::kWholeGpu) w->set_gpu_milli(r.gpu_milli);
  w->set_cpus_per_gpu(r.cpus_per_gpu);
  w->set_mem_per_gpu_mb(r.mem_per_gpu_mb);
  w->set_min_cpus(r.min_cpus);
  w->set_whole_cores(r.whole_cores);
  w->set_overcommit(r.overcommit);
  set_gres(w->mutable_gres(), r.gres);
  w->set_tmp_mb(r.tmp_mb);
  w->set_sockets(r.sockets);
  w->set_socket_cores(r.socket_cores);
  w->set_contiguous(r.contiguous);
  w->set_tasks_per_socket(r.tasks_per_socket);
  w->set_core_threads(r.core_threads);
  for (const model::LocalityStep& step : r.locality) {
    LocalityStep* to = w->add_locality();
    to->set_level(static_cast<uint32_t>(step.level));
    to->set_wait_us(step.wait.us);
  }
  w->set_max_switches(r.max_switches);
  if (r.switches_wait != base::kUnlimited) w->set_switches_wait_us(r.switches_wait.us);
  w->set_segment(r.segment);
  w->set_fit(static_cast<uint32_t>(r.fit));
}

base::Status read_placing(const Request& w, model::Request& r) {
  if (w.locality_size() > model::kLocalityCount) return base::invalid("more levels of locality than there are");
  if (w.fit() > static_cast<uint32_t>(model::Fit::kSpread)) return bad_number("fit", w.fit());
  r.gpu_milli = w.has_gpu_milli() ? w.gpu_milli() : model::kWholeGpu;
  r.cpus_per_gpu = w.cpus_per_gpu();
  r.mem_per_gpu_mb = w.mem_per_gpu_mb();
  r.min_cpus = w.min_cpus();
  r.whole_cores = w.whole_cores();
  r.overcommit = w.overcommit();
  GW_TRY(gres, gres_from(w.gres()));
  r.gres = std::move(gres);
  r.tmp_mb = w.tmp_mb();
  r.sockets = w.sockets();
  r.socket_cores = w.socket_cores();
  r.contiguous = w.contiguous();
  r.tasks_per_socket = w.tasks_per_socket();
  r.core_threads = w.core_threads();
  for (const LocalityStep& step : w.locality()) {
    if (step.level() >= static_cast<uint32_t>(model::kLocalityCount)) return bad_number("locality", step.level());
    r.locality.push_back({static_cast<model::Locality>(step.level()), {step.wait_us()}});
  }
  r.max_switches = w.max_switches();
  if (w.has_switches_wait_us()) r.switches_wait.us = w.switches_wait_us();
  r.segment = w.segment();
  r.fit = static_cast<model::Fit>(w.fit());
  return {};
}

}  // namespace

void set_gres(GresCounts* to, const model::Gres& gres) {
  to->Clear();
  for (const auto& [name, count] : gres) {
    GresCount& one = *to->Add();
    one.set_name(name);
    one.set_count(count);
  }
}

base::Result<model::Gres> gres_from(const GresCounts& from) {
  model::Gres out;
  if (static_cast<size_t>(from.size()) > model::kMostGres)
    return base::invalid("more than " + std::to_string(model::kMostGres) + " kinds and types of generic resources");
  for (const GresCount& one : from) {
    if (!model::is_gres_name(one.name()) || one.count() > model::kMostOfAGres)
      return base::fail(base::ErrorCode::kProtocol,
                        "no number of a generic resource: " + base::printable(one.name(), 60));
    out.add(one.name(), one.count());
  }
  if (!model::is_consistent(out))
    return base::fail(base::ErrorCode::kProtocol, "generic resources: fewer of a kind than of its types");
  return out;
}

Request to_wire(const model::Request& r) {
  Request w;
  w.set_min_nodes(r.min_nodes);
  w.set_max_nodes(r.max_nodes);
  w.set_tasks(r.tasks);
  w.set_tasks_per_node(r.tasks_per_node);
  w.set_cpus_per_task(r.cpus_per_task);
  w.set_mem_per_node_mb(r.mem_per_node_mb);
  w.set_mem_per_cpu_mb(r.mem_per_cpu_mb);
  w.set_mem_all(r.mem_all);
  w.set_gpu_counting(static_cast<uint32_t>(r.gpu_counting));
  w.set_gpus(r.gpus);
  if (!r.gpu_type.empty()) w.set_gpu_type(r.gpu_type);
  for (const model::FeatureSet& set : r.features) set_strings(w.add_features()->mutable_all(), set);
  set_strings(w.mutable_nodelist(), r.nodelist);
  set_strings(w.mutable_exclude(), r.exclude);
  w.set_exclusive(r.exclusive);
  w.set_nodes_given(r.nodes_given);
  w.set_tasks_given(r.tasks_given);
  w.set_min_tasks(r.min_tasks);
  w.set_elastic(r.elastic);
  w.set_cpus_by_gpus(r.cpus_by_gpus);
  set_placing(&w, r);
  return w;
}

base::Result<model::Request> from_wire(const Request& w) {
  if (w.gpu_counting() > static_cast<uint32_t>(model::GpuCounting::kPerTask))
    return bad_number("counting of GPUs", w.gpu_counting());
  if (w.nodelist_size() > kMaxNames || w.exclude_size() > kMaxNames || w.features_size() > kMaxNames)
    return base::invalid("more than " + std::to_string(kMaxNames) + " names in a request");
  model::Request r;
  r.min_nodes = w.min_nodes();
  r.max_nodes = w.max_nodes();
  r.tasks = w.tasks();
  r.tasks_per_node = w.tasks_per_node();
  r.cpus_per_task = w.cpus_per_task();
  r.mem_per_node_mb = w.mem_per_node_mb();
  r.mem_per_cpu_mb = w.mem_per_cpu_mb();
  r.mem_all = w.mem_all();
  r.gpu_counting = static_cast<model::GpuCounting>(w.gpu_counting());
  r.gpus = w.gpus();
  r.gpu_type = w.gpu_type();
  for (const FeatureSet& set : w.features()) r.features.push_back(strings(set.all()));
  r.nodelist = strings(w.nodelist());
  r.exclude = strings(w.exclude());
  r.exclusive = w.exclusive();
  r.nodes_given = w.nodes_given();
  r.tasks_given = w.tasks_given();
  r.min_tasks = w.min_tasks();
  r.elastic = w.elastic();
  r.cpus_by_gpus = w.cpus_by_gpus();
  GW_TRY_STATUS(read_placing(w, r));
  return r;
}

Launch to_wire(const model::Launch& l, Extent extent) {
  Launch w;
  w.set_script_hash(l.script_hash);
  w.set_env_hash(l.env_hash);
  set_strings(w.mutable_args(), l.args);
  w.set_work_dir(l.work_dir);
  if (!l.std_out.empty()) w.set_std_out(l.std_out);
  if (!l.std_err.empty()) w.set_std_err(l.std_err);
  if (!l.std_in.empty()) w.set_std_in(l.std_in);
  w.set_append_output(l.append_output);
  w.set_umask(l.umask);
  if (extent == Extent::kWhole)
    for (const auto& [name, value] : l.limits.table()) (*w.mutable_limits())[name] = value;
  w.set_slurm_names(l.slurm_names);
  if (!l.command.empty()) w.set_command(l.command);
  return w;
}

model::Launch from_wire(const Launch& w) {
  model::Launch l;
  l.script_hash = w.script_hash();
  l.env_hash = w.env_hash();
  l.args = strings(w.args());
  l.work_dir = w.work_dir();
  l.std_out = w.std_out();
  l.std_err = w.std_err();
  l.std_in = w.std_in();
  l.append_output = w.append_output();
  l.umask = w.umask();
  l.limits = model::Limits({w.limits().begin(), w.limits().end()});
  l.slurm_names = w.slurm_names();
  l.command = w.command();
  return l;
}

JobSpec to_wire(const model::JobSpec& s, Extent extent) {
  JobSpec w;
  for (const JobAttribute& a : kJobAttributes)
    if (a.kept.to_wire != nullptr) a.kept.to_wire(s, w);
  w.set_uid(s.uid);
  w.set_gid(s.gid);
  w.set_user(s.user);
  w.set_group(s.group);
  set_strings(w.mutable_partitions(), s.partitions);
  *w.mutable_request() = to_wire(s.request);
  w.set_hold_admin(s.hold_admin);
  w.set_warn_signo(s.warn.signo);
  w.set_warn_seconds_before(s.warn.seconds_before);
  w.set_warn_batch_only(s.warn.batch_only);
  w.set_submit_host(s.submit_host);
  w.set_submit_line(s.submit_line);
  *w.mutable_launch() = to_wire(s.launch, extent);
  w.set_het_job(s.het_job.value);
  w.set_het_offset(s.het_offset);
  w.set_het_size(s.het_size);
  if (s.array) *w.mutable_array() = to_wire(*s.array);
  w.set_on_preempt(static_cast<uint32_t>(s.on_preempt));
  w.set_kind(static_cast<uint32_t>(s.kind));
  w.set_attended(s.attended);
  w.set_not_preemptible(s.not_preemptible);
  return w;
}

base::Result<model::JobSpec> from_wire(const JobSpec& w) {
  if (w.warn_signo() < 0 || w.warn_signo() > 64) return bad_number("signal", static_cast<uint32_t>(w.warn_signo()));
  if (w.partitions_size() > kMaxNames) return base::invalid("more than " + std::to_string(kMaxNames) + " partitions");
  GW_TRY(request, from_wire(w.request()));
  model::JobSpec s;
  for (const JobAttribute& a : kJobAttributes)
    if (a.kept.from_wire != nullptr) a.kept.from_wire(w, s);
  s.uid = w.uid();
  s.gid = w.gid();
  s.user = w.user();
  s.group = w.group();
  s.partitions = strings(w.partitions());
  s.request = std::move(request);
  s.hold_admin = w.hold_admin();
  s.warn = {w.warn_signo(), w.warn_seconds_before(), w.warn_batch_only()};
  s.submit_host = w.submit_host();
  s.submit_line = w.submit_line();
  s.launch = from_wire(w.launch());
  s.het_job = base::JobId(w.het_job());
  s.het_offset = w.het_offset();
  s.het_size = w.het_size();
  if (w.has_array()) s.array = from_wire(w.array());
  if (w.on_preempt() < model::kOnPreempt.size()) s.on_preempt = static_cast<model::OnPreempt>(w.on_preempt());
  if (w.kind() > static_cast<uint32_t>(model::JobKind::kStep)) return bad_number("kind of job", w.kind());
  s.kind = static_cast<model::JobKind>(w.kind());
  s.attended = w.attended();
  s.not_preemptible = w.not_preemptible();
  return s;
}

Partition to_wire(const model::Partition& p) {
  Partition w;
  w.set_name(p.name);
  set_strings(w.mutable_nodes(), p.nodes);
  w.set_state(static_cast<uint32_t>(p.state));
  w.set_is_default(p.is_default);
  w.set_default_for_compute(p.default_for_compute);
  w.set_default_for_aux(p.default_for_aux);
  w.set_tier(p.tier);
  w.set_default_time_us(p.default_time.us);
  w.set_max_time_us(p.max_time.us);
  w.set_unlimited(p.unlimited);
  w.set_max_nodes(p.max_nodes);
  w.set_default_mem_per_cpu_mb(p.default_mem_per_cpu_mb);
  w.set_default_mem_per_gpu_mb(p.default_mem_per_gpu_mb);
  w.set_default_cpus_per_gpu(p.default_cpus_per_gpu);
  w.set_fit(static_cast<uint32_t>(p.fit));
  w.set_cores_per_gpu_kept(p.cores_per_gpu_kept);
  w.set_allow_shared_gpus(p.allow_shared_gpus);
  w.set_share_suspended_gpus(p.share_suspended_gpus);
  w.set_min_shared_rate(p.min_shared_rate);
  w.set_default_qos(p.default_qos);
  w.set_consolidate(static_cast<uint32_t>(p.consolidate));
  set_strings(w.mutable_allow_users(), p.allow_users);
  set_strings(w.mutable_allow_groups(), p.allow_groups);
  set_strings(w.mutable_allow_qos(), p.allow_qos);
  set_strings(w.mutable_deny_users(), p.deny_users);
  w.set_exclusive(p.exclusive);
  w.set_lease_us(p.lease.us);
  if (p.grace) w.set_grace_us(p.grace->us);
  w.set_order(p.order);
  set_order_weights(w.mutable_order_weights(), p.order_weights);
  w.set_filter(p.filter);
  set_order_weights(w.mutable_filter_weights(), p.filter_weights);
  if (p.quantum) w.set_quantum_us(p.quantum->us);
  return w;
}

base::Result<model::Partition> from_wire(const Partition& w) {
  if (w.state() > static_cast<uint32_t>(model::PartitionState::kInactive))
    return bad_number("partition state", w.state());
  if (w.fit() > static_cast<uint32_t>(model::Fit::kSpread)) return bad_number("fit", w.fit());
  if (w.consolidate() > static_cast<uint32_t>(model::Consolidate::kDryRun))
    return bad_number("way to consolidate", w.consolidate());
  model::Partition p;
  p.name = w.name();
  p.nodes = strings(w.nodes());
  p.state = static_cast<model::PartitionState>(w.state());
  p.is_default = w.is_default();
  p.default_for_compute = w.default_for_compute();
  p.default_for_aux = w.default_for_aux();
  p.tier = w.tier();
  p.default_time.us = w.default_time_us();
  p.max_time.us = w.max_time_us();
  p.unlimited = w.unlimited();
  p.max_nodes = w.max_nodes();
  p.default_mem_per_cpu_mb = w.default_mem_per_cpu_mb();
  p.default_mem_per_gpu_mb = w.default_mem_per_gpu_mb();
  p.default_cpus_per_gpu = w.default_cpus_per_gpu();
  p.fit = static_cast<model::Fit>(w.fit());
  if (w.has_cores_per_gpu_kept()) p.cores_per_gpu_kept = w.cores_per_gpu_kept();
  p.allow_shared_gpus = w.allow_shared_gpus();
  p.share_suspended_gpus = w.share_suspended_gpus();
  p.min_shared_rate = w.min_shared_rate();
  p.default_qos = w.default_qos();
  p.consolidate = static_cast<model::Consolidate>(w.consolidate());
  p.allow_users = strings(w.allow_users());
  p.allow_groups = strings(w.allow_groups());
  p.allow_qos = strings(w.allow_qos());
  p.deny_users = strings(w.deny_users());
  p.exclusive = w.exclusive();
  p.lease.us = w.lease_us();
  if (w.has_grace_us()) p.grace = base::Duration{w.grace_us()};
  p.order = w.order();
  for (const OrderWeight& weight : w.order_weights()) p.order_weights[weight.name()] = weight.value();
  p.filter = w.filter();
  for (const OrderWeight& weight : w.filter_weights()) p.filter_weights[weight.name()] = weight.value();
  if (w.has_quantum_us()) p.quantum = base::Duration{w.quantum_us()};
  return p;
}

Reservation to_wire(const model::Reservation& r) {
  Reservation w;
  w.set_name(r.name);
  set_strings(w.mutable_nodes(), r.nodes);
  w.set_node_count(r.node_count);
  w.set_partition(r.partition);
  w.mutable_users()->Assign(r.users.begin(), r.users.end());
  w.mutable_accounts()->Assign(r.accounts.begin(), r.accounts.end());
  w.set_start_us(r.start.us);
  w.set_duration_us(r.duration.us);
  w.set_every_us(r.every.us);
  w.set_maintenance(r.maintenance);
  w.set_ignore_jobs(r.ignore_jobs);
  w.set_overlap(r.overlap);
  w.set_creator(r.creator);
  return w;
}

base::Result<model::Reservation> from_wire(const Reservation& w) {
  if (w.nodes_size() > kMaxNames || w.users_size() > kMaxNames || w.accounts_size() > kMaxNames)
    return base::invalid("too many names in a reservation");
  model::Reservation r;
  r.name = w.name();
  r.nodes = strings(w.nodes());
  r.node_count = w.node_count();
  r.partition = w.partition();
  r.users = {w.users().begin(), w.users().end()};
  r.accounts = {w.accounts().begin(), w.accounts().end()};
  r.start.us = w.start_us();
  r.duration.us = w.duration_us();
  r.every.us = w.every_us();
  r.maintenance = w.maintenance();
  r.ignore_jobs = w.ignore_jobs();
  r.overlap = w.overlap();
  r.creator = w.creator();
  return r;
}

namespace {

void set_amounts(google::protobuf::RepeatedPtrField<QosAmount>* to, const model::Amounts& from) {
  for (const auto& [resource, amount] : from) {
    QosAmount* a = to->Add();
    a->set_resource(resource);
    a->set_amount(amount);
  }
}

}  // namespace

GpuBudget to_wire(const model::GpuBudget& budget) {
  GpuBudget w;
  w.set_gpu_seconds(budget.gpu_seconds);
  w.set_period(static_cast<Period>(budget.period));
  w.set_borrows(budget.borrows);
  return w;
}

std::optional<model::GpuBudget> from_wire(const GpuBudget& w) {
  if (w.gpu_seconds() == 0) return std::nullopt;
  const auto period =
      static_cast<base::Period>(std::clamp(static_cast<int>(w.period()), 0, static_cast<int>(base::kLastPeriod)));
  return model::GpuBudget{std::min(w.gpu_seconds(), model::kMostGpuSeconds), period, w.borrows()};
}

Qos to_wire(const model::Qos& q) {
  Qos w;
  w.set_name(q.name);
  w.set_parent(q.parent);
  w.set_description(q.description);
  w.set_priority(q.priority);
  set_amounts(w.mutable_guaranteed(), q.guaranteed);
  set_amounts(w.mutable_limit(), q.limit);
  w.set_weight(q.weight);
  w.set_preempt_children(q.preempt_children);
  w.set_min_runtime_us(q.min_runtime.us);
  if (q.grace) w.set_grace_us(q.grace->us);
  if (q.patience) w.set_patience_us(q.patience->us);
  w.set_max_wall_us(q.max_wall.us);
  w.set_max_jobs(q.max_jobs);
  w.set_max_submit(q.max_submit);
  w.set_max_jobs_per_user(q.max_jobs_per_user);
  w.set_max_submit_per_user(q.max_submit_per_user);
  set_amounts(w.mutable_limit_per_user(), q.limit_per_user);
  w.mutable_users()->Assign(q.users.begin(), q.users.end());
  w.mutable_operators()->Assign(q.operators.begin(), q.operators.end());
  if (q.budget) *w.mutable_budget() = to_wire(*q.budget);
  return w;
}

model::Qos from_wire(const Qos& w) {
  model::Qos q;
  q.name = w.name();
  q.parent = w.parent();
  q.description = w.description();
  q.priority = w.priority();
  for (const QosAmount& a : w.guaranteed()) q.guaranteed[a.resource()] = a.amount();
  for (const QosAmount& a : w.limit()) q.limit[a.resource()] = a.amount();
  q.weight = w.weight();
  q.preempt_children = w.preempt_children();
  q.min_runtime.us = w.min_runtime_us();
  if (w.has_grace_us()) q.grace = base::Duration{w.grace_us()};
  if (w.has_patience_us()) q.patience = base::Duration{w.patience_us()};
  q.max_wall.us = w.max_wall_us();
  q.max_jobs = w.max_jobs();
  q.max_submit = w.max_submit();
  q.max_jobs_per_user = w.max_jobs_per_user();
  q.max_submit_per_user = w.max_submit_per_user();
  for (const QosAmount& a : w.limit_per_user()) q.limit_per_user[a.resource()] = a.amount();
  q.users.assign(w.users().begin(), w.users().end());
  q.operators.assign(w.operators().begin(), w.operators().end());
  q.budget = from_wire(w.budget());
  return q;
}

QuotaUser to_wire(const model::QuotaUser& user) {
  QuotaUser w;
  w.set_name(user.name);
  w.set_default_qos(user.default_qos);
  if (user.budget) *w.mutable_budget() = to_wire(*user.budget);
  return w;
}

model::QuotaUser from_wire(const QuotaUser& w) { return {w.name(), w.default_qos(), from_wire(w.budget())}; }

Error to_wire(const base::Error& e) {
  Error w;
  w.set_code(static_cast<uint32_t>(e.code));
  w.set_what(e.what);
  w.set_hint(e.hint);
  w.set_sentence(e.sentence);
  return w;
}

base::Error from_wire(const Error& w) {
  const bool known = w.code() <= static_cast<uint32_t>(base::ErrorCode::kInternal);
  base::Error e;
  e.code = known ? static_cast<base::ErrorCode>(w.code()) : base::ErrorCode::kInternal;
  e.what = w.what().empty() ? "the other side failed without saying why" : w.what();
  e.hint = w.hint();
  e.sentence = w.sentence();
  return e;
}

}  // namespace gw::wire
