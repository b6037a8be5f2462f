// See filter.h.
#include "cmds/gangway/top/filter.h"

#include <algorithm>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "cmds/shared/job_filter.h"
#include "model/job_state.h"

namespace gw::cmds::top {

namespace {

base::Status add(JobFilters& filters, const std::string& key, const std::string& value) {
  const std::pair<std::string_view, std::vector<std::string>*> lists[] = {{"user", &filters.users},
                                                                          {"partition", &filters.partitions},
                                                                          {"qos", &filters.qos},
                                                                          {"account", &filters.accounts},
                                                                          {"name", &filters.names},
                                                                          {"state", &filters.states},
                                                                          {"reservation", &filters.reservations}};
  if (key == "node") {
    GW_TRY(names, base::expand_hostlist(value));
    filters.nodes.insert(filters.nodes.end(), names.begin(), names.end());
    return {};
  }
  const auto* const list =
      std::find_if(std::begin(lists), std::end(lists), [&](const auto& l) { return l.first == key; });
  if (list == std::end(lists))
    return base::invalid("unknown key " + base::printable(key, 20),
                         "user, partition, qos, account, name, node, state, reservation");
  for (std::string& one : base::split(value, ','))
    if (!one.empty()) list->second->push_back(std::move(one));
  return {};
}

base::Status add_states(const std::vector<std::string>& states, wire::JobFilter& filter) {
  for (const std::string& text : states) {
    GW_TRY(state, model::parse_job_state(text));
    filter.add_states(static_cast<uint32_t>(state));
  }
  return {};
}

}  // namespace

bool Filter::fits(std::string_view row) const {
  const std::string lower = base::to_lower(row);
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return lower.find(word) != std::string::npos; });
}

base::Result<Filter> parse_filter(const std::string& text) {
  Filter out;
  out.text = std::string(base::trim(text));
  JobFilters filters;
  for (const std::string& word : base::split(out.text, ' ')) {
    const size_t colon = word.find(':');
    if (word.empty()) continue;
    if (colon == std::string::npos)
      out.words.push_back(base::to_lower(word));
    else
      GW_TRY_STATUS(add(filters, base::to_lower(word.substr(0, colon)), word.substr(colon + 1)));
  }
  GW_TRY(jobs, to_filter(filters));
  out.jobs = std::move(jobs);
  GW_TRY_STATUS(add_states(filters.states, out.jobs));
  return out;
}

}  // namespace gw::cmds::top
