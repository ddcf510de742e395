// From edges that arrive in parts to a graph file, in less host memory than the edges take. The result is that of build_graph() and
// save_graph(), byte for byte. Edges become keys, sorted in runs (arc_sorter.hpp). The output of the last merge is counted, deduplicated
// and written as it arrives, adjacency first; later sections wait in unnamed files. Invariant: the file equals that of the same edges in
// memory, and appears whole or not at all. Memory: 8 bytes per vertex (offsets), twice with in-edges; 8 more if ids are compacted; the rest
// of the budget holds edges. Disk, besides the graph file: the keys (8 bytes, 12 with weights; an undirected edge twice), twice with
// in-edges; 4 bytes per edge of weights or compressed adjacency.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/executor.hpp"
#include "core/publish.hpp"
#include "core/scratch_file.hpp"
#include "garner/convert.hpp"
#include "graph/arc_sorter.hpp"
#include "graph/container.hpp"
#include "graph/edge_list.hpp"
#include "graph/graph.hpp"

namespace garner {

// Data that a graph file derives from the adjacency and stores behind it, such as cached neighbors.
class beside_lists {
 public:
  virtual ~beside_lists() = default;
  // Entries per vertex; 0: disabled. `g` has its counts and out-offsets, but no adjacency.
  virtual std::uint32_t per_vertex(graph const& g, packed_words const& words) = 0;
  virtual pack_report finish(graph& g) = 0;  // of a graph in memory: the same, and its compression
  // Fills in `count` vertices from `first` on; `targets` holds their in-edges, with offsets from 0.
  virtual void make(graph const& g, std::uint64_t first, std::uint64_t count, std::uint64_t const* offsets, void const* targets,
                    std::uint32_t* to) = 0;
};

struct large_options {
  std::filesystem::path scratch = {};  // folder of scratch files; empty: that of the graph file
  std::uint64_t bytes = 0;             // host memory to use; 0: the rest of the budget
  bool compress = false;               // compress the adjacency
  beside_lists* beside = nullptr;
};

// Statistics of the build.
struct large_report : sort_report, pack_report {};

// With a smaller host budget, sorting in parts is disabled.
inline constexpr std::uint64_t large_graph_least = std::uint64_t{32} << 20;
// Upper bound, approximately, on scratch disk space in addition to the graph file.
std::uint64_t scratch_bytes_of(std::uint64_t arcs, bool weights, bool undirected, bool in_edges, bool compress, bool compact);

class large_graph : public arc_sink {
 public:
  // `name`: the source of the edges, for messages. errc::io if one of the folders is unusable.
  large_graph(std::filesystem::path const& to, std::string name, large_options const& how, build_options const& build);
  ~large_graph() override;
  large_graph(large_graph const&) = delete;
  large_graph& operator=(large_graph const&) = delete;

  void expect(std::uint64_t scratch_bytes) { folder_.expect(scratch_bytes); }  // errc::io if the disk has less free space
  void take(edge_list& part) override;
  void rest() {  // frees the memory of the edges so far
    if (sorter_) sorter_->cut();
  }
  bool any() const { return begun_; }  // edges were added
  // `said`: the list whose parts were added, without edges. Writes the graph file; `reversed`: see graph_info.
  graph_info finish(edge_list said, build_report& report, bool reversed = false);
  large_report const& about() const { return about_; }

 private:
  struct lists;
  void begin(edge_list const& part);
  void add_keys(arc const* arcs, std::uint32_t const* weights, std::uint64_t n);
  template <class Take>
  void each_spooled(Take const& take);
  void compact();
  std::uint64_t left() const;
  lists write_lists(arc_sorter& from, bool thinned, std::uint64_t at, arc_sorter* turned, build_report& report);
  void pack(lists& l);
  void write_beside(std::uint64_t at, lists const& in, std::uint64_t& checksum);
  void write_container(std::uint64_t id_base, build_report& report);

  pending_file out_;
  std::string name_;
  large_options how_;
  build_options build_;
  scratch_folder folder_;
  executor x_;
  std::uint64_t bytes_, used_before_;

  bool begun_ = false, undirected_ = false, mirror_ = false, weighted_ = false, real_ = false;
  std::uint64_t arcs_ = 0, largest_ = 0, loops_ = 0;
  std::unique_ptr<arc_sorter> sorter_;
  std::unique_ptr<scratch_file> spool_, spool_weights_;  // edges from the first one whose ids do not fit a key
  std::uint64_t spooled_ = 0, spooled_whole_ = 0;        // how many of them have integer weights
  buffer<std::uint64_t> user_;                           // ids, if compacted or listed with gaps
  graph counts_;                                         // info, and the out-offsets
  std::unique_ptr<lists> lists_[2];
  large_report about_;
};

}  // namespace garner
