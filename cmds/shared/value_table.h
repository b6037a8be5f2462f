// Tables of text: for people in columns, for programs with a delimiter or as comma-separated values.
// Invariant: no byte of a user's reaches a terminal as a command to it.
#pragma once

#include <string>
#include <vector>

namespace gw::cmds {

struct TableColumn {
  std::string name;
  int width = 0;  ///< Negative: to the left. 0: as wide as its widest value, numbers to the right.
};

struct ValueTable {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

/// As Slurm's commands have it: each value cut to its column ("+" at the cut), or with `delimiter` between values.
struct TableStyle {
  bool no_header = false;
  std::string delimiter = {};
  bool ends_with_it = false;
};
std::string table_text(const ValueTable& table, const TableStyle& style);
/// RFC 4180: values with commas, quotes or line ends are in quotes.
std::string csv_text(const ValueTable& table);

}  // namespace gw::cmds
