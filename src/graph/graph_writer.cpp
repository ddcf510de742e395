// graph_writer: the sorter of graphs larger than memory (large_graph.hpp), with names numbered before it.
#include "core/fail.hpp"
#include "graph/build.hpp"
#include "graph/formats.hpp"
#include "graph/large_graph.hpp"
#include "graph/name_table.hpp"
#include "memory/budget.hpp"

namespace garner {

struct graph_writer::impl {
  impl(std::filesystem::path const& file, std::string const& from, std::filesystem::path const& scratch, build_options const& options)
      : source(from),
        folder(scratch.empty() ? file.parent_path() : scratch),
        memory(std::min(options.memory_limit ? options.memory_limit : host_budget().left(), host_budget().left())),
        to(file, from, {.scratch = scratch, .bytes = options.memory_limit}, options),
        build(options) {}
  void take(edge_list list) {
    all.vertices = std::max(all.vertices, list.vertices);
    list.source = source;
    if (!names) list.vertices = all.vertices;
    edges += list.arcs.size();
    to.take(list);
  }

  void require_open() const {
    if (ended) fail(errc::usage, "{}: finish() was called; make another writer for other edges", source);
  }

  bool ended = false;
  std::string source;
  scratch_folder folder;  // of the names
  std::uint64_t memory;
  large_graph to;
  build_options build;
  std::optional<name_table> names;
  std::vector<edge> numbered;
  edge_list all;  // without edges
  std::uint64_t edges = 0;
};

graph_writer::graph_writer(std::filesystem::path const& file, std::string source, std::filesystem::path const& scratch,
                           build_options const& options)
    : impl_(as_error([&] { return std::make_unique<impl>(file, source, scratch, options); })) {}
graph_writer::~graph_writer() = default;
graph_writer::graph_writer(graph_writer&&) noexcept = default;
graph_writer& graph_writer::operator=(graph_writer&&) noexcept = default;

void graph_writer::add(edge_array const& part) {
  as_error([&] {
    impl_->require_open();
    if (impl_->names)
      fail(errc::usage, "{}: edge {} has no names and earlier edges have; give all edges names", impl_->source, impl_->edges);
    impl_->take(list_of(part, impl_->edges));
  });
}

void graph_writer::add(name_column const& sources, name_column const& targets, edge_array const& weights) {
  as_error([&] {
    impl& m = *impl_;
    m.require_open();
    if (sources.rows != targets.rows) fail(errc::usage, "{} sources for {} targets; give each edge both", sources.rows, targets.rows);
    if (!m.names) {
      if (m.edges) fail(errc::usage, "{}: edge {} has names and earlier edges have none; give all edges names", m.source, m.edges);
      m.names.emplace(m.folder, m.memory / 2, m.source);
    }
    static_assert(sizeof(edge) == 2 * sizeof(std::uint64_t));
    m.numbered.resize(sources.rows);
    if (sources.rows) m.names->number({&sources, &targets}, &m.numbered[0].source);
    edge_array part = weights;
    part.edges = m.numbered;
    m.take(list_of(part, m.edges));
  });
}

void graph_writer::rest() {
  as_error([&] { impl_->to.rest(); });
}

graph_info graph_writer::finish(build_report* report, std::uint64_t vertices, bool reversed) {
  return as_error([&] {
    impl& m = *impl_;
    m.require_open();
    build_report mine;
    m.all.source = m.source;
    m.all.vertices = std::max(m.all.vertices, vertices);
    if (!m.names && !m.to.any()) require_vertices(m.all, m.build.allow_empty);
    m.ended = true;
    if (m.names) m.all.vertices = m.names->count(), m.all.names_digest = m.names->digest(), m.names->end();
    return m.to.finish(std::move(m.all), report ? *report : mine, reversed);
  });
}

std::uint64_t graph_writer::names() const { return impl_->names ? impl_->names->count() : 0; }
void graph_writer::read_names(std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t>& ends, std::string& bytes) {
  as_error([&] {
    if (impl_->names) impl_->names->read(first, count, ends, bytes);
  });
}

struct name_numbers::impl {
  scratch_folder folder;
  name_table table;
  impl(std::filesystem::path const& scratch, std::string source, std::uint64_t bytes)
      : folder(scratch), table(folder, bytes ? bytes : host_budget().left() / 2, std::move(source)) {}
};
name_numbers::name_numbers(std::filesystem::path const& scratch, std::string source, std::uint64_t memory_limit)
    : impl_(as_error([&] { return std::make_unique<impl>(scratch, std::move(source), memory_limit); })) {}
name_numbers::~name_numbers() = default;
name_numbers::name_numbers(name_numbers&&) noexcept = default;
name_numbers& name_numbers::operator=(name_numbers&&) noexcept = default;
void name_numbers::number(name_column const& names, std::uint64_t* to) {
  as_error([&] { impl_->table.number({&names}, to); });
}
std::uint64_t name_numbers::names() const { return impl_->table.count(); }
std::uint64_t name_numbers::digest() const { return impl_->table.digest(); }
void name_numbers::read_names(std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t>& ends, std::string& bytes) {
  as_error([&] { impl_->table.read(first, count, ends, bytes); });
}

}  // namespace garner
