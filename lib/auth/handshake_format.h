// Constants and hashes that both sides of the handshake share; private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "auth/codec.h"
#include "auth/crypto.h"
#include "auth/handshake.h"

namespace gw::auth {

constexpr std::string_view kHelloMagic = "GANGWAY\x01";
constexpr std::string_view kPayloadMagic = "GWK1";
constexpr uint8_t kAcceptTag = 'A';
constexpr uint8_t kRefuseTag = 'R';

/// What hello and the public part of accept looked like.
inline Bytes32 transcript_hash(std::string_view hello, uint16_t version, std::string_view server_key) {
  const char v[2] = {static_cast<char>(version & 0xff), static_cast<char>(version >> 8)};
  return hash_parts({"gangway transcript", hello, std::string_view(v, 2), server_key});
}
/// Shows that the server could decode the credential that holds the nonce.
inline Bytes32 server_proof(std::string_view nonce, const Bytes32& transcript) {
  return hash_parts({"gangway server proof", view(transcript)}, nonce);
}
/// What session keys are bound to.
inline Bytes32 key_context(std::string_view nonce, const Bytes32& transcript) {
  return hash_parts({"gangway keys", view(transcript)}, nonce);
}
/// The highest version that both speak. Errors: there is none.
base::Result<uint16_t> choose_version(VersionRange own, VersionRange theirs);
/// The error in a refusal, after its tag. It comes from an unproved sender: only printable text of bounded length is
/// passed on.
base::Error read_refusal(Reader& in);
/// What to say of an answer that no daemon of this project makes.
base::Error bad_answer(std::string what);
/// The session of a server whose client has sent its last message. Errors: it is not what it must be.
base::Result<Session> open_session(SecureStream stream, uint16_t version, std::string_view finish);
inline std::string_view header_view(const SecureStream& stream) {
  return {reinterpret_cast<const char*>(stream.header().data()), stream.header().size()};
}

}  // namespace gw::auth
