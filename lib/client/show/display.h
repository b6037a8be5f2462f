// How much room text takes on a terminal.
// Invariant: a cut never goes through a UTF-8 sequence, and never parts a letter from the accents that follow it.
#pragma once

#include <cstddef>
#include <string_view>

namespace gw::client {

/// Columns that `text` takes: two for wide letters (East Asian, emoji), none for combining marks, one for the rest and
/// for each byte that is not UTF-8. Ranges after Unicode's EastAsianWidth.txt and its general categories Mn, Me and Cf.
size_t display_width(std::string_view text);

/// The longest beginning of `text` that takes at most `columns` columns.
std::string_view cut_to_width(std::string_view text, size_t columns);

/// May characters beyond ASCII be drawn? By LC_ALL, LC_CTYPE, LANG; yes where none is set.
bool use_unicode();
/// Columns of the terminal behind `fd`; `otherwise` if it is none.
size_t terminal_columns(int fd, size_t otherwise);

}  // namespace gw::client
