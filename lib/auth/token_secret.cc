// See token_secret.h.
#include "auth/token_secret.h"

#include "auth/crypto.h"

namespace gw::auth {
namespace {

std::string hex(const Bytes32& bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char c : bytes) {
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
  return out;
}

constexpr std::string_view kMark = "gwt_";

}  // namespace

std::string make_token_secret() { return std::string(kMark) + hex(random_bytes32()); }

bool is_token_secret(std::string_view text) {
  constexpr size_t kLetters = 64;
  return text.size() == kMark.size() + kLetters && text.starts_with(kMark) &&
         text.find_first_not_of("0123456789abcdef", kMark.size()) == std::string_view::npos;
}

std::string token_hash(std::string_view secret) { return hex(hash_parts({"gangway token", secret})); }

}  // namespace gw::auth
