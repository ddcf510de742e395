// From a dataset's folder to a dataset file: convert_hetero.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/fail.hpp"
#include "core/publish.hpp"
#include "core/stats.hpp"
#include "files/npy_head.hpp"
#include "graph/chunked_file.hpp"
#include "graph/container.hpp"
#include "graph/data_set.hpp"
#include "graph/edge_index.hpp"
#include "graph/formats.hpp"
#include "graph/handle.hpp"
#include "graph/hetero.hpp"
#include "graph/pack.hpp"
#include "graph/relation.hpp"

namespace garner {

namespace {

namespace fs = std::filesystem;

// --- edge sources ---
class indexed_edges : public edge_source {
 public:
  indexed_edges(fs::path const& file, bool rows_if_either) : index_(file, rows_if_either) {}
  std::string const& name() const override { return index_.name(); }
  std::uint64_t count() const override { return index_.count(); }
  void read(std::uint64_t first, std::uint64_t n, arc* to) const override { index_.read(first, n, to); }
  void check(arc const& edge, std::uint64_t number) const override { edge_index::check(index_.is(), name(), edge, number); }
  bool either() const { return index_.is().either; }

 private:
  edge_index index_;
};

class listed_edges : public edge_source {
 public:
  explicit listed_edges(edge_list edges) : edges_(std::move(edges)) {}
  std::string const& name() const override { return edges_.source; }
  std::uint64_t count() const override { return edges_.arcs.size(); }
  void read(std::uint64_t first, std::uint64_t n, arc* to) const override { std::copy_n(edges_.arcs.data() + first, n, to); }
  void check(arc const&, std::uint64_t) const override {}

 private:
  edge_list edges_;
};

// A folder that remains only on success.
class new_folder {
 public:
  explicit new_folder(fs::path path) : path_(std::move(path)) {
    std::error_code problem;
    if (!fs::create_directory(path_, problem))
      fail(problem ? errc::io : errc::usage, "{}: {}; {}", path_.string(),
           problem ? "cannot be made: " + problem.message() : "is there already",
           problem ? "check that the folder it lies in exists and is yours" : "remove it, or name another dataset file");
  }
  ~new_folder() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  new_folder(new_folder const&) = delete;
  new_folder& operator=(new_folder const&) = delete;
  fs::path operator/(std::string const& name) const { return path_ / name; }
  void keep() { kept_ = true; }

 private:
  fs::path path_;
  bool kept_ = false;
};

void require_name(std::string const& name, fs::path const& folder) {
  bool const odd = name.empty() || name[0] == '.' || name.size() > 80 ||
                   std::any_of(name.begin(), name.end(), [](char c) { return c == '/' || (c >= 0 && c < ' '); });
  if (odd) fail(errc::input, "{}: '{}' is not a valid type name: up to 80 bytes, no '/', no leading '.'", folder.string(), name);
}

class conversion {
 public:
  conversion(fs::path const& folder, fs::path const& manifest, hetero_options const& options)
      : set_(look_into(folder, options.split)), options_(options), from_(folder), to_(fs::path(manifest).replace_extension(".garner")) {
    report_.notes = set_.notes;
  }

  hetero_report run(fs::path const& manifest) {
    for (auto const& t : set_.types) require_name(t.name, from_);
    count_by_edges();
    for (auto const& t : set_.types) add(t);
    for (auto const& e : set_.relations) add(e);
    check_names(report_.made, manifest.string());
    pending_file file(manifest);
    file.write(manifest_text(report_.made, manifest));
    file.commit();
    to_.keep();
    return std::move(report_);
  }

 private:
  std::uint64_t& count_of(std::string const& name) {
    return *std::find_if(set_.types.begin(), set_.types.end(), [&](auto const& t) { return t.name == name; })->count;
  }

  std::unique_ptr<edge_source> open(data_set::edges const& e) {
    std::string const name = e.index.file.string();
    if (!e.index.key.empty() || e.index.file.extension() == ".npy") {
      fs::path file = e.index.file;
      if (!e.index.key.empty()) {
        file = to_ / "edge_index.npy";  // from an archive, extracted for random access; removed once the adjacency is built
        if (!fs::exists(file)) as_npy(e.index, {}, file);
      }
      auto index = std::make_unique<indexed_edges>(file, e.rows_if_either);
      if (index->either() && std::exchange(told_, name) != name)
        report_.notes.push_back(fmt::format("{}: of shape (2, 2) it could be either; read as (2, E), sources above targets", name));
      return index;
    }
    read_options how;
    how.from = file_format::csv;
    read_result read = read_edges(e.index.file, how);
    if (!read.edges.weights.empty()) fail(errc::input, "{}: has 3 columns; edges have 2, source and target", name);
    return std::make_unique<listed_edges>(std::move(read.edges));
  }

