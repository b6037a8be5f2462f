// See ids.h.
#include "cmds/queue/ids.h"

#include "base/text.h"
#include "client/show/array_view.h"
#include "model/task_set.h"

namespace gw::cmds::queue {
namespace {

base::Status add_tasks(uint32_t array, std::string_view tasks, JobIds& ids) {
  if (!model::TaskSet::parse(tasks)) return base::invalid("illegally formed job identifier: " + std::string(tasks));
  std::string& all = ids.tasks[array];
  all += (all.empty() ? "" : ",") + std::string(tasks);
  return {};
}

tl::unexpected<base::Error> no_id(std::string_view text) {
  return base::invalid("illegally formed job identifier: " + base::printable(text, 60));
}

}  // namespace

std::string shown_id(const wire::Job& job, const std::string& cluster) {
  const wire::ArrayPlace& place = job.spec().array();
  if (place.has_task()) return shown_task(place.job(), std::to_string(place.task()), cluster);
  return std::to_string(job.id()) + (job.spec().has_array() ? "[]." : ".") + cluster;
}

std::string shown_task(uint32_t array, std::string_view task, const std::string& cluster) {
  return std::to_string(array) + "[" + std::string(task) + "]." + cluster;
}

base::Status parse_pbs_id(std::string_view text, const std::string& cluster, JobIds& ids) {
  std::string_view rest = text.substr(0, text.find('@'));
  const size_t dot = rest.find('.');
  if (dot != std::string_view::npos) {
    const std::string_view server = rest.substr(dot + 1);
    if (server != cluster && !server.starts_with(cluster + "."))
      return base::fail(base::ErrorCode::kNotFound, "that is a job of another server; this one is " + cluster);
    rest = rest.substr(0, dot);
  }
  const size_t bracket = rest.find('[');
  const auto number = base::parse_int(rest.substr(0, bracket), 1, UINT32_MAX, "job id");
  if (!number) return no_id(text);
  const auto id = static_cast<uint32_t>(*number);
  if (bracket == std::string_view::npos || rest.substr(bracket) == "[]") {
    ids.jobs.push_back(id);
    return {};
  }
  if (!rest.ends_with(']')) return no_id(text);
  if (!add_tasks(id, rest.substr(bracket + 1, rest.size() - bracket - 2), ids)) return no_id(text);
  return {};
}

base::Status parse_sge_id(std::string_view text, JobIds& ids) {
  const size_t dot = text.find('.');
  const auto number = base::parse_int(text.substr(0, dot), 1, UINT32_MAX, "job id");
  if (!number) return no_id(text);
  const auto id = static_cast<uint32_t>(*number);
  if (dot != std::string_view::npos) return add_tasks(id, text.substr(dot + 1), ids) ? base::Status{} : no_id(text);
  ids.jobs.push_back(id);
  return {};
}

}  // namespace gw::cmds::queue
