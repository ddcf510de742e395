// Graph neural networks (GCN, GraphSAGE, GIN): mini-batch or full-graph training and exact inference, with features in any memory tier.
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

#include "garner/detail/held.hpp"
#include "garner/device.hpp"
#include "garner/features.hpp"
#include "garner/handle.hpp"
#include "garner/hetero.hpp"
#include "garner/load.hpp"
#include "garner/shards.hpp"
#include "garner/subgraph.hpp"

namespace garner {

// Rounding of GEMMs on a GPU with tensor cores: f32; or factors rounded to TF32 or bf16, with f32 accumulation. The CPU always uses
// f32.
enum class dense_math : std::uint8_t { f32, tf32, bf16 };
std::string_view to_string(dense_math math);
dense_math parse_dense_math(std::string_view text);  // errc::usage with the choices otherwise

// How a node aggregates its neighbors: sum, mean (weighted: by edge weights), or GCN's symmetric normalization, which includes the node
// itself.
enum class aggregation : std::uint8_t { sum, mean, gcn };
std::string_view to_string(aggregation how);
aggregation parse_aggregation(std::string_view text);

enum class model_kind : std::uint8_t { gcn, sage, gin };
std::string_view to_string(model_kind kind);
model_kind parse_model_kind(std::string_view text);

// The kind of labels.
enum class label_kind : std::uint8_t {
  single_label,  // single-label: an integer per node, negative: unlabeled (softmax)
  multi_label,   // multi-label: a row of 0 and 1 per node, one per class (sigmoid)
};
// Normalization of a feature row before the first layer.
enum class row_scaling : std::uint8_t {
  none,
  sum,     // divided by the sum of its absolute values
  length,  // divided by its Euclidean norm
};
std::string_view to_string(row_scaling how);
row_scaling parse_row_scaling(std::string_view text);
// The normalization that suits a table, from about 4,096 of its rows: none if a number is negative; else sum if less than a tenth of the
// numbers is non-zero (bags of words); else length (counts).
row_scaling scaling_of(tiered_tensor& features);

struct model_options {
  model_kind kind = model_kind::sage;
  std::uint64_t inputs = 0, classes = 0;  // row width, and number of classes
  std::uint32_t layers = 2, hidden = 64;
  bool layer_norm = false, residual = false;
  label_kind labels = label_kind::single_label;
  row_scaling scaling = row_scaling::none;
  std::uint64_t seed = 1;  // for the initial parameters
};
// The layer norm and residual that suit the kind and the number of training nodes: both from 1,000 nodes on, which suffice to learn their
// parameters; neither below that, except for gin's layer norm.
void suit_layers(model_options& m, std::uint64_t training_vertices);

// The types of a model over several node and edge types (hetero.hpp): GraphSAGE with one matrix per relation.
struct model_types {
  struct relation {
    std::uint32_t from = 0, to = 0;
    std::string name;
    bool operator==(relation const&) const = default;
  };
  std::vector<std::string> names;
  std::vector<std::uint64_t> inputs;  // row width of each type
  std::vector<relation> relations;    // named FROM__RELATION__TO
  std::uint32_t target = 0;           // the type whose nodes are classified
  bool operator==(model_types const&) const = default;
};
// One table per type, in their order. errc::input names a type without a table. `side` out reverses every relation: nodes of its `from`
// type then aggregate nodes of its `to` type; the relation keeps its name.
model_types types_of(hetero_graph const& g, std::size_t target, std::span<tiered_tensor* const> features,
                     edge_direction side = edge_direction::in);

// Maps feature rows to class scores. Its parameters lie in the memory of its device.
class gnn_model {
 public:
  gnn_model(execution_device device, model_options const& options);
  gnn_model(execution_device device, model_options const& options, model_types const& types);  // the inputs in `options` are the target's
  // A model file: safetensors with PyG's parameter names (convs.0.lin_l.weight ...), and the options in the metadata.
  static gnn_model load(std::filesystem::path const& file, execution_device device);
  void save(std::filesystem::path const& file) const;
  ~gnn_model();
  gnn_model(gnn_model&&) noexcept;
  gnn_model& operator=(gnn_model&&) noexcept;

