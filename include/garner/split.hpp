// Mini-batches of a graph whose lists are split over processes by vertices. A graph_part has the lists of a block of them. A split_sampler
// draws from its part for whoever asks, and makes mini-batches of what was drawn for it. What goes between processes is the caller's: at
// each hop ids to the owners of their lists (asks), and back what these drew (take).
// Invariant: a mini-batch has the same bits as block_sampler's over the whole graph, whoever has which lists.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garner/blocks.hpp"
#include "garner/detail/held.hpp"
#include "garner/handle.hpp"
#include "garner/shards.hpp"

namespace garner {

struct part_options {
  list_side side = list_side::in;
  shard_balance balance = shard_balance::edges;  // what parts have as many of
  bool weights = false;                          // those of the edges are kept too, to be drawn by
};

// The lists of a block of vertices, in host memory or brought to a device. Vertices are named by their positions among all ids().
class graph_part {
 public:
  // Part `part` of so many; the graph may go then. Of a graph whose lists stay in their file no more is read than the part. errc::usage for
  // a part that is none, errc::input where the graph lacks in-lists or weights that are asked for.
  graph_part(graph_handle const& g, std::uint32_t part, std::uint32_t of, part_options const& options = {});
  // Of arrays: those of the vertices from `first` on, of so many in all; targets by position; weights one an edge, or none. `first_edge`:
  // how many edges stand before them, of `edges` in all. errc::input for offsets that go down and for targets that are no vertices.
  struct arrays {
    std::uint64_t first = 0, vertices = 0, first_edge = 0, edges = 0;
    std::span<std::int64_t const> offsets = {}, targets = {};  // one offset more than there are vertices here, from 0 on
    std::span<float const> weights = {};
  };
  explicit graph_part(arrays const& lists);
  ~graph_part();
  graph_part(graph_part&&) noexcept;
  graph_part& operator=(graph_part&&) noexcept;

  std::uint64_t first() const, count() const, edges() const;  // its own
  std::uint64_t all_vertices() const, all_edges() const;      // of all parts
  // A number that parts of one graph have in common: of its sizes, the lengths of its lists and its order; of arrays 0.
  std::uint64_t digest() const;
  std::uint64_t bytes() const;                                 // of its lists, and of what it knows of its vertices
  void bring_to(place where, std::optional<tier> edges = {});  // as bring_to() of a graph; errc::usage once a sampler draws from it

  struct parts;
  std::shared_ptr<parts> const& inside() const { return parts_; }

 private:
  std::shared_ptr<parts> parts_;  // of the samplers too
};

// What a hop draws for: positions of vertices, and of which mini-batch each is. `more`: a hop comes, which may draw for none here.
struct list_asks {
  bool more = false;
  std::uint32_t hop = 0;
  std::vector<std::int64_t> vertices;
  std::vector<std::uint32_t> batches;
};
// What was drawn for them: how many neighbours each, these one after the other, and with edge_ids where their edges stand in the lists of
// the whole graph.
struct list_draws {
  std::vector<std::uint32_t> counts;
  std::vector<std::int64_t> neighbours, edges;
};

// Calls from one thread at a time; all of them wait. It keeps the lists of the part, which may go or be moved.
class split_sampler {
 public:
  static constexpr std::uint64_t most_together = 64;

  // Of the options: seed, replace, weighted, labor, edges, edge_ids, access, lists. errc::usage for others, and as block_sampler. labor: of
  // a reordered graph other neighbors than the whole graph's.
  split_sampler(place where, graph_part const& part, std::vector<std::int64_t> fanouts, block_options const& options = {});
  ~split_sampler();
  split_sampler(split_sampler&&) noexcept;
  split_sampler& operator=(split_sampler&&) noexcept;

  // For whoever asks: hop `hop` of mini-batches number + batches[i] for vertices[i]. errc::input for a vertex of another part.
  list_draws draw(std::uint64_t number, std::uint32_t hop, std::span<std::int64_t const> vertices, std::span<std::uint32_t const> batches);
  // For this process: mini-batches number, number + 1 ... of these seeds, 1 to most_together of them, into these. errc::input for a seed
  // that is no vertex.
  void begin(std::uint64_t number, std::vector<std::span<std::int64_t const>> const& seeds, std::vector<blocks> into);
  list_asks const& asks() const;
  void take(list_draws came);    // for asks(), in its order; errc::input where it cannot be
  std::vector<blocks> finish();  // once asks() tells of no more

  place where() const;
  std::uint64_t bytes() const;        // near memory of its own, now
  std::uint64_t fingerprint() const;  // of what decides which neighbours are drawn: all processes must have the same

  struct parts;

 private:
  detail::held<parts> parts_;
};

}  // namespace garner
