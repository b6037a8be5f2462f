// See receive.h.
#include "wire/receive.h"

#include <google/protobuf/io/coded_stream.h>

#include <array>
#include <optional>
#include <utility>

#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/field_reader.h"

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

constexpr uint32_t kRegisterTag = NodeToController::kRegisterNodeFieldNumber << 3 | kBytes;

/// The topology in a message that registers a node, and the message without it. Nothing: it is another message, or not
/// written as expected.
std::optional<Cut> cut_topology(std::string_view bytes) {
  FieldReader in(bytes);
  if (in.varint() != kRegisterTag) return std::nullopt;
  const auto registration = in.bytes();
  if (!registration || !in.at_end()) return std::nullopt;
  auto cut = cut_field(*registration, Register::kTopologyFieldNumber);
  if (!cut) return std::nullopt;
  std::array<uint8_t, 16> header{};
  using google::protobuf::io::CodedOutputStream;
  uint8_t* end = CodedOutputStream::WriteVarint32ToArray(kRegisterTag, header.data());
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(cut->rest.size()), end);
  cut->rest.insert(0, reinterpret_cast<const char*>(header.data()), static_cast<size_t>(end - header.data()));
  return cut;
}

}  // namespace

base::Result<ApiRequest> receive_request(std::string_view bytes) {
  return receive<ApiRequest>(kApiRequestBounds, bytes, "that is no request");
}

base::Result<NodeToController> receive_node_message(std::string_view bytes) {
  return receive<NodeToController>(kNodeToControllerBounds, bytes, "that is no message of a node");
}

base::Result<NodeMessage> receive_node_message(std::string_view bytes, Topologies& known) {
  const auto cut = cut_topology(bytes);
  if (cut) {
    if (auto topology = known.find(cut->field)) {
      GW_TRY(message, receive_node_message(cut->rest));
      return NodeMessage{std::move(message), std::move(topology)};
    }
  }
  GW_TRY(message, receive_node_message(bytes));
  NodeMessage received{std::move(message), nullptr};
  if (!cut) return received;
  // One that cannot be is the core's to refuse.
  auto topology = from_wire(received.message.register_node().topology());
  if (!topology) return received;
  received.topology = std::make_shared<const model::NodeTopology>(std::move(*topology));
  known.add(cut->field, received.topology);
  return received;
}

}  // namespace gw::wire
