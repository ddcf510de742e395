// Edge indices (edge_index.hpp) as edge lists: from an .npy, or the array edge_index of an .npz. Cost: one pass.
#include <algorithm>
#include <vector>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "graph/edge_index.hpp"
#include "graph/formats.hpp"
#include "graph/read_binary.hpp"
#include "graph/reading_room.hpp"

namespace garner {

namespace {

template <class T>
void widen(void const* from, std::uint64_t n, std::uint64_t* to, std::uint64_t step) {  // sign-extends negative numbers
  auto const* const values = static_cast<T const*>(from);
  for (std::uint64_t i = 0; i < n; ++i) to[i * step] = static_cast<std::uint64_t>(values[i]);
}
void widen(edge_index::form const& is, void const* from, std::uint64_t n, std::uint64_t* to, std::uint64_t step) {
  if (is.wide) widen<std::uint64_t>(from, n, to, step);
  else if (is.is_signed) widen<std::int32_t>(from, n, to, step);
  else widen<std::uint32_t>(from, n, to, step);
}

constexpr std::uint64_t step = 1u << 17;

// Warns about an edge index whose orientation is ambiguous.
void note_shape(edge_index::form const& is, std::string const& name, std::vector<std::string>& notes) {
  if (is.either) notes.push_back(fmt::format("{}: of shape (2, 2) it could be either; read as (2, E), sources above targets", name));
}

}  // namespace

edge_index::form edge_index::form_of(npy_layout const& array, bool rows_if_either) {
  auto const& s = array.shape();
  std::string const& type = array.type();
  if (s.size() != 2 || (s[0] != 2 && s[1] != 2))
    fail(errc::input, "{}: an array ({}) is not an edge index; (2, E) or (E, 2) is", array.name(), fmt::join(s, ", "));
  form is;
  is.either = s[0] == 2 && s[1] == 2 && !rows_if_either;
  bool const above = s[0] == 2 && !(s[1] == 2 && rows_if_either);
  is.count = above ? s[1] : s[0];
  is.apart = above != array.by_columns();
  is.wide = type == "<i8" || type == "<u8";
  is.is_signed = type == "<i8" || type == "<i4";
  if (!is.wide && !is.is_signed && type != "<u4")
    fail(errc::input,
         "{}: elements are {}; an edge index has whole numbers of 4 or 8 bytes: write it with numpy.save(file, "
         "index.astype('<i8'))",
         array.name(), type);
  return is;
}

void edge_index::read(std::uint64_t first, std::uint64_t n, arc* to) const {
  static_assert(sizeof(arc) == 2 * sizeof(std::uint64_t));
  std::uint64_t const bytes = form_.wide ? 8 : 4;
  thread_local std::vector<char> part;
  part.resize(2 * n * bytes);
  if (form_.apart) {
    file_.read(part.data(), n * bytes, file_.head_bytes() + first * bytes);
    file_.read(part.data() + n * bytes, n * bytes, file_.head_bytes() + (form_.count + first) * bytes);
    widen(form_, part.data(), n, &to->source, 2);
    widen(form_, part.data() + n * bytes, n, &to->target, 2);
  } else {
    file_.read(part.data(), 2 * n * bytes, file_.head_bytes() + 2 * first * bytes);
    widen(form_, part.data(), 2 * n, &to->source, 1);
  }
}

void edge_index::check(form const& is, std::string const& name, arc const& edge, std::uint64_t number) {
  for (std::uint64_t const id : {edge.source, edge.target}) {
    if (is.is_signed && id >> 63)
      fail(errc::input, "{}: edge {}: vertex {} is negative; vertex ids are whole numbers from 0", name, number,
           static_cast<std::int64_t>(id));
    if (id == ~std::uint64_t{0})
      fail(errc::input, "{}: edge {}: {} is too large for a vertex id; the largest is 18446744073709551614", name, number, id);
  }
}

read_result read_npy(std::filesystem::path const& path, read_options const& options) {
  edge_index const index(path);
  read_result result;
  note_shape(index.is(), index.name(), result.notes);
  std::uint64_t const count = index.count();
  reading_room room(index.name());
  std::uint64_t const at_once = part_of(options, count);
  room.reserve(result.edges.arcs, at_once);
  result.edges.arcs.resize(at_once);
  progress bar("reading", count);
  for (std::uint64_t first = 0; first < count; first += step) {
    check_interrupted();
    std::uint64_t const n = std::min(step, count - first);
    if (options.sink) result.edges.arcs.resize(n);
    arc* const to = result.edges.arcs.data() + (options.sink ? 0 : first);
    index.read(first, n, to);
    for (std::uint64_t i = 0; i < n; ++i) edge_index::check(index.is(), index.name(), to[i], first + i);
    if (options.sink) options.sink->take(result.edges);
    bar.advance(n);
  }
  return result;
}

std::uint64_t edges_of_npy(std::filesystem::path const& path) { return edge_index(path).count(); }

zipped_array::zipped_array(zip_file const& in, std::string const& name, npy_layout::order allowed)
    : member_(in,
              [&]() -> zip_file::entry const& {
                if (auto const* const found = in.find(name + ".npy")) return *found;
                std::vector<std::string> names;
                for (auto const& e : in.entries()) names.push_back(e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name);
                if (names.size() > 12) names.resize(12);
                fail(errc::input, "{}: holds no array '{}'; it holds {}", in.name(), name,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
              }()),
      layout_(
          in.name() + ": " + name, member_.size(),
          [this, seen = std::vector<char>()](void* to, std::uint64_t n, std::uint64_t at) mutable {  // some of the header is read twice
            if (std::uint64_t const had = seen.size(); at + n > had) {
              seen.resize(at + n);
              member_.read(seen.data() + had, at + n - had);
            }
            std::copy_n(seen.data() + at, n, static_cast<char*>(to));
          },
          allowed) {}

namespace {

// The count that OGB writes next to its edges; unset if absent.
std::optional<std::uint64_t> declared_vertices(zip_file const& file) {
  if (!file.find("num_nodes_list.npy")) return {};
  zipped_array counts(file, "num_nodes_list");
  if (counts.layout().type() != "<i8" || counts.layout().shape() != std::vector<std::uint64_t>{1})
    fail(errc::input, "{}: an array ({}) of {}: one graph is read, whose vertices one number of 8 bytes counts", counts.layout().name(),
         fmt::join(counts.layout().shape(), ", "), counts.layout().type());
  std::int64_t vertices = 0;
  counts.read(&vertices, sizeof vertices);
  if (vertices < 0) fail(errc::input, "{}: {} vertices; there are 0 or more", counts.layout().name(), vertices);
  return static_cast<std::uint64_t>(vertices);
}

}  // namespace

read_result read_npz(std::filesystem::path const& path, read_options const& options) {
  zip_file const file(path);
  read_result result;
  std::optional<std::uint64_t> const declared = declared_vertices(file);
  result.edges.vertices = declared.value_or(0);
  zipped_array index(file, "edge_index", npy_layout::order::any);
  edge_index::form const is = edge_index::form_of(index.layout());
  note_shape(is, index.layout().name(), result.notes);
  reading_room room(file.name());
  std::uint64_t const bytes = is.wide ? 8 : 4;
  // With separate rows the targets begin in the middle of the array; a second reader skips the sources.
  std::optional<zipped_array> targets;
  std::vector<char> part(step * bytes * (is.apart ? 1 : 2));
  progress bar("reading", is.count);
  if (is.apart) {
    targets.emplace(file, "edge_index", npy_layout::order::any);
    for (std::uint64_t first = 0; first < is.count; first += step) targets->read(part.data(), std::min(step, is.count - first) * bytes);
  }
  std::uint64_t const at_once = part_of(options, is.count);
  room.reserve(result.edges.arcs, at_once);
  result.edges.arcs.resize(at_once);
  for (std::uint64_t first = 0; first < is.count; first += step) {
    check_interrupted();
    std::uint64_t const n = std::min(step, is.count - first);
    if (options.sink) result.edges.arcs.resize(n);
    arc* const to = result.edges.arcs.data() + (options.sink ? 0 : first);
    index.read(part.data(), n * bytes * (is.apart ? 1 : 2));
    widen(is, part.data(), is.apart ? n : 2 * n, &to->source, is.apart ? 2 : 1);
    if (is.apart) {
      targets->read(part.data(), n * bytes);
      widen(is, part.data(), n, &to->target, 2);
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      edge_index::check(is, index.layout().name(), to[i], first + i);
      if (declared && std::max(to[i].source, to[i].target) >= *declared)
        fail(errc::input, "{}: edge {}: {} -> {}: of {} vertices, as num_nodes_list counts them, the ids end at {}", index.layout().name(),
             first + i, to[i].source, to[i].target, *declared, std::max<std::uint64_t>(*declared, 1) - 1);
    }
    if (options.sink) options.sink->take(result.edges);
    bar.advance(n);
  }
  return result;
}

std::uint64_t edges_of_npz(std::filesystem::path const& path) {
  zip_file const file(path);
  return edge_index::form_of(zipped_array(file, "edge_index", npy_layout::order::any).layout()).count;
}

}  // namespace garner
