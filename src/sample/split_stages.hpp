// Sampling over adjacency that other processes own (garner/shards.hpp). If memory runs out where mini-batches are assembled, all hops are
// redone from the received data; nothing is requested twice.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/executor.hpp"
#include "sample/hop.hpp"
#include "sample/sampler_buffers.hpp"

namespace garner {

class split_stages {
 public:
  split_stages(executor& x, sampler_lists const& lists, sampler_buffers& buffers, hop_stages& stages)
      : x_(x), lists_(lists), b_(buffers), stages_(stages) {}

  // At the owner of the adjacency, of type 1, sampled by type 0: samples this hop of these mini-batches for the owner's vertices.
  sampling_response draw(std::uint64_t number, std::uint32_t h, std::span<std::int64_t const> vertices,
                         std::span<std::uint32_t const> batches);
  // Where mini-batches are assembled, for a relation that is `elsewhere`: samples them together, as far as the received data allows. Once
  // complete, they are as after give(). If one throws, begin() starts anew.
  void begin(some_batches prepared);
  void take(sampling_response came);
  sampling_request const& asks() const { return asks_; }

 private:
  void restart();
  void next_hop();
  void go_on();

  executor& x_;
  sampler_lists const& lists_;
  sampler_buffers& b_;
  hop_stages& stages_;
  std::vector<sampled_subgraph::parts*> batches_;
  std::uint32_t hop_ = 0;                // the next one
  std::vector<sampling_response> came_;  // one per hop
  std::vector<std::uint64_t> counted_;
  sampling_request asks_;  // of the next hop
};

}  // namespace garner