  model_options const& options() const;
  model_types types() const;  // one type: empty names
  execution_device device() const;
  struct tensor {
    std::string name;
    std::vector<std::uint64_t> shape;  // a matrix: outputs x inputs
    std::vector<float> values;
  };
  std::vector<tensor> tensors() const;  // copies
  std::uint64_t parameters() const;     // total number of scalars

  struct parts;
  parts& inside() const { return *parts_; }

 private:
  explicit gnn_model(std::unique_ptr<parts> made);
  detail::held<parts> parts_;
};

// --- training ---
enum class split_part : std::uint8_t { none = 0, train = 1, validation = 2, test = 3 };
// Labels and split of the nodes, one row per node in the order of graph_handle::ids(). Only the constructors read them.
struct labeled_nodes {
  row_array labels;                          // i64 of width 1 (single_label), or u8 or f32 of one column per class (multi_label)
  std::span<std::uint8_t const> split = {};  // one split_part per node
};

// Labels of an .npy file. One dimension: integers of any width, or integral floats (NaN: unlabeled), one per node, as i64. Two dimensions
// of 0 and 1 (bool, integers, floats): one row per node, as u8. errc::input for any other content.
row_array read_labels(std::filesystem::path const& file);
// A split of an .npy file: one integer per node, a split_part each.
std::vector<std::uint8_t> read_split(std::filesystem::path const& file);

// Data parallel: ranks train copies of one model, each on its share of every mini-batch (loader_options::ranks), and average their
// gradients in a fixed order, so all ranks hold the same bits. Ranks are threads, each with its own device, or processes.
class rank_group;
class shard_group;
std::shared_ptr<rank_group> ranks_of_threads(std::uint32_t ranks, double timeout_seconds = 60);
// Processes that pass the same name; `timeout_seconds`: timeout for all to join.
std::shared_ptr<rank_group> ranks_of_processes(std::string const& name, std::uint32_t rank, std::uint32_t ranks,
                                               double timeout_seconds = 60);
// Data that all ranks of a multi-process group read, in host memory once: rank 0 reads the file, the others map its rows and adjacency for
// as long as any rank lives. All ranks make these calls, in one order; errc::io names a rank that has ended. Tables on any device can use
// the rows. If rank 0 has the adjacency on its device, each rank loads its own, as do ranks that are threads.
row_array read_rows(std::filesystem::path const& file, rank_group& ranks, execution_device device);
graph_handle open_graph(std::filesystem::path const& file, open_options const& options, rank_group& ranks);
// For a rank that ends before it has a training: the others' calls then name it. A training reports its own errors.
void leave_ranks(rank_group& ranks, std::uint32_t rank, std::string_view why) noexcept;
void leave_shards(shard_group& shards, std::uint32_t shard, std::string_view why) noexcept;

// Where full-graph steps keep activations until the backward pass. Automatic: in host memory if the device is too small for all, and in a
// file if host memory is too small and training_options::scratch names a folder.
enum class activation_place : std::uint8_t { automatic, device, host, file };
std::string_view to_string(activation_place place);
activation_place parse_activation_place(std::string_view text);

struct training_options {
  std::vector<std::int64_t> fanouts = {};  // one per layer; empty: full-graph steps
  edge_direction side = edge_direction::in;
  bool weighted = false;  // use edge weights
  // Mini-batches, remote adjacency: block_options::graph_cache and scores.
  std::optional<std::uint64_t> graph_cache = {};
  std::span<float const> graph_scores = {};
  std::uint64_t batch_size = 1024;  // seeds of a mini-batch, per rank
  double learning_rate = 0.01;      // Adam
  // Weight decay of all parameters, added to the gradient. Unset: 5e-4, or 0.5 / number of training nodes if that is less: the prior
  // matters less with more training data.
  std::optional<double> weight_decay;
  std::optional<double> dropout;        // unset: 0.5, or 0.2 for a model with residual and layer norm
  std::optional<double> input_dropout;  // of the features; unset: as dropout for gcn and sage without residual, else 0
  dense_math math = dense_math::tf32;
  // Full-graph training: capture steps and evaluations once as CUDA graphs, and launch these from then on. Results are the same bits.
  bool cuda_graph = true;
  std::uint64_t seed = 1;            // for mini-batches, shuffling, dropout
  std::uint32_t evaluate_every = 1;  // epochs; 0: never
  // Early stopping: after this many epochs, or this many evaluations without a lower validation loss (patience; 0: unlimited). With neither
  // set: once the validation loss has not fallen for 50 steps and 10 epochs, at most 1,000 steps and 100 epochs. With patience only, the
  // same limits apply; with epochs only, exactly these. Without evaluation of validation nodes: after 200 steps and 10 epochs.
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint32_t> patience;
  loader_options load = {};  // prefetch, window, strategy, window_bytes, multiprocessors
  // A mini-batch has `batch_size` seeds per rank. All ranks pass the same options and make the same calls of a training; calls marked * are
  // collective.
  std::shared_ptr<rank_group> ranks = {};  // null: one rank
  std::uint32_t rank = 0;
  // Full-graph steps without shards. In host memory or a file the bits are those of one shard (shard_options::host_activations, which
  // shards set themselves), and feature rows, rows of layers and adjacency stay in host memory too where the device is too small for them.
  activation_place activations = activation_place::automatic;
  std::string scratch = {};  // folder of the file, which has no name
  // Or shards of the full graph (garner/shards.hpp): each thread trains on one part, with one common gradient. `rank` is the shard's
  // number; calls marked * are collective.
  std::shared_ptr<shard_group> shards = {};
};

// Metrics of exact scores: from each node's full neighborhood, without sampling.
struct evaluation {
  struct part {
    std::uint64_t vertices = 0;  // with a label
    double accuracy = 0, loss = 0;
    std::optional<double> auc;  // two classes: the area under the ROC curve, of the second class
  };
  part train, validation, test;
  double ms = 0;
};

struct epoch_report {
  std::uint64_t epoch = 0, steps = 0;  // counted from 1
  double loss = 0, accuracy = 0;       // of the training nodes, with dropout, before each step
  double ms = 0;                       // excludes evaluation
  double model_ms = 0;                 // part of `ms`: the steps without waiting for rows: forward, backward, Adam
  std::optional<evaluation> exact;
  bool best = false;  // no earlier validation had a lower loss
  // Full-graph training on a GPU: operations (kernels, copies, fills) in the CUDA graph of a step; 0: launched one by one. The reason for a
  // failed capture is reported once.
  std::uint64_t captured = 0;
  std::string not_captured = {};
  load_report load;  // mini-batch training
};

struct step_report {
  std::uint64_t epoch = 0, step = 0;  // counted from 1; the last one's, of all epochs
  double loss = 0, accuracy = 0;      // as of an epoch, of the training nodes of these steps
};

class training {
 public:
  // Graph, features and model must outlive it. errc::input if labels are missing or not below the number of classes, or the training set is
  // empty; errc::usage for options out of range, and * for ranks with different options or parameters. errc::io names a rank that has
  // stopped, and why; no rank can continue then.
  training(gnn_model& model, graph_handle const& g, tiered_tensor& features, labeled_nodes const& known, training_options const& options);
  // Several types: one table per type, labels and split of the target; all must outlive it. `fanouts` apply to every relation; `side` is
  // that of the model types. Full-graph steps and side out need in-edges (open_options::in_edges); weights, those of every relation.
  training(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> features, labeled_nodes const& known,
           training_options const& options);
  ~training();
  training(training&&) noexcept;

