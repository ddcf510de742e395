// Uniform neighbor sampling without replacement, on any device, from a CSR whose edges are in any memory tier, plain or compressed. The
// bits are the same on every device: a vertex samples as a function of (seed, mini-batch, hop, vertex), and rows are in the order of their
// first sampling, whatever the order of threads.
#pragma once
#include <memory>
#include <vector>

#include "core/executor.hpp"
#include "garner/sample.hpp"
#include "graph/graph.hpp"

namespace garner {

// Maximum device memory of a sampler, while epochs of `train` vertices or fewer go through it.
std::uint64_t sampling_bytes(graph_info const& info, execution_device where, sample_options const& options, std::uint64_t train);

// State: 4 bytes per vertex on the device, and what one mini-batch takes. The graph must outlive it.
class neighbor_sampler {
 public:
  // errc::usage for options out of range or edges that cannot be read there, errc::input where a directed graph lacks in-edges.
  neighbor_sampler(graph const& g, execution_device where, std::optional<tier> edges, sample_options const& options);
  ~neighbor_sampler();
  neighbor_sampler(neighbor_sampler&&) noexcept;

  executor& at();
  // Mini-batch `number` of these training vertices: internal ids on the device, distinct. Returns how many rows it reads.
  std::uint64_t sample(std::uint64_t number, std::uint64_t const* train, std::uint64_t count);
  // Vertices of the last mini-batch, on the device: training vertices first.
  std::uint64_t const* rows() const;
  std::uint64_t row_count() const;
  std::uint64_t edges_drawn() const;       // so far
  void count_rows(std::uint32_t* counts);  // adds 1 for each row; on the device
  traffic take_traffic();                  // simulated: since the last call

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace garner
