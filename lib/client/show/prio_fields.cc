// Fields and JSON of gprio.
#include "client/show/prio_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "client/show/show_json.h"

namespace gw::client {
namespace {

using Row = PriorityRow;

/// A part of the score by the name that the order gave it, with the letters of its columns.
struct Part {
  std::string_view name;
  char weighted, normalized;
  std::string_view long_name, normalized_name, header;
};
constexpr Part kParts[] = {
    {"age", 'A', 'a', "Age", "AgeNorm", "AGE"},
    {"fair_share", 'F', 'f', "FairShare", "FairShareNorm", "FAIRSHARE"},
    {"size", 'J', 'j', "JobSize", "JobSizeNorm", "JOBSIZE"},
    {"partition", 'P', 'p', "PartitionFactor", "PartitionNorm", "PARTITION"},
    {"qos", 'Q', 'q', "QOSFactor", "QOSNorm", "QOS"},
};

int index_of(const wire::ListPrioritiesReply& list, std::string_view name) {
  for (int i = 0; i < list.names_size(); ++i)
    if (list.names(i) == name) return i;
  return -1;
}

double weight_of(const Row& r, std::string_view name) {
  const int i = index_of(*r.list, name);
  return i < 0 || i >= r.list->weights_size() ? 0 : r.list->weights(i);
}

double factor_of(const Row& r, std::string_view name) {
  const int i = index_of(*r.list, name);
  return i < 0 || i >= r.job->factors_size() ? 0 : r.job->factors(i);
}

double weighted(const Row& r, std::string_view name) {
  return r.job == nullptr ? weight_of(r, name) : factor_of(r, name) * weight_of(r, name);
}

/// The score as a part of the most that the weights can give, nice aside.
double normalized_score(const Row& r) {
  double most = 0;
  for (int i = 0; i < std::min(r.list->names_size(), r.list->weights_size()); ++i)
    if (r.list->names(i) != "nice") most += r.list->weights(i);
  return r.job == nullptr || most <= 0 ? 0 : r.job->score() / most;
}

std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string fraction(double value) { return fmt::format("{:.7f}", value); }

void add_part(std::vector<Field<Row>>& t, const Part& p) {
  t.push_back({{p.weighted, p.long_name, p.header},
               [name = p.name](const Row& r) { return whole(weighted(r, name)); },
               [name = p.name](const Row& r) { return weighted(r, name); }});
  t.push_back({{p.normalized, p.normalized_name, p.header},
               [name = p.name](const Row& r) { return r.job == nullptr ? "" : fraction(factor_of(r, name)); },
               [name = p.name](const Row& r) { return r.job == nullptr ? 0 : factor_of(r, name); }});
}

using Getter = std::string (*)(const wire::JobPriority&);
void add_text(std::vector<Field<Row>>& t, FieldName id, Getter get) {
  t.push_back({id, [get](const Row& r) { return r.job == nullptr ? std::string() : get(*r.job); }});
}
using Number = double (*)(const Row&);
void add_number(std::vector<Field<Row>>& t, FieldName id, Number get, bool is_fraction = false) {
  t.push_back({id,
               [get, is_fraction](const Row& r) {
                 if (r.job == nullptr) return std::string();
                 return is_fraction ? fraction(get(r)) : whole(get(r));
               },
               [get](const Row& r) { return r.job == nullptr ? 0 : get(r); }});
}

double zero(const Row&) { return 0; }

std::vector<Field<Row>> make_fields() {
  std::vector<Field<Row>> t;
  t.push_back({{'i', "JobID", "JOBID"},
               [](const Row& r) { return r.job == nullptr ? "Weights" : std::to_string(r.job->id()); },
               [](const Row& r) { return r.job == nullptr ? 0 : double(r.job->id()); }});
  add_text(t, {'r', "Partition", "PARTITION"}, [](const wire::JobPriority& j) { return j.partition(); });
  add_text(t, {'u', "UserName", "USER"}, [](const wire::JobPriority& j) { return j.user(); });
  add_text(t, {'o', "Account", "ACCOUNT"}, [](const wire::JobPriority& j) { return j.account(); });
  add_text(t, {0, "QOS", "QOS"}, [](const wire::JobPriority& j) { return j.qos(); });
  add_number(t, {'Y', "Priority", "PRIORITY"}, [](const Row& r) { return double(r.job->priority()); });
  add_number(t, {'y', "PriorityNorm", "PRIORITY"}, normalized_score, true);
  for (const Part& p : kParts) add_part(t, p);
  t.push_back({{'N', "Nice", "NICE"},
               [](const Row& r) { return whole(r.job == nullptr ? weight_of(r, "nice") : 0 - weighted(r, "nice")); },
               [](const Row& r) { return -weighted(r, "nice"); }});
  add_number(t, {'g', "Submitted", "SUBMITTED"}, [](const Row& r) { return double(r.job->submitted_priority()); });
  add_number(t, {'G', "Tier", "TIER"}, [](const Row& r) { return double(r.job->tier()); });
  add_number(t, {'s', "Score", "SCORE"}, [](const Row& r) { return r.job->score(); });
  // Factors of sprio that Gangway has not.
  add_number(t, {'S', "Site", "SITE"}, zero);
  add_number(t, {'B', "Assoc", "ASSOC"}, zero);
  add_number(t, {'b', "AssocNorm", "ASSOC"}, zero, true);
  add_number(t, {'T', "TRES", "TRES"}, zero);
  add_number(t, {'t', "TRESNorm", "TRES"}, zero, true);
  return t;
}

/// -0.0 is written as 0.0.
double plain(double x) { return x + 0.0; }

}  // namespace

const std::vector<Field<PriorityRow>>& priority_fields() {
  static const std::vector<Field<Row>> table = make_fields();
  return table;
}

std::string priority_format(const wire::ListPrioritiesReply& list, bool is_long, bool is_normalized, bool weights) {
  std::string out = "%.15i %9r";
  if (is_long) out += " %.8u";
  if (!weights) out += is_normalized ? " %.10y" : " %.10Y";
  if (is_long && !weights) out += " %.5G %.10g";
  for (const Part& p : kParts) {
    const int i = index_of(list, p.name);
    const bool counts = i >= 0 && i < list.weights_size() && list.weights(i) != 0;
    if (counts || is_long) out += fmt::format(" %.10{}", is_normalized && !weights ? p.normalized : p.weighted);
  }
  const bool has_nice = index_of(list, "nice") >= 0;
  return has_nice || is_long ? out + " %.11N" : out;
}

bool is_served_before(const wire::JobPriority& a, const wire::JobPriority& b) {
  const auto rank = [](const wire::JobPriority& j) {
    return std::tuple(-int64_t{j.tier()}, -j.submitted_priority(), -j.score(), j.submitted_us(), j.id());
  };
  return rank(a) < rank(b);
}

std::string priorities_json(const wire::ListPrioritiesReply& list) {
  using Json = nlohmann::ordered_json;
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["order"] = list.order();
  j["weights"] = Json::object();
  const int parts = std::min(list.names_size(), list.weights_size());
  for (int i = 0; i < parts; ++i) j["weights"][list.names(i)] = list.weights(i);
  j["jobs"] = Json::array();
  for (const wire::JobPriority& job : list.jobs()) {
    Json one = {{"job_id", job.id()},           {"user_name", job.user()},
                {"user_id", job.uid()},         {"account", job.account()},
                {"partition", job.partition()}, {"qos", job.qos()},
                {"tier", job.tier()},           {"submitted_priority", job.submitted_priority()},
                {"priority", job.priority()},   {"score", plain(job.score())},
                {"order", job.order()}};
    one["parts"] = Json::object();
    for (int i = 0; i < std::min(parts, job.factors_size()); ++i)
      one["parts"][list.names(i)] = {{"factor", plain(job.factors(i))},
                                     {"weight", plain(list.weights(i))},
                                     {"product", plain(job.factors(i) * list.weights(i))}};
    j["jobs"].push_back(std::move(one));
  }
  j["last_update"] = list.now_us() / 1'000'000;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
