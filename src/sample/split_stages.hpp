// Sampling over adjacency that other processes own (garner/shards.hpp): draw() at its owner; begin() and take() where mini-batches are
// assembled, as far as the received data allows. If memory runs out there, all hops are redone from that data; nothing is requested twice.
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
  split_stages(executor& x, block_options const& o, sampler_lists const& lists, sampler_buffers& buffers, hop_stages& stages)
      : x_(x), o_(o), lists_(lists), b_(buffers), stages_(stages) {}

  sampling_response draw(std::uint64_t number, std::uint32_t h, std::span<std::int64_t const> vertices,
                         std::span<std::uint32_t const> batches);
  void begin(some_batches batches);
  void take(sampling_response came);
  sampling_request const& asks() const { return asks_; }

 private:
  void restart();
  void next_hop();
  void go_on();

  executor& x_;
  block_options const& o_;
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
