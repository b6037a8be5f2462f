// See topologies.h.
#include "wire/topologies.h"

#include <google/protobuf/arena.h>

#include "wire/convert.h"
#include "wire/field_reader.h"

namespace gw::wire {

Topologies::Ptr Topologies::find(std::string_view bytes) const {
  const auto at = known_.find(bytes);
  return at == known_.end() ? nullptr : at->second.lock();
}

void Topologies::add(std::string_view bytes, const Ptr& topology) {
  const auto [at, is_new] = known_.try_emplace(std::string(bytes), topology);
  at->second = topology;
  if (is_new) bytes_ += bytes.size();
  if (bytes_ > sweep_at_) sweep();
}

void Topologies::sweep() {
  constexpr size_t kAnyway = size_t{1} << 20;
  std::erase_if(known_, [this](const auto& one) {
    const bool is_gone = one.second.expired();
    if (is_gone) bytes_ -= one.first.size();
    return is_gone;
  });
  sweep_at_ = 2 * bytes_ + kAnyway;
}

std::optional<Cut> cut_field(std::string_view message, uint32_t number) {
  FieldReader in(message);
  std::optional<Cut> cut;
  while (!in.at_end()) {
    const size_t begin = message.size() - in.left();
    const auto tag = in.varint();
    if (!tag) return std::nullopt;
    if (*tag >> 3 != number) {
      if (!in.skip(*tag & 7)) return std::nullopt;
      continue;
    }
    const auto value = (*tag & 7) == kBytes && !cut ? in.bytes() : std::nullopt;
    if (!value) return std::nullopt;
    cut.emplace(Cut{*value, std::string(message.substr(0, begin))});
    cut->rest += message.substr(message.size() - in.left());
    // What follows is looked at, since the field must not come twice.
  }
  return cut;
}

RowTopology topology_of_row(std::string_view row) {
  const auto cut = cut_field(row, Node::kTopologyFieldNumber);
  if (!cut) return {};
  google::protobuf::Arena arena;
  NodeTopology& stored = *google::protobuf::Arena::CreateMessage<NodeTopology>(&arena);
  if (!stored.ParseFromArray(cut->field.data(), static_cast<int>(cut->field.size()))) return {};
  auto topology = from_wire(stored);
  if (!topology) return {};
  return {cut->field, std::make_shared<const model::NodeTopology>(std::move(*topology))};
}

base::Status stored_from_row(std::string_view name, std::string_view row, Topologies& known, model::Node& node) {
  const auto cut = cut_field(row, Node::kTopologyFieldNumber);
  const auto topology = cut ? known.find(cut->field) : nullptr;
  const std::string_view bytes = topology ? std::string_view(cut->rest) : row;
  // A topology has hundreds of parts: they are taken together, and go together.
  google::protobuf::Arena arena;
  Node& stored = *google::protobuf::Arena::CreateMessage<Node>(&arena);
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || stored.name() != name)
    return base::invalid("it cannot be read");
  GW_TRY_STATUS(stored_from_wire(stored, node));
  if (topology) node.topology = topology;
  if (cut && !topology) known.add(cut->field, node.topology);
  return {};
}

}  // namespace gw::wire
