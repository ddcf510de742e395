// What the verbs that measure share: where they run and what they write; graphs; trainings. The schema of a file says `garner.bench.`, as
// those that were written before there was a garner-lab.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command/common.hpp"
#include "cli/command/loading.hpp"
#include "core/fail.hpp"
#include "lab/graphs.hpp"

namespace garner::lab {

struct bench_arguments {
  std::string out, place;
  std::uint64_t seed = 1;
  std::vector<std::string> figures;  // empty: all
  cli::budget_arguments budgets;
  // Graphs.
  int scale = 20;
  std::uint64_t edge_factor = 16;
  std::vector<std::string> kinds, files;
  // Trainings.
  cli::sample_arguments training;
  std::string share = "1%", score = "degree";
  std::optional<std::uint64_t> batches;
  std::vector<std::uint64_t> peers;
  std::uint64_t row_bytes = 512;
  double compute_ms = 0;

  // --out, --device, --seed, --figures, the budgets. Returns --out.
  cli::option& add(cli::verb& v, char const* of_figures = nullptr);
  void add_graphs(cli::verb& v, char const* of_kinds = "");
  void add_training(cli::verb& v, char const* of_batches);  // --fanout, --batch, --share, --batches

  execution_device where() const;            // --device, else a GPU if there is one
  void begin(execution_device where) const;  // OUT can be written; the budgets hold
  void write(std::string const& text) const;

  void set_graphs(measured_graphs& o) const;
  // Fanouts, batch, seed, figures, which nodes train.
  template <class Options>
  void set_training(Options& o) const {
    sample_options const s = training.sampling();
    o.fanouts.assign(s.fanouts.begin(), s.fanouts.end());
    o.batch = s.batch, o.seed = seed;
    if (batches) o.batches = *batches;
    if (o.batches < 1) fail(errc::usage, "--batches 0: use 1 or more");
    if (!(compute_ms >= 0 && compute_ms <= 1e6)) fail(errc::usage, "--compute-ms {}: use 0 to 1,000,000", compute_ms);
    o.figures = figures, o.share = share, o.training = training_nodes();
    if constexpr (requires { o.peers; }) {
      o.score = parse_score(score);
      for (std::uint64_t const k : peers) o.peers.push_back(static_cast<int>(std::min<std::uint64_t>(k, 1u << 16)));
    }
  }

 private:
  std::function<std::vector<std::int64_t>(graph_handle const&)> training_nodes() const;
};

// A line at once, also into a pipe.
template <class... Args>
void tell(fmt::format_string<Args...> text, Args&&... args) {
  cli::say(text, std::forward<Args>(args)...);
  cli::flush_out();
}
// A row of a run: what was measured, or why nothing was.
inline void tell_row(std::string const& head, std::string const& skipped, std::string const& measured) {
  tell("{} {}\n", head, skipped.empty() ? measured : " not measured: " + cli::with_flags(skipped));
}
inline std::string or_dash(std::optional<double> value, char const* shape = "{:.3f}") {
  return value ? fmt::format(fmt::runtime(shape), *value) : "-";
}

}  // namespace garner::lab
