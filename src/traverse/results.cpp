#include "traverse/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include "core/fail.hpp"
#include "core/stats.hpp"
#include "core/words.hpp"
#include "files/npy_head.hpp"
#include "garner/bfs.hpp"
#include "graph/chunked_file.hpp"
#include "graph/formats.hpp"
#include "graph/handle.hpp"

namespace garner {

namespace {

constexpr word_table<result_format> names{"format {text}: unknown; use {a_b}", {"text", "tsv", "npy", "ldbc"}};
constexpr std::uint64_t chunk_rows = 1u << 15, no_id = ~std::uint64_t{0};

// The vertex of each row.
class row_order {
 public:
  explicit row_order(graph const& g) : vertices(g.info.vertices), g_(g) {}
  std::uint64_t operator[](std::uint64_t row) const { return g_.at_rank(row); }
  bool as_kept() const { return g_.info.order == vertex_order::natural; }

  std::uint64_t vertices;

 private:
  graph const& g_;
};

// put(out, v) writes the rest of the vertex's row, starting with a separator.
template <class Put>
void write_rows(graph const& g, row_order const& rows, result_target const& to, std::string const& head, Put const& put) {
  phase const timed{"results.write"};
  progress bar("writing", rows.vertices);
  chunked_file file(to.path, strip_compression(to.path).compression);
  file.chunk(head);
  file.chunks((rows.vertices + chunk_rows - 1) / chunk_rows, [&](std::uint64_t p, std::string& out) {
    std::uint64_t const first = p * chunk_rows, last = std::min(rows.vertices, first + chunk_rows);
    for (std::uint64_t row = first; row < last; ++row) {
      std::uint64_t const v = rows[row];
      put_number(out, g.user_id(v));
      put(out, v);
      out += '\n';
    }
    bar.advance(last - first);
  });
  file.file().commit();
}

char separator(result_format format) { return format == result_format::tsv ? '\t' : ' '; }

// The columns' names, as the format's first line.
std::string head_line(result_format format, std::string_view columns, std::string const& more = "") {
  if (format == result_format::ldbc) return "";
  if (format == result_format::text) return fmt::format("# {}{}\n", columns, more);
  std::string line(columns);
  std::replace(line.begin(), line.end(), ' ', '\t');
  return line + "\n";
}

std::filesystem::path beside(std::filesystem::path const& path, char const* what) {
  std::string name = path.string();
  if (name.ends_with(".npy")) name.resize(name.size() - 4);
  return name + "." + what + ".npy";
}

template <class T>
constexpr std::string_view npy_type = "";
template <>
constexpr std::string_view npy_type<std::uint32_t> = "<u4";
template <>
constexpr std::string_view npy_type<std::uint64_t> = "<u8";
template <>
constexpr std::string_view npy_type<float> = "<f4";

// Arrays of one result, which appear together.
class npy_files {
 public:
  npy_files(graph const& g, row_order const& rows, result_target const& to)
      : g_(g), rows_(rows), path_(to.path), bar_("writing", rows.vertices) {
    // Row i is vertex i, unless this array exists. An existing one is from an older result.
    bool const counted = g.ids.empty() && g.info.id_base == 0;
    if (std::error_code unknown; !counted || std::filesystem::exists(beside(path_, "vertex"), unknown))
      array<std::uint64_t>(beside(path_, "vertex"), [&](std::uint64_t v) { return g_.user_id(v); });
  }
  template <class T, class Item>
  void values(Item const& item) {
    array<T>(path_, item);
  }
  void parents(std::span<std::uint64_t const> parent) {
    array<std::uint64_t>(beside(path_, "parent"), [&](std::uint64_t v) { return parent[v] == no_id ? no_id : g_.user_id(parent[v]); });
  }
  void commit() {
    for (auto& f : files_) f->file().flush();
    for (auto& f : files_) f->file().publish();
  }

 private:
  template <class T, class Item>
  void array(std::filesystem::path const& path, Item const& item) {
    phase const timed{"results.write"};
    files_.push_back(std::make_unique<chunked_file>(path, ""));
    files_.back()->chunk(npy_head(npy_type<T>, rows_.vertices));
    files_.back()->template array<T>(rows_.vertices, bar_, [&](std::uint64_t row) { return static_cast<T>(item(rows_[row])); });
  }

