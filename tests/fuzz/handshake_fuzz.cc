// The handshake against a peer that sends anything. An input is a script of what goes wrong: which message is replaced
// or changed, and by what. A session comes about only if nothing was changed.
#include "auth/handshake.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/meddler.h"

namespace gw::fuzz {
namespace {

constexpr base::Time kNow{1'800'000'000'000'000};
const std::string kReceiver = "hpc/gctld";

/// 0 hello, 1 credential, 2 answer, 3 finish, 4 a sealed message, 5 nothing.
constexpr int kTargets = 6;

auth::Credential credential(std::string payload) {
  auth::Credential c;
  c.payload = std::move(payload);
  c.encode_time = c.decode_time = kNow;
  c.lifetime = base::seconds(60);
  return c;
}

/// Both sides; true if both came to a session and a message passed each way.
bool shake(Meddler& meddler) {
  auth::NonceMemory nonces;
  auth::ClientHandshake client(kReceiver, auth::Role::kClient, {1, 3});
  auth::ServerHandshake server(kReceiver, {2, 4}, nonces);
  const auto claim = server.on_hello(meddler.pass(0, client.hello("credential")));
  if (!is_sound(claim)) return false;
  auto answer = server.on_answer(claim->answer(credential(meddler.pass(1, client.credential_payload()))));
  if (!is_sound(answer)) return false;
  auto done = client.on_answer(meddler.pass(2, std::move(*answer)));
  if (!is_sound(done)) return false;
  auto session = server.on_finish(meddler.pass(3, done->finish));
  if (!is_sound(session)) return false;
  const auto opened = session->stream.open(meddler.pass(4, done->session.stream.seal("message")));
  if (!is_sound(opened)) return false;
  const auto reply = done->session.stream.open(session->stream.seal("reply"));
  return is_sound(reply) && opened->plain == "message" && reply->plain == "reply";
}

bool run(std::string_view input) {
  Meddler meddler(Input(input), kTargets);
  const bool is_agreed = shake(meddler);
  FUZZ_CHECK(is_agreed != meddler.is_changed());
  return is_agreed;
}

std::vector<std::string> made_inputs() { return {std::string(1, '\5')}; }

GW_FUZZ_TARGET("handshake", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
