// How much room text takes on a terminal.
// Invariant: a cut never goes through a UTF-8 sequence, and never parts a letter from the accents that follow it.
#pragma once

#include <cstddef>
#include <string_view>

namespace gw::client {

/// One character: its bytes and its columns.
struct Glyph {
  size_t bytes = 1;
  size_t columns = 1;
};
/// The first one of a text that is not empty.
Glyph first_glyph(std::string_view text);

/// Columns that `text` takes: two for wide letters (East Asian, emoji), none for combining marks, one for the rest and
/// for each byte that is not UTF-8. Ranges after Unicode's EastAsianWidth.txt and its general categories Mn, Me and Cf.
size_t display_width(std::string_view text);

/// The longest beginning of `text` that takes at most `columns` columns.
std::string_view cut_to_width(std::string_view text, size_t columns);

/// May characters beyond ASCII be drawn? By LC_ALL, LC_CTYPE, LANG; yes where none is set.
bool use_unicode();

}  // namespace gw::client
