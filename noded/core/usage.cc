// See usage.h.
#include "noded/core/usage.h"

#include <string>
#include <utility>

#include "noded/core/link.h"

namespace gw::noded {

namespace {

wire::Usage usage_of(uint64_t id, RunKey key) {
  wire::Usage told;
  told.set_id(id);
  told.set_job(key.job);
  told.set_attempt(key.attempt);
  told.set_step(key.step);
  return told;
}

void answer_problem(Core& core, const wire::UsageQuery& query, const std::string& problem) {
  wire::NodeToController answer;
  *answer.mutable_usage() = usage_of(query.id(), RunKey::of(query));
  answer.mutable_usage()->mutable_usage()->set_problem(problem);
  send(core, std::move(answer));
}

}  // namespace

void on_usage_query(Core& core, const wire::UsageQuery& message) {
  const RunKey key = RunKey::of(message);
  const Run* run = core.runs.find(key);
  if (run == nullptr || !run->is_live()) return answer_problem(core, message, "nothing of it runs here");
  if (!run->has_shepherd())
    return core.out.add(MeasureShare{usage_of(message.id(), key), run->record.containment(), message.gpus()});
  core.usage_queries.drop_old(core.now);
  if (!run->is_connected || core.usage_queries.is_full())
    return answer_problem(core, message, "its shepherd is out of touch");
  core.usage_queries.add(core.now, message.id(), key, message.gpus());
  wire::ToShepherd query;
  query.mutable_usage_query()->set_id(message.id());
  core.out.tell_shepherd(*run, std::move(query));
}

void on_used(Core& core, RunKey key, const wire::StepUsed& message) {
  std::optional<std::string> gpus = core.usage_queries.take(message.id(), key);
  if (!gpus) return;
  wire::Usage told = usage_of(message.id(), key);
  *told.mutable_usage() = message.usage();
  core.out.add(MeasureGpus{std::move(told), std::move(*gpus)});
}

}  // namespace gw::noded
