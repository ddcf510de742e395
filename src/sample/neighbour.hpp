// Uniform neighbour sampling without replacement, at any place, from a CSR whose edges lie in any tier, plain or packed.
// The same bits at every place: what a vertex draws is a function of (seed, mini-batch, hop, vertex), and rows stand in the order in which
// they are first drawn, not in that in which threads come by.
#pragma once
#include <memory>
#include <vector>

#include "core/executor.hpp"
#include "garner/sample.hpp"
#include "graph/graph.hpp"

namespace garner {

// Near memory of a sampler, at the most, while epochs of `train` vertices or fewer go through it.
std::uint64_t sampling_bytes(graph_info const& info, place where, sample_options const& options, std::uint64_t train);

// State: 4 bytes a vertex near, and what one mini-batch takes. The graph must outlive it.
class neighbour_sampler {
 public:
  // errc::usage for options out of range or edges that cannot be read there, errc::input where a directed graph has no in-lists.
  neighbour_sampler(graph const& g, place where, access_mode access, std::optional<tier> edges, sample_options const& options);
  ~neighbour_sampler();
  neighbour_sampler(neighbour_sampler&&) noexcept;

  executor& at();
  // Mini-batch `number` of these training vertices: internal ids near, none twice. Returns how many rows it reads.
  std::uint64_t sample(std::uint64_t number, std::uint64_t const* train, std::uint64_t count);
  // Of the last mini-batch, near: its vertices, first the training vertices.
  std::uint64_t const* rows() const;
  std::uint64_t row_count() const;
  std::uint64_t edges_drawn() const;       // so far
  void count_rows(std::uint32_t* counts);  // adds 1 for each row; near
  traffic take_traffic();                  // simulated: since the last call

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace garner
