// Models over graphs (GCN, GraphSAGE, GIN), trained by mini-batches or on the whole graph, and inferred exactly, whatever tier rows lie in.
// Sources: Kipf and Welling, ICLR 2017 (GCN); Hamilton et al., NeurIPS 2017 (GraphSAGE); Xu et al., ICLR 2019 (GIN); Kingma and Ba, ICLR
// 2015 (Adam).
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/blocks.hpp"
#include "garner/detail/held.hpp"
#include "garner/features.hpp"
#include "garner/handle.hpp"
#include "garner/hetero.hpp"
#include "garner/load.hpp"
#include "garner/place.hpp"
#include "garner/shards.hpp"

namespace garner {

// How dense products are rounded on a device that has the units for it: as f32; factors to TF32 or bf16 first, sums in f32. The host has
// f32.
enum class dense_math : std::uint8_t { f32, tf32, bf16 };
std::string_view to_string(dense_math math);
dense_math parse_dense_math(std::string_view text);  // errc::usage with the choices otherwise

// How a vertex takes up what its neighbours hold: added up, their mean (weighted: by the weights), or GCN's symmetric normalisation, of
// which the vertex itself is one.
enum class aggregation : std::uint8_t { sum, mean, gcn };
std::string_view to_string(aggregation how);
aggregation parse_aggregation(std::string_view text);

enum class model_kind : std::uint8_t { gcn, sage, gin };
std::string_view to_string(model_kind kind);
model_kind parse_model_kind(std::string_view text);

// What a label says.
enum class label_kind : std::uint8_t {
  one_class,  // a whole number a vertex, below 0: none (softmax)
  yes_or_no,  // a row of 0 and 1 a vertex, one a class (sigmoid)
};
// What is done to a row before the model has it.
enum class row_scaling : std::uint8_t {
  none,
  sum,     // divided by the sum of its sizes
  length,  // divided by its length (the root of its squares' sum)
};
std::string_view to_string(row_scaling how);
row_scaling parse_row_scaling(std::string_view text);
// What suits a table, by some 4,096 of its rows: none where a number is negative; else sum where less than a tenth of the numbers is not 0
// (words), length where more is (counts).
row_scaling scaling_of(tiered_tensor& features);

struct model_options {
  model_kind kind = model_kind::sage;
  std::uint64_t inputs = 0, classes = 0;  // elements a row, and what is told apart
  std::uint32_t layers = 2, hidden = 64;
  bool layer_norm = false, residual = false;
  label_kind labels = label_kind::one_class;
  row_scaling scaling = row_scaling::none;
  std::uint64_t seed = 1;  // of the parameters' first values
};
// The layer norm and residual that suit the kind and the number of training nodes: from 1,000 on both, since these are enough to learn
// them from; below neither, but that gin has layer norm.
void suit_layers(model_options& m, std::uint64_t training_vertices);

// What a model over several types of vertices and edges is made for (hetero.hpp): GraphSAGE with a matrix a relation.
struct model_types {
  struct relation {
    std::uint32_t from = 0, to = 0;
    std::string name;
    bool operator==(relation const&) const = default;
  };
  std::vector<std::string> names;
  std::vector<std::uint64_t> inputs;  // elements a row, of each type
  std::vector<relation> relations;    // named FROM__RELATION__TO
  std::uint32_t target = 0;           // the type that is told apart
  bool operator==(model_types const&) const = default;
};
// A table a type, in their order. errc::input names a type without one. `side` out: every relation is pulled the other way round, so that
// vertices of its `from` take up those of its `to`; it keeps its name.
model_types types_of(hetero_graph const& g, std::size_t target, std::span<tiered_tensor* const> features, list_side side = list_side::in);

// Rows of vertices in, scores of classes out. Its parameters lie near its place.
class gnn_model {
 public:
  gnn_model(place where, model_options const& options);
  gnn_model(place where, model_options const& options, model_types const& types);  // options' inputs are those of the target
  // A model file, which is safetensors with the names that PyG's models have (convs.0.lin_l.weight ...), its options in the metadata.
  static gnn_model read(std::filesystem::path const& file, place where);
  void write(std::filesystem::path const& file) const;
  ~gnn_model();
  gnn_model(gnn_model&&) noexcept;
  gnn_model& operator=(gnn_model&&) noexcept;

  model_options const& options() const;
  model_types types() const;  // of one type: no names
  place where() const;
  struct tensor {
    std::string name;
    std::vector<std::uint64_t> shape;  // a matrix: outputs x inputs
    std::vector<float> values;
  };
  std::vector<tensor> tensors() const;  // copies
  std::uint64_t parameters() const;     // numbers in all

  struct parts;
  parts& inside() const { return *parts_; }

