// What gqueue and ginfo share: options of a table, its format, its text, and showing it again and again.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/options/option_table.h"
#include "client/show/format.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

/// How a table is shown.
struct ListingOptions {
  std::string format, long_format, sort;
  std::string cluster;        ///< Its name, if -M was given: tables say it above their header.
  bool wants_fields = false;  ///< --helpformat: the names of -O are printed, and nothing else.
  bool no_header = false, is_long = false, json = false;
  int64_t iterate_seconds = 0;  ///< 0: once.
  client::TableLook look;       ///< For a terminal that stands behind standard output.
};

/// What differs between the commands.
struct ListingWords {
  std::string_view format, long_format, sort;  ///< Help of -o, -O, -S.
  std::string_view long_variable;              ///< Environment input of -O; empty: none.
};
/// Adds --format, --Format, --helpformat, --noheader, --long, --sort, --json, --iterate and --clusters.
void add_listing_options(std::vector<client::Option>& table, ListingOptions& o, const ListingWords& words);

/// On a terminal: colours, and columns of the command's own are cut at its width. Slurm's names look as Slurm does.
client::TableLook look_of(const client::Program& program, const ListingOptions& o);

/// The names of -O, four in a line.
std::string field_list(std::span<const client::FieldName> fields);
/// "CLUSTER: name" where the table says so; else nothing.
std::string cluster_line(const ListingOptions& o);

/// The columns: those of -O, else of -o, else `standard`.
base::Result<client::Format> make_format(const ListingOptions& o, std::string_view standard,
                                         std::span<const client::FieldName> fields);

/// "Fri Jan 15 08:00:00 2027", local, with its newline: what stands above long and repeated listings.
std::string date_line(base::Time now);

/// The whole table, rows as they come.
template <typename Row>
std::string render_listing(const ListingOptions& o, client::Format format,
                           const std::vector<client::Field<Row>>& fields, const std::vector<Row>& rows,
                           base::Time now) {
  client::TableText table = client::render_table(std::move(format), fields, rows, o.look);
  if (o.no_header) return std::move(table.lines);
  const std::string date = o.is_long || o.iterate_seconds != 0 ? date_line(now) : std::string();
  return date + table.header + table.lines;
}

/// When to show again what was to be shown at `turn`: so many seconds after that or a multiple of them, and after now.
/// Those who were held up together go on at times of their own.
std::chrono::steady_clock::time_point next_turn(std::chrono::steady_clock::time_point turn, std::chrono::seconds every,
                                                std::chrono::steady_clock::time_point now);
/// Calls `show` once, or at every so many seconds from now until it fails; returns its exit code. A turn that is missed
/// is left out.
int show_repeatedly(int64_t seconds, const std::function<int()>& show);

}  // namespace gw::cmds
