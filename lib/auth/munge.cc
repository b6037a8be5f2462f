// MUNGE's C library behind the Authenticator interface.
// Invariant: the return code of munge_decode decides; uid and payload are also filled in for replayed and expired
// credentials and mean nothing then.
#include "auth/munge.h"

#include <arpa/inet.h>
#include <munge.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <memory>

#include "base/check.h"

namespace gw::auth {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

struct ContextDeleter {
  void operator()(munge_ctx_t context) const { munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<std::remove_pointer_t<munge_ctx_t>, ContextDeleter>;

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};

Result<Context> make_context(const std::string& socket_path) {
  Context context(munge_ctx_create());
  if (!context) return base::fail(ErrorCode::kInternal, "out of memory for a MUNGE context");
  if (!socket_path.empty() && munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket_path.c_str()) != EMUNGE_SUCCESS) {
    return base::invalid("MUNGE does not accept the socket path \"" + socket_path + "\"");
  }
  return context;
}

base::Time get_time(munge_ctx_t context, munge_opt_t option) {
  time_t value = 0;
  if (munge_ctx_get(context, option, &value) != EMUNGE_SUCCESS || value < 0) return {};
  return base::Time{0} + base::seconds(value);
}

base::Duration get_lifetime(munge_ctx_t context) {
  int ttl = 0;
  if (munge_ctx_get(context, MUNGE_OPT_TTL, &ttl) != EMUNGE_SUCCESS || ttl < 0) return {};
  return base::seconds(ttl);
}

std::string get_address(munge_ctx_t context) {
  in_addr address{};
  char text[INET_ADDRSTRLEN] = "";
  if (munge_ctx_get(context, MUNGE_OPT_ADDR4, &address) != EMUNGE_SUCCESS) return {};
  return inet_ntop(AF_INET, &address, text, sizeof text) != nullptr ? text : "";
}

Error describe(munge_err_t code, munge_ctx_t context, const std::string& socket_path) {
  const char* detail = munge_ctx_strerror(context);
  MungeFailure failure{
      .code = code, .detail = detail != nullptr ? detail : munge_strerror(code), .socket_path = socket_path};
  failure.encode_time = get_time(context, MUNGE_OPT_ENCODE_TIME);
  failure.decode_time = get_time(context, MUNGE_OPT_DECODE_TIME);
  failure.lifetime = get_lifetime(context);
  failure.own_uid = geteuid();
  return munge_error(failure);
}

// The defaults of munged may be weaker, even no encryption at all; the payload holds a secret.
bool set_strong(munge_ctx_t context) {
  return munge_ctx_set(context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES256) == EMUNGE_SUCCESS &&
         munge_ctx_set(context, MUNGE_OPT_MAC_TYPE, MUNGE_MAC_SHA256) == EMUNGE_SUCCESS &&
         munge_ctx_set(context, MUNGE_OPT_ZIP_TYPE, MUNGE_ZIP_NONE) == EMUNGE_SUCCESS;
}

bool is_credential_text(std::string_view text) {
  if (!text.starts_with("MUNGE:")) return false;
  for (char c : text) {
    if (c < '!' || c > '~') return false;
  }
  return true;
}

}  // namespace

Result<std::string> MungeAuthenticator::encode(std::string_view payload, uint32_t restrict_uid) {
  GW_TRY(context, make_context(socket_path_));
  if (!set_strong(context.get()) ||
      munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, static_cast<uid_t>(restrict_uid)) != EMUNGE_SUCCESS) {
    return base::fail(ErrorCode::kInternal, "MUNGE refuses AES-256 credentials restricted to one uid");
  }
  char* text = nullptr;
  const munge_err_t code = munge_encode(&text, context.get(), payload.data(), static_cast<int>(payload.size()));
  std::unique_ptr<char, FreeDeleter> owner(text);
  if (code != EMUNGE_SUCCESS) return tl::unexpected(describe(code, context.get(), socket_path_));
  return std::string(text);
}

Result<Credential> MungeAuthenticator::decode(std::string_view credential) {
  if (!is_credential_text(credential)) {
    return tl::unexpected(
        munge_error({.code = EMUNGE_BAD_CRED, .detail = "not MUNGE text", .socket_path = socket_path_}));
  }
  GW_TRY(context, make_context(socket_path_));
  void* payload = nullptr;
  int length = 0;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  const munge_err_t code = munge_decode(std::string(credential).c_str(), context.get(), &payload, &length, &uid, &gid);
  std::unique_ptr<void, FreeDeleter> owner(payload);
  if (code != EMUNGE_SUCCESS) return tl::unexpected(describe(code, context.get(), socket_path_));
  Credential result{.uid = uid,
                    .gid = gid,
                    .payload = {},
                    .addr = get_address(context.get()),
                    .encode_time = {},
                    .decode_time = {},
                    .lifetime = {}};
  if (payload != nullptr && length > 0)
    result.payload.assign(static_cast<const char*>(payload), static_cast<size_t>(length));
  result.encode_time = get_time(context.get(), MUNGE_OPT_ENCODE_TIME);
  result.decode_time = get_time(context.get(), MUNGE_OPT_DECODE_TIME);
  result.lifetime = get_lifetime(context.get());
  return result;
}

}  // namespace gw::auth