 private:
  explicit gnn_model(std::unique_ptr<parts> made);
  detail::held<parts> parts_;
};

// --- training ---
enum class split_part : std::uint8_t { none = 0, train = 1, validation = 2, test = 3 };
// What is known of the vertices, a row each in the order of graph_handle::ids(). Read where they lie, by the constructors alone.
struct known_vertices {
  row_array labels;                          // i64 of width 1 (one_class), or u8 or f32 of one a class (yes_or_no)
  std::span<std::uint8_t const> split = {};  // a split_part each
};

// Labels of an .npy file: whole numbers of any width, or floats that are whole (NaN: none), one a vertex, as i64; or of two dimensions 0
// and 1 (bool, whole numbers, floats), a row a vertex, as u8. errc::input names what is neither.
row_array read_labels(std::filesystem::path const& file);
// A split of an .npy file: one whole number a vertex, a split_part each.
std::vector<std::uint8_t> read_split(std::filesystem::path const& file);

// Data parallel: ranks that train copies of one model, each on its share of every mini-batch (loader_options::ranks), and take the mean of
// their gradients in a fixed order, so that all hold the same bits. Threads of a process, each with a place of its own, or processes.
class rank_group;
class shard_group;
std::shared_ptr<rank_group> ranks_of_threads(std::uint32_t ranks, double wait_seconds = 60);
// Processes that say the same name; `wait_seconds`: for all to come.
std::shared_ptr<rank_group> ranks_of_processes(std::string const& name, std::uint32_t rank, std::uint32_t ranks, double wait_seconds = 60);
// What ranks that are processes all read, in host memory once: rank 0 reads the file, and the others have rows and lists where they lie, as
// long as any of them does. All make these calls, in one order; errc::io names a rank that has ended. Rows are for tables at any place.
// Lists that rank 0 has on its device each loads itself, as do ranks that are threads.
row_array read_rows(std::filesystem::path const& file, rank_group& ranks, place where);
graph_handle open_graph(std::filesystem::path const& file, open_options const& options, rank_group& ranks);
// For a rank that ends before it has a training: the others' calls name it. A training's own errors are told by itself.
void leave_ranks(rank_group& ranks, std::uint32_t rank, std::string_view why) noexcept;
void leave_shards(shard_group& shards, std::uint32_t shard, std::string_view why) noexcept;

struct training_options {
  std::vector<std::int64_t> fanouts = {};  // a layer each; empty: the whole graph at every step
  list_side side = list_side::in;
  bool weighted = false;  // edges count by their weights
  // Of mini-batches, lists that lie far: block_options::device_budget and scores.
  std::optional<std::uint64_t> list_budget = {};
  std::span<float const> list_scores = {};
  std::uint64_t batch = 1024;
  double rate = 0.01;  // of Adam
  // Of all parameters, added to the gradient. Unset: 5e-4, or a half over the number of training vertices where that is less, as what is
  // known beforehand counts the less the more there is to learn from.
  std::optional<double> decay;
  std::optional<double> dropout;        // unset: 0.5, or 0.2 of a model with residual and layer norm
  std::optional<double> input_dropout;  // of the rows; unset: as dropout for gcn and sage without residual, none else
  dense_math math = dense_math::tf32;
  // Of the whole graph: steps and evaluations are recorded once, and given to a device as one from then on; the same bits either way.
  bool record = true;
  std::uint64_t seed = 1;            // of mini-batches, shuffling, dropout
  std::uint32_t evaluate_every = 1;  // epochs; 0: never
  // When it is over: after so many epochs, or so many evaluations without a lower validation loss (0: whatever that is). With neither set,
  // when the validation loss has not fallen for 50 steps and 10 epochs, after 1,000 steps and 100 epochs at the most. With patience alone
  // that many at the most; with epochs alone after exactly these. Without an evaluation of validation nodes: after 200 steps and 10 epochs.
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint32_t> patience;
  loader_options load = {};  // ahead, window, way, window_bytes, multiprocessors
  // Mini-batches are of `batch` seeds a rank. All ranks say the same options and make the same calls of a training, those marked *
  // together.
  std::shared_ptr<rank_group> ranks = {};  // null: one
  std::uint32_t rank = 0;
  // Or shards of the whole graph (garner/shards.hpp): threads that train on a part each, and have one gradient. `rank` says which of them;
  // calls marked * are made together.
  std::shared_ptr<shard_group> shards = {};
};

// Of exact scores: of the whole neighbourhood of each vertex, without a draw.
struct evaluation {
  struct part {
    std::uint64_t vertices = 0;  // with a label
    double accuracy = 0, loss = 0;
    std::optional<double> auc;  // two classes: the area under the ROC curve, of the second
  };
  part train, validation, test;
  double ms = 0;
};

struct epoch_report {
  std::uint64_t epoch = 0, steps = 0;  // counted from 1
  double loss = 0, accuracy = 0;       // of what was learned from, with dropout, before each step
  double ms = 0;                       // without evaluation
  double model_ms = 0;                 // of it, what the steps took that were not waiting for rows: forward, backward, Adam
  std::optional<evaluation> exact;
  bool best = false;  // no exact validation had a lower loss before
  // Of the whole graph, on a device: how many kernels, copies and fills a step was given as at once; 0: one after the other. Told once: why
  // the device would not record them.
  std::uint64_t recorded = 0;
  std::string unrecorded = {};
  load_report load;  // of mini-batches
};

class training {
 public:
  // Graph, features and model must outlive it. errc::input where labels are missing, not below the number of classes, or nothing is to be
  // trained; errc::usage for options out of range, and * for ranks whose options or parameters differ. errc::io names a rank that has
  // stopped, and why; none can go on then.
  training(gnn_model& model, graph_handle const& g, tiered_tensor& features, known_vertices const& known, training_options const& options);
  // Of several types: a table each, labels and split of the model's target. `fanouts` are of every relation, `side` is that of the model's
  // types. Whole-graph steps and side out want in-lists (open_options::in_lists), weights those of every relation. All must outlive it.
  training(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> features, known_vertices const& known,
           training_options const& options);
  ~training();
  training(training&&) noexcept;

