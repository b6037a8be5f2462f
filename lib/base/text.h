// Small text helpers: splitting, whole-string number parsing, sizes, and "did you mean".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::base {

/// In every locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Splits at every `separator`; "" gives no part, "a,,b" gives three.
std::vector<std::string> split(std::string_view text, char separator);
/// Of names that stand twice the first stays, in its place.
void drop_duplicates(std::vector<std::string>& names);
std::string_view trim(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string to_lower(std::string_view text);
bool iequals(std::string_view a, std::string_view b);

/// Parses the whole of `text` as a decimal number in [min, max]. `name` is used in the error ("-N: ..."): not a number,
/// out of range (both bounds named), overflow.
Result<int64_t> parse_int(std::string_view text, int64_t min, int64_t max, std::string_view name);
/// Memory as Slurm writes it: a number with K, M, G, T (powers of 1024; `default_unit` without one); result in MiB,
/// rounded up. Fractions such as 1.5G are accepted.
Result<uint64_t> parse_memory_mb(std::string_view text, char default_unit = 'M');
/// "512M", "1.50G", "2T": as Slurm prints MiB (G from 1024 on, trailing zeros cut).
std::string format_memory_mb(uint64_t mb);

/// The candidate nearest to `word` by Damerau-Levenshtein distance, if that is at most 2 (1 for words up to 3 letters)
/// and below the word's length; ties by order. Empty if none.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// `did you mean "X"?` or empty: fit for Error::hint.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// Shell words with quotes and backslashes, as directives need; stops at an unquoted `#` that starts a word. Errors:
/// unclosed quote.
Result<std::vector<std::string>> split_shell_words(std::string_view line);
/// Quotes a word for /bin/sh where it needs it.
std::string shell_quote(std::string_view word);
/// Printable form of untrusted text: control bytes become \xNN, cut at `max` bytes.
std::string printable(std::string_view text, size_t max = 200);

}  // namespace gw::base
