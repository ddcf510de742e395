// Input files for `garner train`: a graph of communities, its features, labels, multi-labels and split; and a dataset of two types.
#pragma once
#include "cli/program.hpp"
#include "core/random.hpp"
#include "files/npy_head.hpp"
#include "nn/communities.hpp"

namespace garner::testing {

template <class T>
void write_npy(folder const& at, std::string const& name, char const* type, std::vector<T> const& values, std::uint64_t width = 0) {
  std::string bytes = npy_head(type, values.size() / std::max<std::uint64_t>(width, 1), width);
  bytes.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
  at.write(name, bytes);
}

// g.gnr, x.npy, y.npy (classes), yes.npy (multi-labels) and s.npy.
inline communities write_communities(folder const& at, communities c = communities()) {
  std::string edges;
  for (std::size_t i = 0; i < c.edges.size(); ++i)
    edges += std::to_string(c.edges[i].source) + " " + std::to_string(c.edges[i].target) + " " + std::to_string(i % 9 + 1) + "\n";
  at.write("e.wel", edges);
  outcome const o = at.shell("garner convert e.wel g.gnr --undirected --keep-loops");
  if (o.code != 0) throw std::runtime_error(o.err);
  write_npy(at, "x.npy", "<f4", c.rows, c.width);
  write_npy(at, "y.npy", "<i8", c.classes_of);
  write_npy(at, "yes.npy", "|u1", c.answers, c.classes);
  write_npy(at, "s.npy", "|u1", c.split);
  return c;
}

// In the layout of IGB: authors write papers; only the features of its authors reveal a paper's class.
inline void write_library(folder const& at) {
  std::filesystem::path const p = at.path() / "in" / "processed";
  for (char const* name : {"author__writes__paper", "author", "paper"}) std::filesystem::create_directories(p / name);
  std::vector<std::int64_t> edges, labels, train_on, test_on;
  std::vector<float> authors, papers;
  for (std::uint64_t i = 0; i < 500; ++i) {
    std::uint64_t const paper = random_bits(1, 0, i) % 120;
    edges.push_back(static_cast<std::int64_t>(random_bits(1, 1, i) % 30 * 3 + paper % 3)),
        edges.push_back(static_cast<std::int64_t>(paper));
  }
  for (std::uint64_t v = 0; v < 90; ++v)
    for (std::uint64_t c = 0; c < 4; ++c) authors.push_back(unit_float(random_bits(2, v, c)) + (c == v % 3 ? 1.0f : 0.0f));
  for (std::uint64_t v = 0; v < 120; ++v) {
    for (std::uint64_t c = 0; c < 5; ++c) papers.push_back(unit_float(random_bits(3, v, c)));
    labels.push_back(static_cast<std::int64_t>(v % 3));
    (v % 4 == 3 ? test_on : train_on).push_back(static_cast<std::int64_t>(v));
  }
  std::string const to = "in/processed/";
  write_npy(at, to + "author__writes__paper/edge_index.npy", "<i8", edges, 2);
  write_npy(at, to + "author/node_feat.npy", "<f4", authors, 4);
  write_npy(at, to + "paper/node_feat.npy", "<f4", papers, 5);
  write_npy(at, to + "paper/node_label.npy", "<i8", labels);
  write_npy(at, to + "paper/train.npy", "<i8", train_on);
  write_npy(at, to + "paper/test.npy", "<i8", test_on);
}

}  // namespace garner::testing