  bool finished() const;                    // by patience or number of epochs; next() continues all the same
  training_options const& options() const;  // with the values chosen for unset options
  // One epoch, or the rest of one. errc::input names a row or parameter with a non-finite number; the model is as before that step. If
  // interrupted, training stops between two steps and can be saved. * Loss and accuracy are of all ranks; rank 0 evaluates. If one rank is
  // interrupted, all stop before the same step.
  epoch_report next();
  // Up to `most` steps of an epoch of mini-batches, whose rest next() does. Empty: none is left. Waits for the device. * Figures of this
  // rank's nodes. Errors as next().
  std::optional<step_report> next_steps(std::uint64_t most);
  evaluation evaluate();  // of this rank alone; * with shards, collective
  // * Writes a checkpoint with the complete training state. Rank 0 writes it.
  void save_checkpoint(std::filesystem::path const& file) const;
  // * Bit for bit; errc::input for another graph, model, options or number of ranks, or a damaged file.
  void load_checkpoint(std::filesystem::path const& file);
  std::uint64_t epochs() const, step() const;  // done so far
  std::optional<std::uint64_t> best_epoch() const;
  void load_best();             // restores the model's parameters of that epoch
  std::uint64_t bytes() const;  // device memory, including the loader's

 private:
  struct impl;
  detail::held<impl> impl_;
};

// The fastest strategy for training over shards, one on each of `places`: predicted from the graph, then measured by the aggregations of
// a few epochs if several are within 2x of the best. If `places` are several devices, one
// shard on the first device may win, unless it does not fit (`one_fits`). errc::usage as for shard_options and split_report().
shard_decision decide_shards(model_options const& model, graph_handle const& g, training_options const& options, shard_options const& asked,
                             std::vector<execution_device> const& places, bool one_fits = true);
// The same between processes that pass the same name: all make this call with their own shard and device, and get the same strategies.
// Predicted from rates of such devices, then measured together. errc::io names a process that has ended or does not join in
// `timeout_seconds`.
shard_decision decide_shards_of_processes(model_options const& model, graph_handle const& g, training_options const& options,
                                          shard_options const& asked, std::string const& name, std::uint32_t shard, execution_device device,
                                          double timeout_seconds = 60);

// --- inference ---
// Scores of all nodes, in the order of ids(), `classes` floats each, in host memory: exact, layer by layer. Data that does not fit in GPU
// memory is streamed over the link; each layer uses the strategy with the fewest bytes.
struct inference_options {
  edge_direction side = edge_direction::in;
  bool weighted = false;
  dense_math math = dense_math::tf32;
  std::optional<std::uint64_t> memory_limit;  // for device memory; unset: the free memory
  // Room for a row of options().hidden elements for each node: the rows that the classes are computed from, which are the last layer's
  // input, of residual models its output. Empty: not wanted. errc::usage if too small, or if the model is one layer without them.
  std::span<float> embeddings = {};
};
// The result of inference, or of a dry run. Bytes are those between host memory and device memory, also if the device is the CPU.
struct inference_report {
  struct layer {
    std::string how;                                     // what stays in device memory, in words
    std::uint64_t rows_in = 0, rows_out = 0, lists = 0;  // bytes read, bytes written back, adjacency bytes read again
    double ms = 0, rows_ms = 0, targets_ms = 0;          // in all; reading rows, and aggregating them
  };
  std::vector<layer> layers;               // residual models: the first is the GEMM before the layers
  double ms = 0, prepare_ms = 0;           // in all; adjacency and host memory, before the layers
  std::uint64_t lists = 0;                 // adjacency bytes read once
  std::uint64_t device_bytes = 0;          // peak device memory, as planned
  std::uint64_t floor_bytes = 0;           // the rows of each layer, once
  std::optional<double> link_gbs;          // this device's link rate, if measured before (garner info), host to device
  std::uint64_t bytes() const;             // all bytes over the link
  std::optional<double> floor_ms() const;  // floor_bytes at that rate
};
inference_report infer(gnn_model& model, graph_handle const& g, tiered_tensor& features, std::span<float> scores,
                       inference_options const& options = {});
// For nodes of the target type, in a graph of several types; `side` is that of the model's types. If all adjacency and rows fit in device
// memory, in one piece (`layers` is empty then); else relation by relation, with as many columns of its rows as fit.
inference_report infer(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> const& features, std::span<float> scores,
                       inference_options const& options = {});
// A dry run of it. errc::memory if the limits are too small.
inference_report plan_inference(gnn_model& model, graph_handle const& g, tiered_tensor& features, inference_options const& options = {});

}  // namespace garner
