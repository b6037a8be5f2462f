// See array.h.
#include "ctld/core/admission/array.h"

#include <utility>

#include "wire/convert.h"

namespace gw::ctld {
namespace {

base::Status check_array(const wire::SubmitRequest& request, const model::JobSpec& spec) {
  if (spec.kind != model::JobKind::kBatch)
    return base::invalid("--array: only a batch job may be an array", "submit it with gbatch");
  if (request.components_size() > 0)
    return base::invalid("--array: a heterogeneous job cannot be an array",
                         "submit its components as arrays of their own");
  GW_TRY(tasks, wire::from_wire(request.array()));
  if (tasks.left.empty()) return base::invalid("--array: it names no task");
  return {};
}

}  // namespace

base::Status accept_array(const wire::SubmitRequest& request, model::JobSpec& spec) {
  spec.array.reset();  // nobody makes a job a task by saying so
  if (!request.has_array()) return {};
  GW_TRY_STATUS(base::with_sentence(check_array(request, spec), model::kArraySentence));
  const model::TaskSet left = tasks_of(request).left;
  spec.array = {{}, model::kNoArrayTask, left.size(), left.front(), left.back(), left.step()};
  return {};
}

model::ArrayTasks tasks_of(const wire::SubmitRequest& request) {
  auto asked = wire::from_wire(request.array());
  if (!asked) return {};
  return {std::move(asked->left), asked->throttle, 0, 0, {}};
}

}  // namespace gw::ctld
