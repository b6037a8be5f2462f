// Tables of gqueue and ginfo.
#include "cmds/shared/listing_options.h"

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

base::Result<client::Format> make_format(const ListingOptions& o, std::string_view standard,
                                         std::span<const client::FieldName> fields) {
  if (!o.long_format.empty()) return client::parse_long_format(o.long_format, fields);
  return client::parse_short_format(o.format.empty() ? standard : std::string_view(o.format), fields);
}

std::string date_line(base::Time now) {
  const std::time_t t = now.seconds();
  std::tm local{};
  ::localtime_r(&t, &local);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y\n", &local));
}

int show_repeatedly(int64_t seconds, const std::function<int()>& show) {
  while (true) {
    const int code = show();
    if (seconds == 0 || code != client::kExitOk) return code;
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    if (printed("\n") != client::kExitOk) return client::kExitFailed;
  }
}

}  // namespace gw::cmds
