// The node agent: what runs use now, for the controller.
// Invariants: see agent.h. What is not answered soon is forgotten: nobody waits for it any more.
#include "noded/core/agent.h"

namespace gw::noded {
namespace {

constexpr base::Duration kForgetAfter = base::seconds(10);
constexpr size_t kMostAsked = 4096;

}  // namespace

void NodeAgent::on_usage_query(base::Time now, const wire::UsageQuery& message) {
  const RunKey key = RunKey::of(message);
  const Run* run = find(key);
  wire::NodeToController answer;
  wire::Usage& told = *answer.mutable_usage();
  told.set_id(message.id());
  told.set_job(key.job);
  told.set_attempt(key.attempt);
  told.set_step(key.step);
  if (run == nullptr || !run->is_live()) {
    told.mutable_usage()->set_problem("nothing of it runs here");
    return send(now, std::move(answer));
  }
  if (!run->has_shepherd()) {
    out_.emplace_back(MeasureShare{told, run->record.containment(), message.gpus()});
    return;
  }
  drop_old_queries(now);
  if (!run->is_connected || asked_.size() >= kMostAsked) {
    told.mutable_usage()->set_problem("its shepherd is out of touch");
    return send(now, std::move(answer));
  }
  asked_[{message.id(), key}] = {message.gpus(), now};
  wire::ToShepherd query;
  query.mutable_usage_query()->set_id(message.id());
  to_shepherd(*run, std::move(query));
}

void NodeAgent::on_used(RunKey key, const wire::StepUsed& message) {
  const auto found = asked_.find({message.id(), key});
  if (found == asked_.end()) return;
  wire::Usage told;
  told.set_id(message.id());
  told.set_job(key.job);
  told.set_attempt(key.attempt);
  told.set_step(key.step);
  *told.mutable_usage() = message.usage();
  out_.emplace_back(MeasureGpus{std::move(told), found->second.gpus});
  asked_.erase(found);
}

void NodeAgent::drop_old_queries(base::Time now) {
  std::erase_if(asked_, [&](const auto& entry) { return now - entry.second.at > kForgetAfter; });
}

}  // namespace gw::noded