  graph const& g_;
  row_order const& rows_;
  std::filesystem::path path_;
  progress bar_;
  std::vector<std::unique_ptr<chunked_file>> files_;
};

template <class Whole>
void put_value(std::string& out, Whole value, result_format) {
  put_number(out, value);
}
void put_value(std::string& out, float value, result_format format) {
  // The benchmark's files use double precision, so floats are written in full.
  if (format == result_format::ldbc) fmt::format_to(std::back_inserter(out), "{:.15e}", static_cast<double>(value));
  else fmt::format_to(std::back_inserter(out), "{}", value);
}

bool is_reached(std::uint32_t depth) { return depth != unreached; }
bool is_reached(std::uint64_t distance) { return distance != no_id; }
bool is_reached(float distance) { return !std::isinf(distance); }

// For a search: values and parents. `nowhere` is the value of unreached vertices, which lack a parent.
template <class T>
void write_search(graph const& g, result_target const& to, std::string_view columns, std::uint64_t source, std::span<T const> value,
                  std::span<std::uint64_t const> parent, std::string_view nowhere) {
  row_order const rows(g);
  if (to.format == result_format::npy) {
    npy_files files(g, rows, to);
    files.values<T>([&](std::uint64_t v) { return value[v]; });
    files.parents(parent);
    return files.commit();
  }
  bool const with_parents = wants_parents(to.format);
  char const sep = separator(to.format);
  write_rows(g, rows, to, head_line(to.format, columns, fmt::format(", from source {}", source)), [&](std::string& out, std::uint64_t v) {
    out += sep;
    if (!is_reached(value[v])) out += nowhere;
    else put_value(out, value[v], to.format);
    if (!with_parents) return;
    out += sep;
    if (parent[v] == no_id) out += "-1";
    else put_number(out, g.user_id(parent[v]));
  });
}

// Values already in row order; writers look them up by internal id.
template <class T>
class by_rank {
 public:
  by_rank(graph const& g, std::span<T const> values) : values_(values) {
    if (g.info.order == vertex_order::natural) return;
    rank_.resize(values.size());
    for (std::uint64_t r = 0; r < rank_.size(); ++r) rank_[g.at_rank(r)] = r;
  }
  T operator()(std::uint64_t v) const { return values_[rank_.empty() ? v : rank_[v]]; }

 private:
  std::span<T const> values_;
  std::vector<std::uint64_t> rank_;
};

// For all vertices: one value.
template <class T, class Item>
void write_values(graph const& g, row_order const& rows, result_target const& to, std::string_view columns, Item const& item) {
  if (to.format == result_format::npy) {
    npy_files files(g, rows, to);
    files.values<T>(item);
    return files.commit();
  }
  char const sep = separator(to.format);
  write_rows(g, rows, to, head_line(to.format, columns), [&](std::string& out, std::uint64_t v) {
    out += sep;
    put_value(out, item(v), to.format);
  });
}

}  // namespace

std::string_view to_string(result_format format) { return names[format]; }
result_format parse_result_format(std::string_view text) { return names.parse(text); }

result_format result_format_of(std::filesystem::path const& path) {
  std::string const name = strip_compression(path).name;
  for (char const* const ending : {".parquet", ".arrow", ".feather", ".csv", ".json", ".npz"})
    if (name.ends_with(ending))
      fail(errc::usage, "{}: results are written as .tsv, .npy or text of another ending; garner.table in Python makes other tables",
           path.string());
  return name.ends_with(".tsv") ? result_format::tsv : name.ends_with(".npy") ? result_format::npy : result_format::text;
}

std::vector<std::filesystem::path> files_of(result_target const& to) {
  if (to.format != result_format::npy) return {to.path};
  if (std::string const ending = strip_compression(to.path).compression; !ending.empty())
    fail(errc::usage, "{}: an array is not compressed, since it is read in place; drop the ending {}", to.path.string(), ending);
  return {to.path, beside(to.path, "parent"), beside(to.path, "vertex")};
}

void write_depths(graph const& g, result_target const& to, std::uint64_t source, std::span<std::uint32_t const> depth,
                  std::span<std::uint64_t const> parent) {
  write_search(g, to, "vertex depth parent", source, depth, parent, to.format == result_format::ldbc ? "9223372036854775807" : "-1");
}

void write_distances(graph const& g, result_target const& to, std::uint64_t source, std::span<std::uint64_t const> distance,
                     std::span<std::uint64_t const> parent) {
  write_search(g, to, "vertex distance parent", source, distance, parent, to.format == result_format::ldbc ? "Infinity" : "infinity");
}
void write_distances(graph const& g, result_target const& to, std::uint64_t source, std::span<float const> distance,
                     std::span<std::uint64_t const> parent) {
  write_search(g, to, "vertex distance parent", source, distance, parent, to.format == result_format::ldbc ? "Infinity" : "infinity");
}

void write_labels(graph const& g, result_target const& to, std::span<std::uint64_t const> label) {
  row_order const rows(g);
  // A component is named by its smallest user id, which equals the label only if ids ascend.
  std::vector<std::uint64_t> smallest;
  if (!rows.as_kept()) {
    smallest.assign(g.info.vertices, no_id);
    for (std::uint64_t v = 0; v < g.info.vertices; ++v) smallest[label[v]] = std::min(smallest[label[v]], g.user_id(v));
  }
  write_values<std::uint64_t>(g, rows, to, "vertex component",
                              [&](std::uint64_t v) { return smallest.empty() ? g.user_id(label[v]) : smallest[label[v]]; });
}

void write_ranks(graph const& g, result_target const& to, std::span<float const> rank) {
  write_values<float>(g, row_order(g), to, "vertex rank", [&](std::uint64_t v) { return rank[v]; });
}

void write_scores(graph_handle const& handle, result_target const& to, std::span<float const> score) {
  graph const& g = graph_access::of(handle);
  write_values<float>(g, row_order(g), to, "vertex score", by_rank<float>(g, score));
}
void write_counts(graph_handle const& handle, result_target const& to, std::span<std::uint32_t const> count) {
  graph const& g = graph_access::of(handle);
  write_values<std::uint32_t>(g, row_order(g), to, "vertex accesses", by_rank<std::uint32_t>(g, count));
}

}  // namespace garner
