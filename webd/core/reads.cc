// See reads.h.
#include "webd/core/reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/job_labels.h"
#include "client/show/quota_text.h"
#include "client/show/reservation_text.h"
#include "client/show/share_text.h"
#include "client/show/show_json.h"
#include "client/why/why_text.h"
#include "model/job_state.h"
#include "webd/core/cluster_json.h"

namespace gw::webd {

using base::Result;
using Made = Result<Question>;

namespace {

using Query = std::map<std::string, std::string>;

constexpr uint32_t kUsualRows = 500, kMostRows = 10'000;

Result<wire::ApiReply> first_of(Replies& replies) { return std::move(replies.front()); }

/// A question of one request, whose reply `json` shows.
template <typename Json>
Question one(wire::ApiRequest request, Json json) {
  Question q;
  q.requests.push_back(std::move(request));
  q.json = [json](Replies& replies) -> Result<std::string> {
    GW_TRY(reply, first_of(replies));
    return json(reply);
  };
  return q;
}

std::vector<std::string> words(const Query& query, const std::string& name) {
  const auto it = query.find(name);
  return it == query.end() || it->second.empty() ? std::vector<std::string>() : base::split(it->second, ',');
}

Result<uint32_t> number(const Query& query, const std::string& name, uint32_t otherwise, uint32_t low, uint32_t high) {
  const auto it = query.find(name);
  if (it == query.end()) return otherwise;
  GW_TRY(value, base::parse_int(it->second, low, high, name));
  return static_cast<uint32_t>(value);
}

Result<wire::JobFilter> job_filter(const Query& query) {
  wire::JobFilter filter;
  for (const std::string& word : words(query, "state")) {
    if (base::iequals(word, "all")) {
      filter.set_all_states(true);
      continue;
    }
    GW_TRY(state, model::parse_job_state(word));
    filter.add_states(static_cast<uint32_t>(state));
  }
  if (filter.all_states()) filter.clear_states();
  const auto take = [&query](const std::string& name, auto* to) {
    for (std::string& word : words(query, name)) *to->Add() = std::move(word);
  };
  take("user", filter.mutable_users());
  take("partition", filter.mutable_partitions());
  take("qos", filter.mutable_qos());
  take("account", filter.mutable_accounts());
  take("name", filter.mutable_names());
  if (const auto it = query.find("node"); it != query.end()) {
    GW_TRY(nodes, base::expand_hostlist(it->second));
    filter.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  }
  return filter;
}

std::vector<wire::ApiRequest> ask_labels(const google::protobuf::RepeatedPtrField<wire::Job>& jobs) {
  wire::ApiRequest request;
  if (!client::ask_for_labels(jobs, *request.mutable_show_shares())) return {};
  return {request};
}

/// Without labels where they cannot be had: they are what the scheduler adds.
client::JobLabels labels_of(Replies& replies, size_t at) {
  if (replies.size() <= at || !replies[at]) return {};
  return client::JobLabels(std::move(*replies[at]->mutable_show_shares()));
}

std::string written(const nlohmann::ordered_json& j) {
  return j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Only these keys of each job.
void keep_fields(nlohmann::ordered_json& jobs, const std::vector<std::string>& fields) {
  for (nlohmann::ordered_json& job : jobs) {
    nlohmann::ordered_json kept = nlohmann::ordered_json::object();
    for (const std::string& field : fields) kept[field] = job.contains(field) ? job[field] : nlohmann::ordered_json();
    job = std::move(kept);
  }
}

}  // namespace

Result<uint32_t> job_number(const std::string& text) {
  GW_TRY(id, base::parse_int(text, 1, UINT32_MAX, "the number of the job"));
  return static_cast<uint32_t>(id);
}

Made list_jobs(const std::string& /*name*/, const Asked& asked) {
  GW_TRY(filter, job_filter(asked.query));
  GW_TRY(limit, number(asked.query, "limit", kUsualRows, 1, kMostRows));
  GW_TRY(offset, number(asked.query, "offset", 0, 0, UINT32_MAX));
  Question q;
  *q.requests.emplace_back().mutable_list_jobs()->mutable_filter() = std::move(filter);
  const auto cut = [limit, offset](const wire::ListJobsReply& list) {
    const int first = static_cast<int>(std::min<int64_t>(offset, list.jobs_size()));
    const int last = static_cast<int>(std::min<int64_t>(int64_t{first} + limit, list.jobs_size()));
    google::protobuf::RepeatedPtrField<wire::Job> jobs;
    jobs.Assign(list.jobs().begin() + first, list.jobs().begin() + last);
    return jobs;
  };
  q.more = [cut](const Replies& replies) {
    return replies[0] ? ask_labels(cut(replies[0]->list_jobs())) : std::vector<wire::ApiRequest>();
  };
  q.json = [cut, fields = words(asked.query, "fields"), offset](Replies& replies) -> Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    const wire::ListJobsReply& list = replies[0]->list_jobs();
    auto j = nlohmann::ordered_json::parse(client::jobs_json(cut(list), list.now_us(), labels_of(replies, 1)));
    if (!fields.empty()) keep_fields(j["jobs"], fields);
    j["total"] = list.jobs_size();
    j["offset"] = offset;
    return written(j);
  };
  return q;
}

Made show_job(const std::string& name, const Asked& /*asked*/) {
  GW_TRY(id, job_number(name));
  Question q;
  wire::ShowJobRequest& show = *q.requests.emplace_back().mutable_show_job();
  show.set_id(id);
  show.set_history(true);
  q.more = [](const Replies& replies) {
    google::protobuf::RepeatedPtrField<wire::Job> job;
    if (!replies[0]) return std::vector<wire::ApiRequest>();
    *job.Add() = replies[0]->show_job().job();
    return ask_labels(job);
  };
  q.json = [](Replies& replies) -> Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    return client::job_json(replies[0]->show_job(), labels_of(replies, 1));
  };
  return q;
}

