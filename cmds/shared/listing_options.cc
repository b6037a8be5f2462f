// Tables of gqueue and ginfo.
#include "cmds/shared/listing_options.h"

#include <unistd.h>

#include <ctime>
#include <thread>

#include "base/text.h"

namespace gw::cmds {

using base::Status;
using client::Arg;

void add_listing_options(std::vector<client::Option>& t, ListingOptions& o, const ListingWords& words) {
  t.push_back({"format", 'o', Arg::kRequired, "FORMAT", words.format, "FORMAT", client::kRaw, keeps(o.format)});
  t.push_back({"Format", 'O', Arg::kRequired, "FIELDS", words.long_format, words.long_variable, client::kRaw,
               keeps(o.long_format)});
  t.push_back(
      {"helpformat", 0, Arg::kNone, {}, "the names of all fields of -O", {}, client::kPlain, sets(o.wants_fields)});
  also_called(t, "helpFormat", "helpformat");
  add_cluster_option(t, &o.cluster);
  t.push_back({"noheader", 'h', Arg::kNone, {}, "no header line", {}, client::kPlain, sets(o.no_header)});
  t.push_back({"long", 'l', Arg::kNone, {}, "more columns", {}, client::kPlain, sets(o.is_long)});
  t.push_back({"sort", 'S', Arg::kRequired, "KEYS", words.sort, "SORT", client::kPlain, keeps(o.sort)});
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  const auto iterate = [&o](std::string_view v) -> Status {
    GW_TRY(seconds, base::parse_int(v, 1, 1'000'000, "-i/--iterate"));
    o.iterate_seconds = seconds;
    return {};
  };
  t.push_back({"iterate", 'i', Arg::kRequired, "SECONDS", "again every so many seconds", {}, client::kPlain, iterate});
}

std::string field_list(std::span<const client::FieldName> fields) {
  constexpr size_t kInLine = 4, kWidth = 20;
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool is_last = i % kInLine == kInLine - 1 || i + 1 == fields.size();
    std::string name(fields[i].name);
    if (!is_last) name.resize(std::max(kWidth, name.size() + 1), ' ');
    out += name + (is_last ? "\n" : "");
  }
  return out;
}

std::string cluster_line(const ListingOptions& o) {
  return o.cluster.empty() || o.no_header || o.json ? "" : "CLUSTER: " + o.cluster + "\n";
}

base::Result<client::Format> make_format(const ListingOptions& o, std::string_view standard,
                                         std::span<const client::FieldName> fields) {
  if (!o.long_format.empty()) return client::parse_long_format(o.long_format, fields);
  return client::parse_short_format(o.format.empty() ? standard : std::string_view(o.format), fields);
}

client::TableLook look_of(const client::Program& program, const ListingOptions& o) {
  if (program.is_slurm) return {};
  const bool is_own = o.format.empty() && o.long_format.empty();
  return {client::use_colour(STDOUT_FILENO), is_own ? client::terminal_columns(STDOUT_FILENO, 0) : 0};
}

std::string date_line(base::Time now) {
  const std::time_t t = now.seconds();
  std::tm local{};
  ::localtime_r(&t, &local);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y\n", &local));
}

std::chrono::steady_clock::time_point next_turn(std::chrono::steady_clock::time_point turn, std::chrono::seconds every,
                                                std::chrono::steady_clock::time_point now) {
  return now < turn + every ? turn + every : turn + ((now - turn) / every + 1) * every;
}

int show_repeatedly(int64_t seconds, const std::function<int()>& show) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point turn = Clock::now();;) {
    const int code = show();
    if (seconds == 0 || code != client::kExitOk) return code;
    turn = next_turn(turn, std::chrono::seconds(seconds), Clock::now());
    std::this_thread::sleep_until(turn);
    if (printed("\n") != client::kExitOk) return client::kExitFailed;
  }
}

}  // namespace gw::cmds
