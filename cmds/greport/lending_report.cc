// See lending_report.h.
#include "cmds/greport/lending_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/show/show_json.h"
#include "cmds/shared/value_table.h"

namespace gw::cmds {
namespace {

using Json = nlohmann::ordered_json;
using Text = std::string_view;

base::Status read_words(Args words, ReportOptions& o) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string key = base::to_lower(Text(word).substr(0, equals));
    if (equals == std::string::npos || (key != "start" && key != "end"))
      return base::invalid("lending: \"" + base::printable(word, 60) + "\" is not start=TIME or end=TIME",
                           "it is of all jobs and QOS");
    (key == "start" ? o.since : o.until) = word.substr(equals + 1);
  }
  if (!o.by.empty() || !o.users.empty() || !o.accounts.empty() || !o.partitions.empty() || !o.qos.empty())
    return base::invalid("lending is told of all jobs of a time together", "without --by, -u, -A, -q and -r");
  return {};
}

/// Of the guarantee, while neither its own jobs nor others used it.
uint64_t unused_of(const wire::LendingSum& sum) {
  const uint64_t own = std::min(sum.held_ms() - std::min(sum.borrowed_ms(), sum.held_ms()), sum.guaranteed_ms());
  return sum.guaranteed_ms() - std::min(own + sum.lent_ms(), sum.guaranteed_ms());
}

ValueTable lending_table(const wire::SumRecordsReply& reply, const ReportOptions& o) {
  const TimeUnit unit = o.unit.value_or(TimeUnit::kHours);
  ValueTable table;
  table.columns.push_back({"QOS"});
  for (const char* name : {"GUARANTEED", "HELD", "BORROWED", "LENT", "UNUSED", "GPU_IDLE"})
    table.columns.push_back({name});
  std::map<std::string, size_t> levels;
  for (const wire::LendingSum& sum : reply.lending()) {
    const auto parent = levels.find(sum.parent());
    const size_t level = levels[sum.qos()] = parent == levels.end() ? 0 : parent->second + 1;
    const bool is_for_people = !o.csv && !o.with_bars && !o.with_bars_behind;
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(std::string(is_for_people ? level : 0, ' ') + sum.qos());
    for (const uint64_t ms :
         {sum.guaranteed_ms(), sum.held_ms(), sum.borrowed_ms(), sum.lent_ms(), unused_of(sum), sum.idle_ms()})
      row.push_back(fmt::format("{:.2f}", in_unit(static_cast<double>(ms), unit)));
  }
  return table;
}

std::string lending_json(const wire::SumRecordsReply& reply, const Period& period) {
  Json out{{"schema_version", client::kSchemaVersion},
           {"cluster", reply.cluster()},
           {"start_us", period.since.us},
           {"end_us", period.until.us},
           {"lending", Json::array()}};
  for (const wire::LendingSum& sum : reply.lending())
    out["lending"].push_back({{"qos", sum.qos()},
                              {"parent", sum.parent()},
                              {"guaranteed_gpu_ms", sum.guaranteed_ms()},
                              {"held_gpu_ms", sum.held_ms()},
                              {"borrowed_gpu_ms", sum.borrowed_ms()},
                              {"lent_gpu_ms", sum.lent_ms()},
                              {"unused_gpu_ms", unused_of(sum)},
                              {"idle_gpu_ms", sum.idle_ms()}});
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int report_lending(const client::Program& program, ReportOptions& o, Args words, base::Time now) {
  if (const base::Status read = read_words(words, o); !read) return failed(program, read.error());
  const auto period = period_of(o, month_until(now), now);
  if (!period) return failed(program, period.error());
  wire::ApiRequest request;
  *request.mutable_sum_records() = sum_request(o, *period);
  request.mutable_sum_records()->set_lending(true);
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  if (o.json) return printed(lending_json(reply->sum_records(), *period));
  const ValueTable table = lending_table(reply->sum_records(), o);
  if (o.csv) return printed(csv_text(table));
  const bool with_bars = o.with_bars || o.with_bars_behind;
  return printed(table_text(table, {o.no_header, with_bars ? "|" : "", o.with_bars_behind && !o.with_bars}));
}

}  // namespace gw::cmds