  // Counts vertices of types whose count appears nowhere else.
  void count_by_edges() {
    std::vector<std::string> open_types;
    for (auto const& t : set_.types)
      if (!t.count) open_types.push_back(t.name);
    if (open_types.empty()) return;
    for (auto& t : set_.types) t.count = t.count.value_or(0);
    for (auto const& e : set_.relations) {
      bool const from = std::count(open_types.begin(), open_types.end(), e.from),
                 to = std::count(open_types.begin(), open_types.end(), e.to);
      if (!from && !to) continue;
      auto const [sources, targets] = largest_ends(*open(e));
      if (from) count_of(e.from) = std::max(count_of(e.from), sources);
      if (to) count_of(e.to) = std::max(count_of(e.to), targets);
    }
    for (auto const& name : open_types)
      report_.notes.push_back(fmt::format("{}: no file counts its vertices; {}, up to the largest that has an edge", name, count_of(name)));
  }

  void add(data_set::vertices const& t) {
    vertex_type made{t.name, *t.count};
    auto const take = [&](std::optional<array_source> const& from, std::optional<fs::path>& to, char const* what, array_rules rules) {
      if (!from) return;
      rules.of = t.name;
      to = as_npy(*from, rules, to_ / (t.name + "." + what + ".npy"));
    };
    array_rules table, times, split;
    table.rows = times.rows = made.count;
    times.whole = split.whole = true;
    split.below = split.most_rows = made.count;
    take(t.features, made.features, "features", table);
    table.kind_as_found = true;
    take(t.labels, made.labels, "labels", table);
    take(t.times, made.times, "times", times);
    take(t.train, made.train, "train", split);
    take(t.valid, made.valid, "valid", split);
    take(t.test, made.test, "test", split);
    report_.made.types.push_back(std::move(made));
  }

  void add(data_set::edges const& e) {
    for (std::string const& name : {e.from, e.relation, e.to}) require_name(name, from_);
    std::unique_ptr<edge_source> const edges = open(e);
    if (e.count && *e.count != edges->count())
      fail(errc::input, "{}: has {} edges, and the dataset counts {}", edges->name(), edges->count(), *e.count);
    std::string const stem = e.from + "___" + e.relation + "___" + e.to;
    std::optional<fs::path> features;
    array_rules rules;
    rules.rows = edges->count();
    rules.of = "edges";
    if (e.features) features = as_npy(*e.features, rules, to_ / (stem + ".features.npy"));
    std::vector<std::int64_t> times;
    if (e.times) times = whole_numbers(*e.times, rules);
    bool const one = e.from == e.to;
    write(*edges, e, options_.undirected && one ? direction::both : direction::pulled, features, times);
    if (options_.undirected && !one) {
      data_set::edges twin = e;
      twin.relation = "rev_" + e.relation;
      std::swap(twin.from, twin.to);
      write(*edges, twin, direction::reversed, features, times);
    }
    std::error_code ignored;
    if (!e.index.key.empty()) fs::remove(to_ / "edge_index.npy", ignored);
  }

  // `e`: with its final name.
  void write(edge_source const& edges, data_set::edges const& e, direction strategy, std::optional<fs::path> const& features,
             std::vector<std::int64_t> const& times) {
    bool const back = strategy == direction::reversed;
    relation_sizes sizes{e.from, e.to, count_of(e.from), count_of(e.to)};
    if (back) std::swap(sizes.source_name, sizes.target_name), std::swap(sizes.sources, sizes.targets);
    relation made = make_relation(edges, sizes, strategy, {.id_bytes = options_.id_bytes});
    made.lists.info.reversed = strategy != direction::both;
    std::string const stem = e.from + "___" + e.relation + "___" + e.to;
    edge_type type{e.from, e.relation, e.to, made.lists.info.edges, edges.count()};
    type.features = features;
    type.adjacency = to_ / (stem + ".gnr");
    std::uint64_t const arcs = type.stored_edges;
    auto const edge_of = [&](std::uint64_t k) { return made.edge_ids.empty() ? k : std::uint64_t{made.edge_ids[k]}; };
    auto const write_numbers = [&](char const* what, auto const& item) {
      fs::path const file = to_ / (stem + "." + what + ".npy");
      chunked_file out(file, "");
      out.chunk(npy_head("<i8", arcs));
      progress bar("writing arrays", arcs);
      out.array<std::int64_t>(arcs, bar, item);
      out.file().commit();
      return file;
    };
    if (!made.edge_ids.empty())
      type.edge_ids = write_numbers("edge_ids", [&](std::uint64_t k) { return static_cast<std::int64_t>(edge_of(k)); });
    if (e.times) type.times = write_numbers("times", [&](std::uint64_t k) { return times[edge_of(k)]; });
    made.edge_ids = {};
    if (options_.compressed) pack(made.lists);
    save_graph(made.lists, type.adjacency);
    report_.made.edges.push_back(std::move(type));
  }

  data_set set_;
  hetero_options options_;
  fs::path from_;
  new_folder to_;
  hetero_report report_;
  std::string told_;
};

}  // namespace

hetero_report convert_hetero(fs::path const& folder, fs::path const& manifest, hetero_options const& options) {
  return as_error([&] {
    phase const timed{"graph.convert_hetero"};
    if (manifest.extension() != ".json") fail(errc::usage, "{}: a dataset file's name ends in .json", manifest.string());
    if (options.compressed && options.id_bytes == 8)
      fail(errc::usage, "compressed edges have ids of 4 bytes; leave out compression or ids of 8 bytes");
    { pending_file const there(manifest); }  // fails early if it is not writable
    return conversion(folder, manifest, options).run(manifest);
  });
}

}  // namespace garner