/// As `gangway why` asks it; changes are tried of one's own jobs alone, and nobody here has any.
Made why_job(const std::string& name, const Asked& /*asked*/) {
  GW_TRY(id, job_number(name));
  Question q;
  q.requests.emplace_back().mutable_why_job()->set_id(id);
  const auto is_waiting = [](const Replies& replies) {
    return replies[0] && replies[0]->why_job().job().status().has_waiting();
  };
  q.more = [id, is_waiting](const Replies& replies) {
    std::vector<wire::ApiRequest> requests;
    const bool is_unknown = !replies[0] && replies[0].error().code != base::ErrorCode::kNotFound;
    if (is_waiting(replies) || is_unknown) return requests;
    wire::ShowJobRequest& show = *requests.emplace_back().mutable_show_job();
    show.set_id(id);
    show.set_history(true);
    requests.emplace_back().mutable_show_shares()->add_job_ids(id);
    return requests;
  };
  q.json = [is_waiting](Replies& replies) -> Result<std::string> {
    client::WhyAnswer answer;
    if (is_waiting(replies)) {
      answer.why = std::move(*replies[0]->mutable_why_job());
    } else {
      if (replies.size() < 2) return tl::unexpected(replies[0].error());
      if (!replies[1]) return tl::unexpected(replies[1].error());
      if (replies[0]) answer.why = std::move(*replies[0]->mutable_why_job());
      answer.shown = std::move(*replies[1]->mutable_show_job());
      *answer.why.mutable_job() = answer.shown.job();
      const client::JobLabels labels = labels_of(replies, 2);
      if (const wire::JobLabel* label = labels.of(answer.why.job())) answer.label = *label;
    }
    auto j = nlohmann::ordered_json::parse(client::why_json(answer));
    j["text"] = client::why_text(answer);
    return written(j);
  };
  return q;
}

namespace {

Question nodes_question(const std::vector<std::string>& names, bool has_topology) {
  wire::ApiRequest request;
  wire::ListNodesRequest& list = *request.mutable_list_nodes();
  list.mutable_names()->Assign(names.begin(), names.end());
  list.set_topology(has_topology);
  return one(std::move(request), [has_topology](const wire::ApiReply& reply) -> Result<std::string> {
    return has_topology ? node_json(reply.list_nodes()) : client::nodes_json(reply.list_nodes());
  });
}

}  // namespace

Made list_nodes(const std::string& /*name*/, const Asked& asked) {
  const auto it = asked.query.find("name");
  if (it == asked.query.end()) return nodes_question({}, false);
  GW_TRY(names, base::expand_hostlist(it->second));
  return nodes_question(names, false);
}

Made show_node(const std::string& name, const Asked& /*asked*/) { return nodes_question({name}, true); }

Made list_partitions(const std::string& /*name*/, const Asked& /*asked*/) {
  wire::ApiRequest request;
  request.mutable_list_partitions();
  return one(std::move(request), [](const wire::ApiReply& reply) -> Result<std::string> {
    return client::partitions_json(reply.list_partitions());
  });
}

Made list_reservations(const std::string& /*name*/, const Asked& /*asked*/) {
  wire::ApiRequest request;
  request.mutable_list_reservations();
  return one(std::move(request), [](const wire::ApiReply& reply) -> Result<std::string> {
    return client::reservations_json(reply.list_reservations());
  });
}

Made list_quotas(const std::string& /*name*/, const Asked& /*asked*/) {
  wire::ApiRequest request;
  request.mutable_list_quotas();
  return one(std::move(request), [](const wire::ApiReply& reply) -> Result<std::string> {
    return client::quotas_json(reply.list_quotas());
  });
}

Made show_shares(const std::string& /*name*/, const Asked& /*asked*/) {
  wire::ApiRequest request;
  request.mutable_show_shares();
  return one(std::move(request), [](const wire::ApiReply& reply) -> Result<std::string> {
    client::ShareView view;
    view.resources = {"all"};
    view.is_long = true;
    return client::shares_json(reply.show_shares(), view);
  });
}

Made list_events(const std::string& /*name*/, const Asked& asked) {
  wire::ApiRequest request;
  wire::ListEventsRequest& list = *request.mutable_list_events();
  if (const auto it = asked.query.find("job"); it != asked.query.end()) {
    GW_TRY(id, job_number(it->second));
    list.set_job(id);
  }
  if (const auto it = asked.query.find("node"); it != asked.query.end()) list.set_node(it->second);
  GW_TRY(last, number(asked.query, "limit", 100, 1, 1000));
  list.set_last(last);
  return one(std::move(request), [](const wire::ApiReply& reply) -> Result<std::string> {
    return client::events_json(reply.list_events(),
                               [](const wire::HistoryEvent& e) { return fmt::format("{}", e.uid()); });
  });
}

Made ping(const std::string& /*name*/, const Asked& /*asked*/) {
  wire::ApiRequest request;
  request.mutable_ping();
  return one(std::move(request),
             [](const wire::ApiReply& reply) -> Result<std::string> { return client::ping_json(reply.ping()); });
}

/// What the first page shows, small: of all nodes, and how many jobs there are.
Made show_cluster(const std::string& /*name*/, const Asked& /*asked*/) {
  Question q;
  q.requests.emplace_back().mutable_ping();
  q.requests.emplace_back().mutable_list_nodes();
  q.json = [](Replies& replies) -> Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    if (!replies[1]) return tl::unexpected(replies[1].error());
    return cluster_json(replies[0]->ping(), replies[1]->list_nodes());
  };
  return q;
}

}  // namespace gw::webd
