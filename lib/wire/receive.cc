// See receive.h.
#include "wire/receive.h"

#include "wire/bounds.h"

namespace gw::wire {
namespace {

template <typename Message>
base::Result<Message> receive(const MessageBounds& bounds, std::string_view bytes, const char* what) {
  GW_TRY_STATUS(check_bounds(bounds, bytes));
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return base::fail(base::ErrorCode::kProtocol, what);
  return message;
}

}  // namespace

base::Result<ApiRequest> receive_request(std::string_view bytes) {
  return receive<ApiRequest>(kApiRequestBounds, bytes, "that is no request");
}

base::Result<NodeToController> receive_node_message(std::string_view bytes) {
  return receive<NodeToController>(kNodeToControllerBounds, bytes, "that is no message of a node");
}

}  // namespace gw::wire
