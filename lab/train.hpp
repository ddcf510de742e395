// Benchmarks of whole trainings (GraphSAGE, mini-batches): by strategy of fetching rows, by row width, by cached rows and their number
// (figures 3.14, 3.15 and 4.9 of the dissertation), remote versus local; and the loss and accuracy per epoch, on a graph of
// communities.
// Invariant: all settings of one graph and width begin with the same parameters and sample the same mini-batches. Their final parameters
// are compared with the first setting's bit for bit; on a difference the run fails and nothing is written.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cli/command/course.hpp"
#include "garner/gnn.hpp"
#include "garner/sample.hpp"
#include "lab/graphs.hpp"
#include "lab/train_file.hpp"

namespace garner::lab {

inline constexpr char const* train_figures[] = {"ways", "widths", "placement", "learning", "trainable"};

struct train_bench_options : measured_graphs, measured_training {  // a fanout per layer
  std::uint64_t width = 128;
  std::uint32_t hidden = 256, classes = 16;
  std::uint64_t epochs = 3;    // per setting; of several, the first is not timed
  std::uint64_t batches = 64;  // per epoch, at most: the first of them
  std::vector<std::uint64_t> widths{32, 64, 128, 256, 512, 1024, 2048, 4096};
  std::vector<double> kept{0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.5};
  std::vector<score_kind> scores{score_kind::degree, score_kind::reverse_pagerank, score_kind::weighted_reverse_pagerank,
                                 score_kind::expected};  // for placement
  score_kind score = score_kind::degree;                 // for everything else, and for peers
  std::vector<int> peers;                                // devices that hold rows for each other, including `where`. Empty: none
  cli::community_options communities;
  std::uint64_t course_epochs = 10;
  std::uint64_t step_rows = 300'000;  // trainable embeddings: distinct rows per step, of a table of 2^scale
};

// Calls `told` with each row and each epoch of a curve once it is measured.
struct train_told {
  std::function<void(train_file const&, train_row const&)> row = {};
  std::function<void(train_course const&, train_epoch const&)> epoch = {};
  std::function<void(train_file const&, trainable_row const&)> trainable = {};
};
train_file measure_trainings(train_bench_options const& options, train_told const& told = {});

// A training on a graph of communities as a curve of the file; `told` gets each epoch.
train_course curve_of(std::string name, cli::community_graph const& data, graph_handle const& g, cli::course_options const& options,
                      std::function<void(train_course const&, train_epoch const&)> const& told = {});

}  // namespace garner::lab
