// Aggregation over the edges of a block, for layers of one's own: every target adds up rows of those that its edges come from, and backward
// every source the gradients of its targets. The same bits at every place but for what a device rounds at once; no atomics.
#pragma once
#include <cstdint>
#include <memory>

#include "garner/gnn.hpp"
#include "garner/place.hpp"
#include "garner/stream.hpp"

namespace garner {

// Real: float or double.
template <class Real>
class block_aggregation {
 public:
  explicit block_aggregation(place where);
  ~block_aggregation();
  block_aggregation(block_aggregation&&) noexcept;
  block_aggregation& operator=(block_aggregation&&) noexcept;

  // Memory that the place reads.
  struct edges {
    std::int64_t const *row = nullptr, *col = nullptr;  // from source number row[e] to target number col[e]; col ascends
    std::uint64_t count = 0;
    std::uint64_t targets = 0, sources = 0;  // gcn: the first sources are the targets
    Real const* weights = nullptr;           // one an edge, kept by the caller until the last backward(); null: all 1
    float const* degrees = nullptr;  // gcn: of each source, how many neighbours it has where these were drawn from (or their weights' sum);
                                     // null: those of these edges, which takes as many targets as sources
  };
  // Waits until the edges have been looked at: errc::input names one whose ends are not there or that is not in order.
  void take(edges const& e, aggregation how, stream_ref stream = {});
  // `targets` rows out of `sources` rows, `columns` each, one after the other. sum, mean: of a target's neighbours, 0 without any; gcn: its
  // own row too.
  void forward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream = {});
  // Gradients of `sources` rows out of those of `targets` rows.
  void backward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream = {});

  place where() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

extern template class block_aggregation<float>;
extern template class block_aggregation<double>;

}  // namespace garner
