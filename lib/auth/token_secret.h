// The secret of a token: what a program shows to act for its maker. Only its hash is ever stored.
#pragma once

#include <string>
#include <string_view>

namespace gw::auth {

/// A new one, of 256 random bits: "gwt_" and 64 hexadecimal letters, so that a search for secrets finds it.
std::string make_token_secret();
/// Whether it looks like one.
bool is_token_secret(std::string_view text);
/// BLAKE2b-256 as 64 hexadecimal letters. It needs no salt and no slow hash: nobody can guess 256 bits.
std::string token_hash(std::string_view secret);

}  // namespace gw::auth