  bool over() const;                        // by patience, or by its epochs; next() goes on all the same
  training_options const& options() const;  // with what was not set as it was chosen
  // One epoch, or what is left of one. errc::input names a row or parameter that is no number, and the model is what it was before that
  // step. Interrupted, it stands between two steps and may be kept. * Loss and accuracy are of all ranks, rank 0 evaluates; where one is
  // interrupted all are, before the same step.
  epoch_report next();
  evaluation evaluate();  // of this rank alone; * of shards by all
  // * A checkpoint: everything that decides what comes. Rank 0 writes it.
  void keep(std::filesystem::path const& file) const;
  // * Bit for bit; errc::input for another graph, model, options, number of ranks, or a damaged file.
  void resume(std::filesystem::path const& file);
  std::uint64_t epochs() const, step() const;  // done so far
  std::optional<std::uint64_t> best_epoch() const;
  void take_best();             // the model's parameters are those of that epoch
  std::uint64_t bytes() const;  // near memory, with the loader's

 private:
  struct impl;
  detail::held<impl> impl_;
};

// The fastest way to train so over shards, one at each of `places`: predicted from the graph, then measured by the aggregations of a few
// epochs where several are within twice the best. With exact sums it chooses among what gives the same bits; else among all ways. Where
// `places` are several devices it may be one shard, at the first of them, unless that is said not to fit (`one_fits`). errc::usage as
// shard_options and split_report() have it.
shard_decision decide_shards(model_options const& model, graph_handle const& g, training_options const& options, shard_options const& asked,
                             std::vector<place> const& places, bool one_fits = true);
// The same between processes that say the same name: all make this call, each of its shard and place, and all get the same ways. Predicted
// by rates of places like these, then measured together. errc::io names a process that is gone or that does not come for `wait_seconds`.
shard_decision decide_shards_of_processes(model_options const& model, graph_handle const& g, training_options const& options,
                                          shard_options const& asked, std::string const& name, std::uint32_t shard, place where,
                                          double wait_seconds = 60);

// --- inference ---
// Scores of all vertices, in the order of ids(), `classes` floats each, in host memory: exact, layer by layer. What does not fit near
// comes over the link in parts, a layer after the other; each layer goes the way with the fewest bytes.
struct inference_options {
  list_side side = list_side::in;
  bool weighted = false;
  dense_math math = dense_math::tf32;
  std::optional<std::uint64_t> near_bytes;  // at most so much memory near; unset: what is free
};
// What was done, or would be. Bytes are those between host memory and what lies near, also where the place is the host.
struct inference_report {
  struct layer {
    std::string how;                                     // what lies near, in words
    std::uint64_t rows_in = 0, rows_out = 0, lists = 0;  // bytes brought, bytes sent back, of lists brought again
    double ms = 0, rows_ms = 0, targets_ms = 0;          // in all; bringing rows, and aggregating them
  };
  std::vector<layer> layers;               // residual models: the first is the product before the layers
  double ms = 0, prepare_ms = 0;           // in all; lists and host memory, before the layers
  std::uint64_t lists = 0;                 // bytes of lists that were brought once
  std::uint64_t near_bytes = 0;            // at most at a time, as planned
  std::uint64_t floor_bytes = 0;           // the rows of each layer, once
  std::optional<double> link_gbs;          // measured of this device's link before (garner info), host to device
  std::uint64_t bytes() const;             // all that crossed
  std::optional<double> floor_ms() const;  // floor_bytes at that rate
};
inference_report infer(gnn_model& model, graph_handle const& g, tiered_tensor& features, std::span<float> scores,
                       inference_options const& options = {});
// Of the target's vertices, of a graph of several types; `side` is that of the model's types. In one piece (then no layers are told) where
// all lists and rows fit near; else a relation after the other, as many columns of its rows near as fit.
inference_report infer(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> const& features, std::span<float> scores,
                       inference_options const& options = {});
// The same without doing it. errc::memory where too little is allowed.
inference_report plan_inference(gnn_model& model, graph_handle const& g, tiered_tensor& features, inference_options const& options = {});

}  // namespace garner
