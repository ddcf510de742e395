// A whole graph in one piece, all on the device: what training on it runs on, and exact scores for it. (layered.hpp: for larger graphs.)
// Invariant: no sampling.
#pragma once
#include <functional>

#include "garner/features.hpp"
#include "nn/model.hpp"
#include "nn/whole_graph.hpp"

namespace garner {

class exact_inference {
 public:
  exact_inference(executor& x, whole_graph const& g, aggregation how);

  // Scores of vertices [first, first + count), in order, on the device.
  using taker = std::function<void(std::uint64_t first, std::uint64_t count, row_block<float const> scores)>;
  // All vertices and edges, with all rows on the device, gathered once and kept.
  network<float>::pass pass_of(network<float>& net, row_scaling scaling, tiered_tensor& features, blas& products);
  std::uint64_t bytes() const { return edges_[0].bytes() + degrees_.bytes() + counts_.bytes() + rows_.bytes(); }

 private:
  executor& x_;
  std::uint64_t vertices_;
  std::vector<relation_edges<float>> edges_;
  buffer<float> degrees_, counts_, rows_;
  bool have_rows_ = false;
};

std::uint64_t free_near(executor const& x);  // what may be taken now, with something left for others

// errc::input names the first row of a table with a number that is not finite; `position`: which row of the table each is.
void require_numbers(executor& x, float const* rows, std::uint64_t count, std::uint64_t width,
                     std::function<std::uint64_t(std::uint64_t row)> const& position, buffer<std::uint64_t>* in = nullptr);
// Rows [first, first + count) of a table as floats, scaled; errc::input names a row with a number that is not finite. `kept`: its
// workspace, for the next call.
struct take_room {
  buffer<std::int64_t> ids;
  buffer<std::uint64_t> bad;
};
// `which`: of these positions instead, `count` of them, in host memory.
void take_rows(executor& x, tiered_tensor& features, row_scaling scaling, std::uint64_t first, std::uint64_t count, float* to,
               take_room* kept = nullptr, std::int64_t const* which = nullptr);

}  // namespace garner
