// What exact inference by layers has for one type (one_type.hpp) and for several (types.hpp): rows come from host memory (for the
// first layer from the table) by one stream, are computed on by another, and what comes out of a layer goes back by a third, unless it
// stays on the device. The next chunk comes while the last one is computed. Invariant: no sampling; the same scores as for a whole graph in
// one piece, up to rounding. The model is not changed. When run() ends, also by an error, no stream uses the rows.
#pragma once
#include <functional>
#include <vector>

#include "core/lease.hpp"
#include "garner/features.hpp"
#include "nn/infer/infer.hpp"
#include "nn/infer/rows.hpp"
#include "nn/whole_graph.hpp"

namespace garner {

class inference_by_layers {
 public:
  virtual ~inference_by_layers() = default;
  inference_report const& planned() const { return planned_; }
  inference_report run(blas& products, score_taker const& take);
  void also_take(score_taker embeddings) { take_embeddings_ = std::move(embeddings); }

 protected:
  using rows_in = row_block<float const>;
  using rows_out = row_block<float>;
  using pass = network<float>::pass;
  // All rows of a type, `columns` each, in blocks of so many columns, one array after the other. None: they are in the table.
  struct store {
    buffer<float> data = {};
    std::uint64_t rows = 0, columns = 0, block = 0;
    bool near = false;
    float* at(std::uint64_t first) const { return data.data() + first * columns; }  // of one block
  };
  struct stores {
    store source = {}, before = {};  // what is aggregated; residual and norm: the rows as they were
  };
  struct chunk_rows {  // of a chunk's vertices; of `before` as of stores
    buffer<float> own, before, sums;
  };
  using row_user = std::function<void(std::uint64_t first, std::uint64_t count, rows_in rows)>;
  using part_user = std::function<void(std::uint64_t first, std::uint64_t count)>;
  using chunk_maker = std::function<void(std::uint64_t first, std::uint64_t count, chunk_rows& to)>;
  using chunk_user = std::function<void(std::uint64_t first, std::uint64_t count, chunk_rows const& rows)>;

  // All must outlive it. `vertices`: of each type.
  inference_by_layers(executor& x, network<float>& net, row_scaling scaling, std::vector<tiered_tensor*> tables,
                      std::vector<std::uint64_t> vertices);
  // `tables`: bytes of each that come over the link.
  void plan_floor(std::vector<double> const& tables);

  virtual void prepare() {}
  virtual void make_next(std::uint32_t layer) = 0;  // where its rows will go
  virtual void layer(std::uint32_t l, pass const& p, score_taker const& take) = 0;

  store make(std::uint32_t t, std::uint64_t columns, std::uint64_t block, bool near);
  void make_stores(std::uint32_t layer, std::uint32_t t, std::uint64_t block, bool near);  // for that
  void tell_embeddings(std::uint32_t layer, std::uint32_t t, rows_out rows, std::uint64_t first, std::uint64_t count) {
    if (take_embeddings_ && net_.shape().gives_embeddings(layer, t)) take_embeddings_(first, count, {rows.data, rows.stride});
  }
  void give(std::uint32_t to_layer, std::uint32_t t, rows_in rows, std::uint64_t first, std::uint64_t count);
  void put(store& to, rows_in rows, std::uint64_t first, std::uint64_t count);
  // Columns [begin, end) of rows [first, first + count), to device memory.
  void bring(executor& by, std::uint64_t begin, std::uint64_t end, store const& from, std::uint64_t first, std::uint64_t count,
             rows_out to);
  void bring_rows(executor& by, std::uint32_t t, store const& from, std::uint64_t first, std::uint64_t count, float* to);  // whole
  // Chunk after chunk of n vertices: what `come` gives to far_ comes while what `use` gave to x_ of the one before is under way. `done`:
  // when the next one's coming has been given.
  void each_chunk(std::uint64_t n, chunk_maker const& come, chunk_user const& use, part_user const& done = {});
  void each_rows(std::uint32_t t, row_user const& use);  // that come into the layer
  // As many of the targets at a time as part_edges_ edges have, and `most`: their lists are with edges_. `near`: all lists are.
  void each_part(whole_graph const& g, std::uint64_t targets, std::uint64_t most, bool near, part_user const& use);
  void lay_out(std::uint32_t t, std::uint64_t block);  // the table to host memory, where it is wanted by columns
  static void multiply(pass const& p, network<float>::first_matrix const& m, float const* by, rows_in rows, std::uint64_t count,
                       std::uint64_t columns, bool add, rows_out to);
  void wait_all();
  bool two_stores() const { return net_.shape().residual && net_.shape().layer_norm; }

  executor& x_;
  executor far_, out_;  // what comes, what goes
  network<float>& net_;
  row_scaling scaling_;
  std::vector<tiered_tensor*> tables_;
  std::vector<std::uint64_t> counts_;
  std::vector<double> row_bytes_;  // of each table's rows, what comes over the link
  std::uint64_t chunk_ = 0, part_edges_ = 0;
  inference_report planned_;
  relation_edges<float> edges_;
  std::vector<stores> rows_, next_;   // of this layer, and what comes out of it
  std::vector<buffer<float>> spare_;  // host memory of layers that are done
  buffer<float> taken_;
  inference_report::layer* told_ = nullptr;

 private:
  bool here(store const& s) const { return s.near || x_.where().kind == device_kind::cpu; }
  void advance();
  void run_layers(blas& products, score_taker const& take, inference_report& report);

  leased<chunk_rows> chunks_[2];       // far_ fills them, and x_ reads
  leased<buffer<float>> staged_[2];    // the host fills them, and what brings reads
  leased<buffer<float>> outgoing_[2];  // x_ fills them, and out_ reads
  std::uint64_t stagings_ = 0, puts_ = 0;
  store laid_;
  score_taker take_embeddings_;
  buffer<float> bringing_;
  take_room taking_;
};

}  // namespace garner
