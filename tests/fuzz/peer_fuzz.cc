// The handshake between nodes of a step against a peer that sends anything. An input says which message is replaced or
// changed, and by what. A link comes about only if nothing was changed.
#include "peer/handshake.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/meddler.h"

namespace gw::fuzz {
namespace {

/// 0 hello, 1 accept, 2 finish, 3 a sealed message, 4 nothing.
constexpr int kTargets = 5;

bool shake(Meddler& meddler) {
  peer::Identity one, other;
  one.purpose = other.purpose = "fuzz";
  one.nodes = other.nodes = 2;
  other.self = 1;
  const peer::DialerHandshake dialer(one, 1);
  peer::AnswerHandshake answer(other);
  const auto accept = answer.on_hello(meddler.pass(0, dialer.hello()));
  if (!is_sound(accept)) return false;
  auto finished = dialer.on_accept(meddler.pass(1, *accept));
  if (!is_sound(finished)) return false;
  auto secure = answer.on_finish(meddler.pass(2, finished->message));
  if (!is_sound(secure)) return false;
  const auto opened = secure->open(meddler.pass(3, finished->secure.seal("message")));
  if (!is_sound(opened)) return false;
  const auto reply = finished->secure.open(secure->seal("reply"));
  return is_sound(reply) && opened->plain == "message" && reply->plain == "reply";
}

bool run(std::string_view input) {
  Meddler meddler(Input(input), kTargets);
  const bool is_agreed = shake(meddler);
  FUZZ_CHECK(is_agreed != meddler.is_changed());
  return is_agreed;
}

std::vector<std::string> made_inputs() { return {std::string(1, '\4')}; }

GW_FUZZ_TARGET("peer", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
