#include "course.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common.hpp"
#include "core/random.hpp"

namespace garner::cli {

namespace {

enum stream : std::uint64_t { ends, rows, centres, parts };

// Approximately normal, of deviation 1: the sum of four 16-bit numbers.
float noise(std::uint64_t bits) {
  std::uint64_t sum = 0;
  for (int k = 0; k < 4; ++k) sum += bits >> 16 * k & 0xffff;
  return (static_cast<float>(sum) * 0x1p-16f - 2) * 1.7320508f;
}

}  // namespace

community_graph make_communities(community_options const& o) {
  std::uint64_t const n = o.vertices, k = o.communities;
  if (k < 2 || n < 10 * k) fail(errc::usage, "{} vertices in {} communities: use 2 communities or more, and 10 vertices each", n, k);
  if (o.width < 1 || o.edges_each < 1) fail(errc::usage, "rows of {} elements, {} edges a vertex: use 1 or more", o.width, o.edges_each);
  if (!(o.inside >= 0 && o.inside <= 1) || !(o.training > 0 && o.training < 0.5))
    fail(errc::usage, "{} of the edges inside, {} training: use 0 to 1, and more than 0 but less than 0.5", o.inside, o.training);
  std::vector<edge> edges;
  edges.reserve(n * o.edges_each);
  auto const chance = [](std::uint64_t bits) { return static_cast<double>(unit_float(bits)); };
  for (std::uint64_t v = 0; v < n; ++v)
    for (std::uint64_t e = 0; e < o.edges_each; ++e) {
      std::uint64_t const at = 2 * (v * o.edges_each + e), bits = random_bits(o.seed, ends, at + 1);
      bool const own = chance(random_bits(o.seed, ends, at)) < o.inside;
      // Vertex v belongs to community v mod k; the cube gives some vertices many neighbors.
      std::uint64_t const cube = upper_product(upper_product(bits, bits), bits);
      std::uint64_t const to = own ? upper_product(cube, (n - v % k - 1) / k + 1) * k + v % k : upper_product(cube, n);
      if (to != v) edges.push_back({v, to});
    }
  edge_array all{edges};
  all.vertices = n;
  build_options how;
  how.undirected = true;
  community_graph g{build_graph(all, how), {}, o.width, {}, {}};
  auto const w = static_cast<std::uint64_t>(o.width);
  g.rows.resize(n * w);
  for (std::uint64_t v = 0; v < n; ++v) {
    for (std::uint64_t j = 0; j < w; ++j) {
      float const centre = random_bits(o.seed, centres, v % k * w + j) & 1 ? 1.0f : -1.0f;
      g.rows[v * w + j] = static_cast<float>(o.signal) * centre + noise(random_bits(o.seed, rows, v * w + j));
    }
    g.labels.push_back(static_cast<std::int64_t>(v % k));
    double const part = chance(random_bits(o.seed, parts, v));
    g.split.push_back(static_cast<std::uint8_t>(part < o.training       ? split_part::train
                                                : part < 2 * o.training ? split_part::validation
                                                                        : split_part::test));
  }
  return g;
}

graph_handle without_edges(std::uint64_t vertices) {
  edge_array none;
  none.vertices = vertices;
  build_options how;
  how.undirected = true, how.allow_empty = true;
  return build_graph(none, how);
}

void same_parameters::check(std::string const& whose, std::vector<gnn_model::tensor> found) {
  if (kept_.empty()) {
    first_ = whose, kept_ = std::move(found);
    return;
  }
  if (found.size() != kept_.size())
    fail(errc::internal, "{}: {} tensors of parameters, and {} has {}", whose, found.size(), first_, kept_.size());
  for (std::size_t t = 0; t < kept_.size(); ++t) {
    gnn_model::tensor const &a = kept_[t], &b = found[t];
    if (a.values.size() == b.values.size() && std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0) continue;
    std::size_t at = 0;
    while (at < std::min(a.values.size(), b.values.size()) && std::memcmp(&a.values[at], &b.values[at], sizeof(float)) == 0) ++at;
    fail(errc::internal,
         "{}: learned other parameters than {} from the same mini-batches; the first that differs is number {} of {}: {} and {}", whose,
         first_, at, b.name, at < b.values.size() ? b.values[at] : 0, at < a.values.size() ? a.values[at] : 0);
  }
}

taken_course take_course(community_graph const& data, graph_handle const& g, course_options const& o,
                         std::function<void(epoch_report const&)> const& told) {
  tiered_options t;
  t.device = o.where;
  std::vector<float> by;
  if (o.kept > 0 && o.kept < 1) {
    score_options s;
    s.device = o.where, s.by = score_kind::degree;
    by = scores(g, s).score;
  }
  t.scores = by;
  if (o.where.kind != device_kind::cpu)
    t.feature_cache =
        static_cast<std::uint64_t>(std::llround(o.kept * static_cast<double>(data.labels.size()))) * data.width * sizeof(float);
  tiered_tensor table(data.table(), t);
  model_options m;
  m.inputs = data.width, m.hidden = o.hidden, m.seed = o.seed;
  m.classes = static_cast<std::uint64_t>(*std::max_element(data.labels.begin(), data.labels.end())) + 1;
  m.layers = static_cast<std::uint32_t>(o.fanouts.size());
  gnn_model model(o.where, m);
  training_options how;
  how.fanouts = o.fanouts, how.batch_size = o.batch, how.seed = o.seed, how.evaluate_every = o.evaluate_every;
  labeled_nodes const known = data.known();
  training run(model, g, table, known, how);
  taken_course all;
  for (std::uint64_t k = 0; k < o.epochs; ++k) {
    all.epochs.push_back(run.next());
    if (told) told(all.epochs.back());
  }
  all.exact = run.evaluate();
  all.parameters = model.tensors();
  return all;
}

}  // namespace garner::cli
