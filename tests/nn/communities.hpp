// A graph of communities for tests that train: vertices of a community know each other, and their rows say faintly which it is.
#pragma once
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "garner/features.hpp"
#include "garner/gnn.hpp"
#include "garner/handle.hpp"

namespace garner::testing {

struct communities {
  std::uint64_t vertices, classes, width;
  std::vector<edge> edges;
  std::vector<float> rows;
  std::vector<std::int64_t> classes_of;
  std::vector<std::uint8_t> answers, split;  // answers: a row of 0 and 1 a vertex, its class and whether its number is even

  explicit communities(std::uint64_t n = 240, std::uint64_t of = 3, std::uint64_t w = 8, std::uint64_t seed = 1)
      : vertices(n), classes(of), width(w) {
    for (std::uint64_t v = 0; v < n; ++v) {
      classes_of.push_back(static_cast<std::int64_t>(v % of));
      for (std::uint64_t k = 0; k < 4; ++k) {  // one in eight leads elsewhere
        std::uint64_t u = random_bits(seed, 2 * k, v) % n;
        if (random_bits(seed, 2 * k + 1, v) % 8) u = u / of * of + v % of;
        if (u < n && u != v) edges.push_back({v, u});
      }
      for (std::uint64_t c = 0; c < w; ++c)
        rows.push_back(static_cast<float>(unit_float(random_bits(seed, 90 + c, v)) - 0.5 + (c % of == v % of ? 0.35 : 0)));
      for (std::uint64_t c = 0; c < of; ++c) answers.push_back(c == v % of || (c + 1) % of == v % of);
      split.push_back(static_cast<std::uint8_t>(v % 10 < 6 ? 1 : v % 10 < 8 ? 2 : 3));
    }
    edges.push_back({n - 1, n - 1});
  }
  static build_options both_ways() {
    build_options o;
    o.undirected = true;
    return o;
  }
  graph_handle graph(build_options const& o = both_ways()) const { return build_graph({.edges = edges, .vertices = vertices}, o); }
  row_array table() const { return {rows.data(), vertices, width, element::f32, {}}; }
  row_array labels() const { return {classes_of.data(), vertices, 1, element::i64, {}}; }
  row_array yes_or_no() const { return {answers.data(), vertices, classes, element::u8, {}}; }
  labeled_nodes known() const { return {labels(), split}; }
  model_options model(model_kind kind) const {
    model_options o;
    o.kind = kind, o.inputs = width, o.classes = classes, o.hidden = 16;
    return o;
  }
};

}  // namespace garner::testing
