// What `garner train` is given, as files: a graph of communities, its rows, labels, answers and split.
#pragma once
#include "cli/program.hpp"
#include "core/npy_head.hpp"
#include "gnn/communities.hpp"

namespace garner::testing {

template <class T>
void write_npy(folder const& at, std::string const& name, char const* type, std::vector<T> const& values, std::uint64_t width = 0) {
  std::string bytes = npy_head(type, values.size() / std::max<std::uint64_t>(width, 1), width);
  bytes.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
  at.write(name, bytes);
}

// g.gnr, x.npy, y.npy (classes), yes.npy (answers) and s.npy.
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

}  // namespace garner::testing
