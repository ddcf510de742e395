// Training: mini-batches of the loader, or the whole graph, through a network, and Adam. Invariant: after any number of steps the state
// (parameters, Adam's moments, the loader's position, totals, the best so far) determines all later steps, and keep() writes all of it; a
// step whose loss or gradients are not finite leaves the state unchanged. The host waits for the device at the end of an epoch and every 64
// steps. A step of the whole graph, with the evaluation behind it, is captured and replayed: what differs by step is in device memory
// (step_numbers). Ranks agree on each step before it, and have the same parameters after it. Shards are ranks that train on a part of the
// whole graph each, captured together if no host waits in a step; their reductions go by the blocks of their parts. Cost: three numbers per
// parameter besides itself, and the cost of network.hpp.
#pragma once
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/rank_group.hpp"
#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/fail.hpp"
#include "files/checkpoint.hpp"
#include "graph/handle.hpp"
#include "nn/evaluate.hpp"
#include "nn/model.hpp"
#include "shard/group.hpp"

namespace garner {

// Device memory that a captured step reads.
struct step_numbers {
  std::uint64_t step = 0;  // done before it
  adam_corrections adam{};
};
// What the steps of an epoch took, by the device's clock where they run on one: of these the sum is known when the host has waited.
class step_clock {
 public:
  void restart() { ms_ = 0, open_ = 0; }
  void begin(executor& x) {
    begun_ = steady::now();
    if (open_ == laps_.size()) laps_.emplace_back();
    laps_[open_].first.record(x);
  }
  void end(executor& x) {
    if (x.asynchronous()) laps_[open_++].second.record(x);
    else ms_ += ms_since(begun_);
  }
  void waited() {
    for (; open_; --open_) ms_ += laps_[open_ - 1].first.ms_until(laps_[open_ - 1].second);
  }
  double ms() const { return ms_; }

 private:
  std::vector<std::pair<event, event>> laps_;
  std::size_t open_ = 0;
  steady::time_point begun_;
  double ms_ = 0;
};

// Vertices, edges and rows, of one type or of several.
struct training_ground {
  graph_handle const* one = nullptr;
  hetero_graph const* several = nullptr;
  std::vector<tiered_tensor*> tables;  // a type
  std::uint32_t target = 0;

  std::string const& name() const { return one ? one->name() : several->name(); }
  std::uint64_t vertices(std::size_t type) const { return one ? one->info().vertices : several->types()[type].count; }
  std::string of_type(std::size_t type) const { return one ? "" : fmt::format("'{}': ", several->types()[type].name); }
};

struct training::impl {
  struct step_source;
  struct graph_source;
  struct whole_source;
  struct shard_source;
  struct sampled_source;

  gnn_model::parts& m;
  training_ground const ground;
  training_options o;
  executor& x;
  blas products;
  labelled_parts parts;
  rank_group* const ranks;  // null: one
  std::vector<std::int64_t> seeds;
  losses<float> loss;
  buffer<float> first, second, of_scores;
  buffer<loss_totals> totals;
  std::uint64_t done_epochs = 0, done_steps = 0, epoch_steps = 0;
  enum class stage : std::uint8_t { between, steps, evaluation };  // of an epoch: what comes next
  stage at = stage::between;
  std::uint64_t steps_until = ~std::uint64_t{0};  // of the epoch
  double steps_ms = 0;                            // what next_steps() took of it
  step_clock clock;
  std::vector<float> best_values;
  std::uint64_t best = 0, worse = 0;  // the epoch, 0: none; evaluations since
  double best_loss = 0;
  bool refusal_told = false;
  std::unique_ptr<step_source> source;  // captured steps know all that stands before it
  wait_at_end settled{x};

  impl(gnn_model& model, training_ground on, labeled_nodes const& from, training_options const& options);
  ~impl();
  std::uint64_t blocks() const;  // of totals

  // The options with what they leave to decide (activations.cpp).
  static training_options placed(gnn_model::parts const& m, training_ground const& on, training_options o);
  // What must be the same on all ranks, for them to stay so.
  void require_same() const;
  std::uint64_t checked_values() const;

  void check();
  // By the number of training nodes. An epoch of many steps learns more than one of few, so ends are counted in steps.
  void choose_unset();
  void check_shards() const;
  void check_types();
  // Plain numbers in a text, for the other ranks.
  template <class T>
  static std::string bytes_of(T const& value) {
    return {reinterpret_cast<char const*>(&value), sizeof value};
  }
  template <class T>
  static T from_bytes(std::string const& text) {
    T value;
    std::memcpy(&value, text.data(), sizeof value);
    return value;
  }

  buffer<float> zeros(std::uint64_t n) {
    buffer<float> made(x.near(), n, x.device(), "moments of Adam");
    x.fill(made.data(), 0, made.bytes());
    return made;
  }
  // For the first block; those of others are 0.
  void set_totals(loss_totals const& t) {
    std::vector<loss_totals> all(blocks());
    all[0] = t;
    x.copy(totals.data(), all.data(), all.size() * sizeof(loss_totals));
    x.wait();
  }
  std::vector<loss_totals> totals_seen() const {  // a block each
    std::vector<loss_totals> all(blocks());
    x.copy(all.data(), totals.data(), all.size() * sizeof(loss_totals));
    x.wait();
    return all;
  }
  static loss_totals sum_of(std::vector<loss_totals> const& all) {
    loss_totals sum;
    for (loss_totals const& t : all) {
      sum.loss += t.loss, sum.correct += t.correct, sum.counted += t.counted;
      sum.bad = std::min(sum.bad, t.bad);
    }
    return sum;
  }

  // `p`: of the rows and edges.
  network<float>::pass pass_of_step(network<float>::pass p = {});
  adam_step adam_of_step() const {
    adam_step a;
    a.rate = o.learning_rate, a.decay = *o.weight_decay, a.step = done_steps + 1;
    return a;
  }
  // Forward, loss, backward, Adam.
  void give_step(network<float>::pass const& p, near_labels const& of, std::uint64_t rows, std::uint64_t counted, adam_step const& a);
  void step_done();
  std::vector<loss_totals> look();
  [[noreturn]] void tell_bad();

  void begin_epoch();
  epoch_report next();
  std::optional<step_report> next_steps(std::uint64_t most);

  void tell_refused(epoch_report& r, std::string const& why);  // to capture the steps; once
  // By rank 0; the others wait.
  evaluation evaluate_for_all();

  // Whether it is the best so far.
  bool weigh(evaluation const& e);

  // What must be the same again, for the steps that come to be those that would have come.
  // With `other`, of a checkpoint: a strategy of the same bits does not differ from its own.
  checkpoint::texts made_for(checkpoint::texts const* other = nullptr) const;
  std::string split_of(checkpoint::texts const* other) const;
  std::string told_graph() const;
  std::string told_tables() const;
  std::vector<float> here(buffer<float> const& from) const;
  void keep(std::filesystem::path const& file) const;
  static std::string loader_of(std::size_t rank);
  void resume(std::filesystem::path const& file);

  evaluation evaluate();
};

}  // namespace garner
