// The handshake against a peer that sends anything. An input is a script of what goes wrong: which message is replaced
// or changed, and by what. A session comes about only if nothing was changed.
#include "auth/handshake.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

using base::Result;

constexpr base::Time kNow{1'800'000'000'000'000};
const std::string kReceiver = "hpc/gctld";

/// What an input does to the messages: 0 hello, 1 credential, 2 answer, 3 finish, 4 a sealed message, 5 nothing.
class Meddler {
 public:
  explicit Meddler(Input in) : target_(in.u8() % 6), replaces_(in.u8() % 2 == 0), at_(in.u16()), bytes_(in.rest()) {}

  std::string pass(int message, std::string original) {
    if (message != target_) return original;
    std::string changed = original;
    if (replaces_)
      changed = bytes_;
    else
      changed.replace(at_ % (changed.size() + 1), bytes_.size(), bytes_);
    is_changed_ = changed != original;
    return changed;
  }
  bool is_changed() const { return is_changed_; }

 private:
  int target_;
  bool replaces_;
  size_t at_;
  std::string bytes_;
  bool is_changed_ = false;
};

template <typename T>
bool is_sound(const Result<T>& result) {
  if (!result) check_error(result.error());
  return result.has_value();
}

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
  const auto text = server.on_hello(meddler.pass(0, client.hello("credential")));
  if (!is_sound(text)) return false;
  auto answer = server.on_credential(credential(meddler.pass(1, client.credential_payload())));
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
  Meddler meddler{Input(input)};
  const bool is_agreed = shake(meddler);
  FUZZ_CHECK(is_agreed != meddler.is_changed());
  return is_agreed;
}

std::vector<std::string> made_inputs() { return {std::string(1, '\5')}; }

GW_FUZZ_TARGET("handshake", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
