// Users: they submit jobs of every kind and give orders about them, at random.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/box.h"
#include "tests/sim/clients.h"

namespace gw::sim_cluster {

class Users {
 public:
  /// `running`: what a list would show them.
  Users(Box& box, Clients& clients, std::vector<uint32_t> gpus_of_nodes, std::function<std::vector<uint32_t>()> running)
      : box_(box),
        random_(box.random.fork()),
        clients_(clients),
        gpus_(std::move(gpus_of_nodes)),
        running_(std::move(running)) {}
  /// From now on they are there.
  void begin();
  void leave() { is_there_ = false; }
  /// Jobs that were acknowledged, with their users.
  const std::map<uint32_t, uint32_t>& jobs() const { return jobs_; }

 private:
  void act();
  void submit(uint32_t uid);
  void order(uint32_t uid, uint32_t job);
  wire::ApiRequest submission();
  void draw_limits(wire::JobSpec& spec);
  void draw_dependency(wire::JobSpec& spec);
  bool has_room_for_three() const;
  void draw_kind(wire::ApiRequest& request, bool is_elastic);
  static wire::Request request_of(uint32_t nodes, uint32_t gpus);
  wire::Request draw_request(bool& is_elastic);
  wire::ApiRequest action(uint32_t job);
  wire::ApiRequest update(uint32_t job);
  wire::ApiRequest step(uint32_t job);
  wire::ApiRequest cancel(uint32_t job);

  Box& box_;
  Random random_;
  Clients& clients_;
  std::vector<uint32_t> gpus_;
  std::function<std::vector<uint32_t>()> running_;
  bool is_there_ = true;
  uint32_t submitted_ = 0;
  std::map<uint32_t, uint32_t> jobs_;
};

}  // namespace gw::sim_cluster
