// Labels by part of the split, on the device that trains, and metrics of scores against them. Invariant: positions ascend within a part.
// Cost: 8 bytes per labelled vertex (multi-label: 4 per class), on the host and on the device.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "garner/gnn.hpp"
#include "nn/pointwise.hpp"

namespace garner {

// On the device: one class each, or one label per class.
struct near_labels {
  buffer<std::int64_t> classes;
  buffer<float> answers;
  std::uint64_t bytes() const { return classes.bytes() + answers.bytes(); }
};

inline std::uint64_t label_bytes(model_options const& o) {  // per vertex, on the device
  return o.labels == label_kind::single_label ? sizeof(std::int64_t) : o.classes * sizeof(float);
}
// With two classes the area under the ROC curve is reported, but not for the training set.
inline bool tells_area(model_options const& o) { return o.classes == (o.labels == label_kind::single_label ? 2u : 1u); }

class labelled_parts {
 public:
  // errc::input where there are fewer labels or parts than vertices, a label is not below the number of classes, a multi-label entry is
  // neither 0 nor 1, or a part is invalid.
  labelled_parts(labeled_nodes const& known, std::string const& graph, std::uint64_t vertices, model_options const& o);
  struct part {
    std::vector<std::int64_t> positions, classes;
    std::vector<float> answers;
  };
  part const& of(split_part p) const { return parts_[static_cast<std::size_t>(p)]; }
  near_labels near_of(executor& x, split_part p) const;  // in the order of its positions
  // Of vertices [first, first + count), -1 where they are of another part.
  near_labels near_of_range(executor& x, split_part p, std::uint64_t first, std::uint64_t count) const;
  near_labels near_of_rows(executor& x, split_part p, std::span<std::int64_t const> positions) const;  // the same of these
  near_labels near_of_all(executor& x, split_part p) const { return near_of_range(x, p, 0, vertices_); }

 private:
  // `row_of(i)`: where the label of positions[i] goes; beyond `count`: nowhere.
  template <class F>
  near_labels near_of(executor& x, split_part p, std::uint64_t count, F const& row_of) const;
  std::uint64_t vertices_, width_;
  std::array<part, 4> parts_;
};

void pick_labels(executor& x, model_options const& o, std::int64_t const* positions, std::uint64_t count, near_labels const& from,
                 near_labels& to);
// `counted`: of these rows the loss is the mean. `first`: where their labels begin. `bias`: what the scores still lack.
void take_loss(losses<float>& with, executor& x, row_block<float const> scores, near_labels const& of, model_options const& o,
               std::uint64_t rows, std::uint64_t counted, row_block<float> gradient, loss_totals* totals, std::uint64_t first = 0,
               float const* bias = nullptr);

class evaluator {
 public:
  evaluator(executor& x, model_options const& o, labelled_parts const& parts);
  void begin();  // anew
  // In ascending order of vertices.
  void take(std::uint64_t first, std::uint64_t count, row_block<float const> scores) {
    weigh(first, count, scores);
    note(first + count);
  }
  // take() in two steps: the device's, the same for the same vertices, and the host's bookkeeping. `bias`: last bias that the scores lack;
  // not for the area under a curve, which needs the scores unchanged.
  void weigh(std::uint64_t first, std::uint64_t count, row_block<float const> scores, float const* bias = nullptr);
  void note(std::uint64_t end);
  evaluation result();
  std::uint64_t bytes() const;
  // Training, validation and test vertices, of `vertices`, whose scores are all taken at once.
  static std::uint64_t bytes_for(model_options const& o, std::array<std::uint64_t, 3> const& counts, std::uint64_t vertices);

 private:
  struct side {
    split_part which;
    buffer<std::int64_t> positions;
    near_labels labels;
    buffer<loss_totals> totals;
    bool ranked;           // the area under the curve is reported
    buffer<float> picked;  // if so, scores of those that were weighed last
    std::uint64_t seen = 0;
    std::vector<float> margins;
  };
  std::uint64_t below(side const& s, std::uint64_t end) const;  // how many of its positions are
  executor& x_;
  model_options const& o_;
  labelled_parts const& parts_;
  losses<float> losses_;
  std::vector<side> sides_;
  buffer<float> picked_;  // of the others
};

// The area under the ROC curve: how often a vertex of the second class has the higher margin than one of the first; equal ones count half.
// Empty if a class lacks vertices.
std::optional<double> area_under_roc(std::vector<float> const& margins, std::vector<bool> const& second);

}  // namespace garner
